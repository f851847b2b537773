package upgrade

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testbinary"
	"github.com/ramet-run/ramet/internal/testwait"
)

// binaries are today's program, and the folder of that of the next format, where it was
// built.
var binaries struct{ today, folder string }

func TestMain(m *testing.M) {
	code := testbinary.Run(m, func(today string) {
		binaries.today = filepath.Join(today, "ramet")
	})
	os.RemoveAll(binaries.folder)
	os.Exit(code)
}

// node is a node on a data folder, and the commands that are given to it.
type node struct {
	*testing.T
	program, data string
	args          []string // of serve, beside the folder

	cmd   *exec.Cmd
	log   testwait.Log
	ended chan error
}

// serve starts it, and waits until it is there.
func (n *node) serve(args ...string) {
	n.Helper()
	n.start(args...)
	n.log.Await(n, "node started", 1)
}

func (n *node) start(args ...string) {
	n.Helper()
	n.cmd = n.command(append(append([]string{"serve", "--listen", "none", "--log-format", "text"}, n.args...), args...)...)
	n.log = testwait.Log{}
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	if err := leash.Start(n.cmd, syscall.SIGKILL); err != nil {
		n.Fatal(err)
	}
	ended := make(chan error, 1)
	n.ended = ended
	cmd := n.cmd
	go func() { ended <- cmd.Wait() }()
	n.Cleanup(func() {
		_ = cmd.Process.Kill()
		if n.Failed() {
			n.Logf("node %s:\n%s", n.data, n.log.String())
		}
	})
}

// end sends a signal and waits until it has ended.
func (n *node) end(sig syscall.Signal) error {
	n.Helper()
	_ = n.cmd.Process.Signal(sig)
	return <-n.ended
}

func (n *node) command(args ...string) *exec.Cmd {
	cmd := exec.Command(n.program, append(args, "--data", n.data)...)
	cmd.Dir = filepath.Join("testdata", "world")
	cmd.Env = append(os.Environ(), "HOME="+n.data, "TZ=UTC", "NO_COLOR=1")
	return cmd
}

// run gives a command, which must do what it is to.
func (n *node) run(args ...string) string {
	n.Helper()
	out, err := n.try(args...)
	if err != nil {
		n.Fatalf("ramet %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func (n *node) try(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := n.command(args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	return out.String(), err
}

// shows gives a command again and again until it says something.
func (n *node) shows(what string, args ...string) {
	n.Helper()
	pattern, last := regexp.MustCompile("(?m)"+what), ""
	defer func() {
		if n.Failed() {
			n.Logf("ramet %s:\n%s", strings.Join(args, " "), last)
		}
	}()
	testwait.Until(n, what+" of ramet "+strings.Join(args, " "), func() bool {
		var err error
		last, err = n.try(args...)
		return err == nil && pattern.MatchString(last)
	})
}
