package jail

import (
	"bufio"
	"bytes"
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

	"github.com/ramet-run/ramet/domain"
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

// nodeLevel is the level of its scripts.
const nodeLevel = "RAMET_TEST_NODE_LEVEL"

// playNode starts a script and a daemon of its, tells their process ids, and
// waits to be killed.
func playNode(dir string) {
	jail, err := Open(Config{Level: script.Level(os.Getenv(nodeLevel))})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	p, err := jail.Start(Spec{Args: []string{"/bin/sh", "-c", daemonScript}, Env: []string{"PATH=" + script.DefaultPath},
		Dir: dir, Stdout: os.Stdout, Stderr: os.Stderr})
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() { // a wall that is killed takes its script with it
		p.Await(context.Background(), 0)
		fmt.Println("ended")
	}()
	select {}
}

// daemonScript tells when it runs, and a daemon of its that is in a session of
// its own and heeds no signal.
const daemonScript = `setsid sh -c 'trap "" TERM HUP INT; echo $$ >pid.new; mv pid.new pid; while :; do sleep 60; done' &
while ! [ -e pid ]; do sleep 0.01; done
echo $$ $(cat pid)
while :; do sleep 60; done
`

func TestNothingOutlivesAKilledNode(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, level := range script.Levels {
			t.Run(string(level), func(t *testing.T) {
				played := play(t, level)
				played.kill(t, played.node.Process.Pid)
				played.gone(t)
			})
		}
	})
}

// TestNothingOutlivesAKilledWall kills each process of a wall: its node lives on,
// and nothing of the script is left.
func TestNothingOutlivesAKilledWall(t *testing.T) {
	asBoth(t, func(t *testing.T) {
		for _, level := range []script.Level{script.Walled, script.Sealed} {
			for index, who := range []string{"the outer process", "process 1", "the script"} {
				t.Run(string(level)+", "+who, func(t *testing.T) {
					played := play(t, level)
					played.kill(t, played.jobs[index])
					played.gone(t)
					if line, err := played.output.ReadString('\n'); line != "ended\n" {
						t.Errorf("the node said %q, %v", line, err)
					}
				})
			}
		}
	})
}

// played is a node that another process plays, with its script.
type played struct {
	node   *exec.Cmd
	output *bufio.Reader
	jobs   []int // processes of its script, parents first; of a wall, its own before
	fds    []unix.PollFd
}

func play(t *testing.T, level script.Level) *played {
	t.Helper()
	openAt(t, level, Config{}).Close() // skips where it cannot be had
	p := &played{node: exec.Command("/proc/self/exe")}
	p.node.Env = append(os.Environ(), nodeFolder+"="+t.TempDir(), nodeLevel+"="+string(level))
	output, err := p.node.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.node.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.node.Process.Kill() // it may be dead
		_ = p.node.Wait()
	})
	p.output = bufio.NewReader(output)
	line, err := p.output.ReadString('\n')
	if fields := strings.Fields(line); err != nil || len(fields) != 2 {
		t.Fatalf("the node said %q: %v", line, err)
	}
	// By the tree, for the script knows its ids behind a wall only.
	p.jobs = marked(t, p.node.Process.Pid)
	if want := map[bool]int{true: 2, false: 4}[level == script.Open]; len(p.jobs) < want {
		t.Fatalf("processes %v, want %d or more", p.jobs, want)
	}
	for _, pid := range p.jobs {
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			continue // a command of the script's that has ended
		} else if err != nil {
			t.Fatalf("process %d: %v", pid, err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		p.fds = append(p.fds, unix.PollFd{Fd: int32(fd), Events: unix.POLLIN})
	}
	return p
}

// marked are the children of a process that carry a tag, and all below them,
// parents first.
func marked(t *testing.T, root int) (list []int) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	children := map[int][]int{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + entry.Name() + "/stat") // it may have ended
		if fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(fields) > 1 {
			parent, _ := strconv.Atoi(fields[1])
			children[parent] = append(children[parent], pid)
		}
	}
	for _, child := range children[root] {
		if len(children[child]) == 0 {
			continue // the wall of a probe that has ended, which the kernel still takes down
		}
		if tag := tagOf(child); tag >= 1_000_000*tagsPerNode && tag < 10_000_000*tagsPerNode {
			list = append(list, child)
		}
	}
	for i := 0; i < len(list); i++ {
		list = append(list, children[list[i]]...)
	}
	return list
}

func (p *played) kill(t *testing.T, pid int) {
	t.Helper()
	if err := unix.Kill(pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

// gone waits until every process of the script has ended.
func (p *played) gone(t *testing.T) {
	t.Helper()
	killed := time.Now()
	for i := range p.fds {
		for {
			n, err := unix.Poll(p.fds[i:i+1], 30_000)
			if err == unix.EINTR {
				continue
			}
			if n != 1 || err != nil {
				t.Fatalf("of processes %v number %d still lives", p.jobs, i)
			}
			break
		}
	}
	t.Logf("%d processes gone %v later", len(p.fds), time.Since(killed).Round(time.Millisecond))
}

// variants are jails that do without one means or another.
func variants(t *testing.T) map[string]*Jail {
	full, err := Open(Config{Level: script.Open})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { full.Close() })
	copied := func(change func(*Jail)) *Jail {
		j := &Jail{cfg: full.cfg, machine: machine{reaper: full.reaper, fence: full.fence, filter: full.filter, marks: full.marks,
			cgroups: full.cgroups, traces: full.traces, null: full.null}}
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
	process, err := jail.Start(Spec{Level: jail.cfg.Level, Args: []string{"/bin/sh", "-c", source}, Env: []string{"PATH=" + script.DefaultPath, "PWD=" + dir},
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

// TestNothingBeginsThatIsToStop, though all is ready for it: its process is there
// when the jail asks, where it is held back, and has not begun.
func TestNothingBeginsThatIsToStop(t *testing.T) {
	for name, jail := range variants(t) {
		t.Run(name, func(t *testing.T) {
			enough, dir, held := errors.New("enough"), t.TempDir(), false
			mark := filepath.Join(dir, "mark")
			others := childrenByStat()
			spec := Spec{Level: jail.cfg.Level, Args: []string{"/bin/sh", "-c", "echo >" + mark}, Dir: dir, Stdout: jail.null, Stderr: jail.null}
			spec.Stop = func() error {
				held = slices.ContainsFunc(childrenByStat(), func(pid int) bool { return jail.reaper.owns(tagOf(pid)) && !slices.Contains(others, pid) })
				return enough
			}
			if p, err := jail.Start(spec); !errors.Is(err, enough) {
				t.Errorf("got %v %v, want what Stop says", p, err)
			}
			if !held {
				t.Error("it was asked when there was no process yet, want right before that begins")
			}
			if _, err := os.Stat(mark); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the script has left its mark: %v", err)
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
			if left := jail.reaper.orphans(); slices.ContainsFunc(left, func(pid int) bool { return jail.reaper.owns(tagOf(pid)) }) {
				t.Errorf("processes %v are left", left)
			}
		})
	}
}

func TestThreadsOfTheNodeStayFree(t *testing.T) {
	jail, err := Open(Config{Level: script.Open})
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
	jail, err := Open(Config{Level: script.Open})
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
	jail, err := Open(Config{Level: script.Open})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	watcher := func() *watcher {
		jail.reaper.mu.Lock()
		defer jail.reaper.mu.Unlock()
		return jail.reaper.watcher
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
	jail, err := Open(Config{Level: script.Open})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	_, err = jail.Start(Spec{Level: script.Open, Args: []string{"/no/such/program"}, Dir: t.TempDir(), Stdout: os.Stdout, Stderr: os.Stderr})
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "/no/such/program") {
		t.Errorf("got %v", err)
	}
}

func TestWithoutAShellNoProcessIsStarted(t *testing.T) {
	was := shell
	shell = filepath.Join(t.TempDir(), "sh")
	defer func() { shell = was }()
	jail, err := Open(Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer jail.Close()
	if levels := jail.Levels(); len(levels) != 0 {
		t.Errorf("%v can be had", levels)
	}
	for _, spec := range []Spec{{Args: []string{"/bin/true"}}, {Args: []string{"/bin/true"}, Parent: true}} {
		if _, err := jail.Start(spec); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), shell) {
			t.Errorf("got %v", err)
		}
	}
	if err := jail.Check(""); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("got %v", err)
	}
}
