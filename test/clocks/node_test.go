package clocks

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testbinary"
)

// patience is how long anything is waited for that must come.
const patience = 3 * time.Minute

// build builds ramet with a clock that a test sets, into a folder of the test's.
// RAMET_CLOCKS_BINARY names one that is built already.
func build(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("RAMET_CLOCKS_BINARY"); path != "" {
		return path
	}
	folder, err := testbinary.Build("-overlay", overlay(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(folder) })
	return filepath.Join(folder, "ramet")
}

// overlay writes what `go build` is to read in the place of package time's own files,
// and returns its path. It lies where it lay before: elsewhere all would be compiled anew.
func overlay(t *testing.T) string {
	t.Helper()
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	dir, err := filepath.Abs(filepath.Join("..", "..", "bin", "_clocks")) // ./... passes over it
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	const now = "func Now() Time {\n\tsec, nsec, mono := runtimeNow()\n"
	if strings.Count(string(text), now) != 1 {
		t.Fatalf("time.Now of %s is not as this test knows it: look at it, and at what is put in its place", folder)
	}
	step, err := filepath.Abs(filepath.Join("testdata", "step.go"))
	if err != nil {
		t.Fatal(err)
	}
	changed, list := filepath.Join(dir, "time.go"), filepath.Join(dir, "overlay.json")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(folder, "time.go"): changed, filepath.Join(folder, "step.go"): step}})
	if err == nil {
		err = os.WriteFile(changed, []byte(strings.Replace(string(text), now, now+"\tsec += step().Load()\n", 1)), 0o600)
	}
	if err == nil {
		err = os.WriteFile(list, replace, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// node is a running one, whose clock can be set.
type node struct {
	*client.Client
	t    *testing.T
	data string
	step *os.File
}

// start starts a node and waits until it answers.
func start(t *testing.T, path, dir, name string, args ...string) *node {
	t.Helper()
	n := &node{t: t, data: filepath.Join(dir, name)}
	var err error
	if n.step, err = os.Create(filepath.Join(dir, name+".clock")); err != nil {
		t.Fatal(err)
	}
	n.set(0)
	log, err := os.Create(filepath.Join(dir, name+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, append([]string{"serve", "--data", n.data, "--listen", "none", "--name", name}, args...)...)
	cmd.Env = append(os.Environ(), "RAMET_TEST_CLOCK="+n.step.Name())
	cmd.Stdout, cmd.Stderr = log, log
	if err := leash.Start(cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(patience):
			t.Errorf("node %s does not end", name)
			_ = cmd.Process.Kill()
		}
		if text, _ := os.ReadFile(log.Name()); t.Failed() {
			t.Logf("the last that %s said:\n%s", name, text[max(0, len(text)-8<<10):])
		}
	})
	if n.Client, err = client.New(client.Config{Socket: cli.SocketPath(n.data), Cookie: cli.CookiePath(n.data)}); err != nil {
		t.Fatal(err)
	}
	n.until("it answers", func(ctx context.Context) bool { _, err := n.Info(ctx); return err == nil })
	return n
}

// set has the node's wall clock be so far from the machine's.
func (n *node) set(d time.Duration) {
	n.t.Helper()
	var b [8]byte
	binary.NativeEndian.PutUint64(b[:], uint64(int64(d/time.Second)))
	if _, err := n.step.WriteAt(b[:], 0); err != nil {
		n.t.Fatal(err)
	}
}

// until waits for what must come.
func (n *node) until(what string, look func(context.Context) bool) {
	n.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(n.t.Context(), 10*time.Second)
		ok := look(ctx)
		cancel()
		if ok {
			return
		}
		if time.Now().After(end) {
			n.t.Fatalf("%s: not in %v", what, patience)
		}
	}
}
