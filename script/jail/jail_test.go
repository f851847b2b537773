package jail

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// nodeFolder makes this test program play a node that starts scripts in that
// folder until it is killed.
const nodeFolder = "RAMET_TEST_NODE_FOLDER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(nodeFolder); dir != "" {
		playNode(dir)
	}
	os.Exit(m.Run())
}

// playNode starts a script and a daemon of its, tells their process ids, and
// waits to be killed.
func playNode(dir string) {
	jail, err := Open(Config{})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	_, err = jail.Start(Spec{Args: []string{"/bin/sh", "-c", daemonScript}, Env: []string{"PATH=" + script.DefaultPath},
		Dir: dir, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	select {}
}

// daemonScript prints two process ids, its own and that of a daemon that is
// in a session of its own and heeds no signal.
const daemonScript = `setsid sh -c 'trap "" TERM HUP INT; echo $$ >pid.new; mv pid.new pid; while :; do sleep 60; done' &
while ! [ -e pid ]; do sleep 0.01; done
echo $$ $(cat pid)
while :; do sleep 60; done
`

func TestNothingOutlivesAKilledNode(t *testing.T) {
	node := exec.Command("/proc/self/exe")
	node.Env = append(os.Environ(), nodeFolder+"="+t.TempDir())
	output, err := node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatalf("the node said %q: %v", line, err)
	}
	var watched []unix.PollFd
	for _, field := range strings.Fields(line) {
		pid, err := strconv.Atoi(field)
		if err != nil {
			t.Fatalf("the node said %q", line)
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		defer unix.Close(fd)
		watched = append(watched, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	if len(watched) != 2 {
		t.Fatalf("the node said %q, want two process ids", line)
	}
	killed := time.Now()
	if err := node.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = node.Wait()
	for i := range watched {
		for {
			n, err := unix.Poll(watched[i:i+1], 30_000)
			if err == unix.EINTR {
				continue
			}
			if n != 1 || err != nil {
				t.Fatalf("process %d of %q still lives", i, line)
			}
			break
		}
	}
	t.Logf("all gone %v after the node", time.Since(killed).Round(time.Millisecond))
}

// variants are jails that do without one means or another.
func variants(t *testing.T) map[string]*Jail {
	full, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { full.Close() })
	copied := func(change func(*Jail)) *Jail {
		j := &Jail{nursery: full.nursery, fence: full.fence, filter: full.filter, cgroups: full.cgroups, traces: full.traces, null: full.null}
		change(j)
		return j
	}
	return map[string]*Jail{
		"everything": full,
		"no tracing": copied(func(j *Jail) { j.traces = false }),
		"no cgroup":  copied(func(j *Jail) { j.cgroups = nil }),
		"nothing":    copied(func(j *Jail) { j.traces, j.cgroups, j.fence, j.filter = false, nil, nil, nil }),
	}
}

// run runs a shell script to its end.
func run(t *testing.T, ctx context.Context, jail *Jail, source string, limits script.Limits) (exit script.Exit, said string) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	dir := t.TempDir()
	process, err := jail.Start(Spec{Args: []string{"/bin/sh", "-c", source}, Env: []string{"PATH=" + script.DefaultPath, "PWD=" + dir},
		Dir: dir, Limits: limits, Stdout: write, Stderr: write})
	write.Close()
	if err != nil {
		t.Fatal(err)
	}
	text := make(chan string)
	go func() {
		all, _ := io.ReadAll(read)
		text <- string(all)
	}()
	exit, _ = process.Await(ctx, time.Minute)
	return exit, <-text
}

func TestVariants(t *testing.T) {
	for name, jail := range variants(t) {
		t.Run(name, func(t *testing.T) {
			limits := script.Limits{CPU: 1500 * time.Millisecond, MemoryBytes: 1 << 30, FileBytes: 1 << 20, Files: 99}
			exit, said := run(t, t.Context(), jail, "ulimit -t; ulimit -v; ulimit -f; ulimit -n; ulimit -c; read x; echo $?; exit 5", limits)
			if want := "2\n1048576\n2048\n99\n0\n1\n"; exit.Code != 5 || said != want {
				t.Errorf("got exit code %d, %q, want 5, %q", exit.Code, said, want)
			}
		})
		t.Run(name+", and daemons", func(t *testing.T) {
			_, said := run(t, t.Context(), jail, strings.Replace(daemonScript, "while :; do sleep 60; done\n", "exit 0\n", 1), script.Limits{})
			fields := strings.Fields(said)
			if len(fields) != 2 {
				t.Fatalf("got %q", said)
			}
			for _, field := range fields {
				pid, _ := strconv.Atoi(field)
				if err := unix.Kill(pid, 0); !errors.Is(err, unix.ESRCH) {
					t.Errorf("process %s: got %v, want it gone", field, err)
				}
			}
		})
	}
}

func TestManyGenerationsAreFound(t *testing.T) {
	for name, jail := range variants(t) {
		t.Run(name, func(t *testing.T) {
			// Each starts the next in a new session and ends, thirty deep; the
			// last ones stay. Nobody of them is the child of one that lives.
			_, said := run(t, t.Context(), jail, `
cat >next <<'END'
[ $1 -gt 30 ] && exec sleep 300
setsid sh next $(($1 + 1)) >/dev/null 2>&1 &
setsid sleep 300 >/dev/null 2>&1 &
[ $1 = 1 ] && exit 0
END
sh next 1; echo begun`, script.Limits{})
			if said != "begun\n" {
				t.Errorf("got %q", said)
			}
			if left := jail.nursery.orphans(); slices.ContainsFunc(left, func(pid int) bool { return jail.nursery.owns(tagOf(pid)) }) {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

func TestThreadsOfTheNodeStayFree(t *testing.T) {
	jail, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	for range 20 {
		run(t, t.Context(), jail, "true", script.Limits{})
	}
	// What was put on the threads that forked must be on no other.
	tasks, _ := filepath.Glob("/proc/self/task/*/status")
	for _, task := range tasks {
		status, _ := os.ReadFile(task)
		if strings.Contains(string(status), "NoNewPrivs:\t1") || strings.Contains(string(status), "Seccomp:\t2") {
			// One that is about to end may still be there.
			if _, err := os.Stat(task); err == nil && strings.HasSuffix(filepath.Dir(task), "/"+strconv.Itoa(os.Getpid())) {
				t.Errorf("the main thread is held in: %s", task)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(t.TempDir(), "file"), nil, 0o600); err != nil {
		t.Error(err)
	}
}

func TestOtherChildrenAreLeftAlone(t *testing.T) {
	jail, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	other := exec.Command("/bin/sh", "-c", "read x; exit 7")
	stdin, err := other.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		run(t, t.Context(), jail, "setsid sleep 300 >/dev/null 2>&1 & true", script.Limits{})
	}
	stdin.Close()
	var exit *exec.ExitError
	if err := other.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("got %v, want exit code 7", err)
	}
}

func TestWatcherComesBack(t *testing.T) {
	jail, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	watcher := func() *watcher {
		jail.nursery.mu.Lock()
		defer jail.nursery.mu.Unlock()
		return jail.nursery.watcher
	}
	first := watcher()
	if err := syscall.Kill(first.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-first.replaced
	if second := watcher(); second == first || unix.Kill(second.pid, 0) != nil {
		t.Errorf("got watcher %d after %d", second.pid, first.pid)
	}
}

func TestStartTellsWhatIsMissing(t *testing.T) {
	jail, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	_, err = jail.Start(Spec{Args: []string{"/no/such/program"}, Dir: t.TempDir(), Stdout: os.Stdout, Stderr: os.Stderr})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
}
