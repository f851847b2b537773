package readme

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/testbinary"
)

// TestTheClusterRollsUnderLoad runs examples/cluster: three nodes on real servers are
// replaced one after the other, by a program of the next format, while jobs are handed in
// and orders of a saga placed.
func TestTheClusterRollsUnderLoad(t *testing.T) {
	missing := []string{}
	for _, program := range []string{"redis-server", "python3", "curl", "setpriv"} {
		if _, err := exec.LookPath(program); err != nil {
			missing = append(missing, program)
		}
	}
	if found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb"); len(found) == 0 {
		if _, err := exec.LookPath("initdb"); err != nil {
			missing = append(missing, "PostgreSQL")
		}
	}
	if len(missing) > 0 {
		if os.Getenv("RAMET_TEST_SERVERS") == "required" {
			t.Fatalf("not installed: %s", missing)
		}
		t.Skipf("not installed: %s", missing)
	}
	programs := t.TempDir()
	nats := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", filepath.Join(programs, "nats-server"), "github.com/nats-io/nats-server/v2")
	if out, err := nats.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	next, err := testbinary.Build("-tags", "grpcnotrace,format_next")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(next) })
	cmd := exec.CommandContext(ctx, "./run", "roll", filepath.Join(next, "ramet"))
	cmd.Dir = "../../examples/cluster"
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "PATH="+bin+":"+programs+":"+os.Getenv("PATH"))
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, 30*time.Second
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &out, &errs)
	}
	for _, want := range []string{
		`(?m)^\d+ calls: 0 failed$`,
		`(?m)^[1-9]\d* orders: [1-9]\d* paid once$`,
		`(?m)^[1-9]\d* were asked again at another node$`, // else no node was away
	} {
		if !regexp.MustCompile(want).Match(out.Bytes()) {
			t.Errorf("not said: %s\n%s", want, &out)
		}
	}
	if n := strings.Count(out.String(), "is stopped, and started again"); n != 3 {
		t.Errorf("%d nodes were replaced", n)
	}
}
