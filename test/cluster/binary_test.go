package cluster

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testbinary"
	"github.com/ramet-run/ramet/internal/testport"
)

// binary builds the real binary, once; TestMain removes it.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := testbinary.Build()
	binaryDir = dir
	return filepath.Join(dir, "ramet"), err
})

// binaryDir is where binary has put it; "" where it was not needed.
var binaryDir string

// daemon is a program that a test kills and starts again. It is killed when the
// test ends.
type daemon struct {
	t    *testing.T
	name string
	log  string
	make func() *exec.Cmd

	cmd   *exec.Cmd
	ended chan struct{}
}

// newDaemon starts a program; what it says goes into a file that is shown where
// the test fails.
func newDaemon(t *testing.T, name string, cmd func() *exec.Cmd) *daemon {
	t.Helper()
	d := &daemon{t: t, name: name, log: filepath.Join(t.TempDir(), name+".log"), make: cmd}
	d.start()
	t.Cleanup(func() {
		d.kill()
		text, _ := os.ReadFile(d.log)
		// Whatever happens to a node, it never falls apart.
		if strings.Contains(string(text), "panic: ") || strings.Contains(string(text), "goroutine ") {
			t.Errorf("%s ended with a stack trace", name)
		}
		if t.Failed() {
			t.Logf("the last that %s said:\n%s", name, text[max(0, len(text)-8<<10):])
		}
	})
	return d
}

func (d *daemon) start() {
	d.t.Helper()
	log, err := os.OpenFile(d.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer log.Close()
	cmd, ended := d.make(), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := leash.Start(cmd, syscall.SIGKILL); err != nil {
		d.t.Fatal(err)
	}
	d.cmd, d.ended = cmd, ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
}

func (d *daemon) signal(s syscall.Signal) { _ = d.cmd.Process.Signal(s) }

// kill ends it as kill -9 does.
func (d *daemon) kill() {
	d.signal(syscall.SIGKILL)
	<-d.ended
}

// end tells a node to stop, which it does in good order.
func (d *daemon) end() {
	d.t.Helper()
	d.alive()
	d.signal(endSignal)
	select {
	case <-d.ended:
	case <-time.After(patience):
		d.t.Fatalf("%s does not end", d.name)
	}
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		d.t.Errorf("%s ended with %d", d.name, code)
	}
}

// awaken waits until a node answers.
func (d *daemon) awaken(c *client.Client) {
	d.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(20 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(d.t.Context(), time.Second)
		_, err := c.Info(ctx)
		cancel()
		if err == nil {
			return
		}
		d.alive()
		if d.t.Failed() || time.Now().After(end) {
			d.t.Fatalf("%s does not answer: %v", d.name, err)
		}
	}
}

// alive fails the test if it has ended by itself.
func (d *daemon) alive() {
	d.t.Helper()
	select {
	case <-d.ended:
		d.t.Errorf("%s has ended by itself: %v", d.name, d.cmd.ProcessState)
	default:
	}
}

// freePort finds a port of 127.0.0.1 that nobody has now.
func freePort(t *testing.T) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(testport.Free(t))
	return port
}
