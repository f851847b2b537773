package scripttest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

// mostProcesses is the limit that the suite's jobs have, and manyProcesses what one tries.
const (
	mostProcesses = 200
	manyProcesses = 1500
)

// testLeft starts what is meant to outlive its job.
func (s *escape) testLeft(t *testing.T) {
	for _, way := range []struct{ name, how, open string }{
		{"in a session of its own", "plain", ""},
		{"that has lowered the limit which marks it", "unmarked", "open finds a job's processes by a limit that they can lower, where there is no cgroup"},
		{"below a job that takes in orphans", "subreaper", ""},
		{"that ignores every signal it can", "deaf", ""},
		{"without a name of its own in its group", "group", ""},
	} {
		t.Run("a process "+way.name, func(t *testing.T) {
			if s.level == script.Open && way.open != "" {
				t.Skip(way.open)
			}
			token := s.world.Token + "-" + way.how
			j := s.start(t, "leave", way.how, token)
			j.wait(t)
			j.want(t, script.Succeeded, 0)
			wantNobody(t, token)
		})
	}
	t.Run("a process when the job is stopped", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		token := s.world.Token + "-stopped"
		const grace = 100 * time.Millisecond // what is deaf gets no longer
		j := s.startStoppable(t, ctx, grace, "leave", "stopped", token)
		stopAfter(t, j, "ready", cancel)
		wantNobody(t, token)
	})
}

// wantNobody looks for processes that carry the token, and ends them.
func wantNobody(t *testing.T, token string) {
	t.Helper()
	for _, pid := range processesWith(token) {
		t.Errorf("process %d has outlived its job", pid)
		_ = unix.Kill(pid, unix.SIGKILL)
	}
}

// leave starts a process by way of another that ends, and ends.
func leave(how, token string) error {
	read, write, err := os.Pipe()
	if err != nil {
		return err
	}
	if how == "subreaper" {
		if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	err = begin([]string{"./" + stranger, "hop", how, token}, how != "group", write)
	write.Close()
	if err != nil {
		return err
	}
	var there [1]byte
	if _, err := read.Read(there[:]); err != nil {
		return fmt.Errorf("the other process is not there: %w", err)
	}
	if how == "stopped" {
		signal.Ignore(unix.SIGTERM, unix.SIGHUP, unix.SIGINT)
		// Not print: a runtime may show it only at the end of a line of its own.
		fmt.Println("ready")
		return nil
	}
	return nil
}

// begin starts a process of this program without waiting for it.
func begin(args []string, session bool, ready *os.File) error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	_, err = os.StartProcess(args[0], args, &os.ProcAttr{Files: []*os.File{null, null, null, ready}, Sys: &syscall.SysProcAttr{Setsid: session}})
	return err
}

// hop is the process in between.
func hop(how, token string) error {
	ready := os.NewFile(3, "ready")
	if how == "unmarked" {
		lower := unix.Rlimit{Cur: 1_000_000, Max: 1_000_000}
		if err := unix.Setrlimit(unix.RLIMIT_RTTIME, &lower); err != nil && err != unix.EPERM { // refused: it stays marked
			return err
		}
	}
	return begin([]string{"./" + stranger, "stay", token}, how != "group", ready)
}

// stay is the process that is to outlive its job.
func stay() error {
	ready := os.NewFile(3, "ready")
	signal.Ignore()
	if _, err := ready.Write([]byte{1}); err != nil {
		return err
	}
	ready.Close()
	select {}
}

// testProcesses starts more processes than are allowed.
func (s *escape) testProcesses(t *testing.T) {
	j := s.start(t, "forks")
	j.wait(t)
	j.want(t, script.Succeeded, 0)
	made, err := strconv.Atoi(j.outcome.Result["made"])
	if err != nil {
		t.Fatalf("the stranger did not tell: %+v", j.outcome)
	}
	if made < manyProcesses {
		return
	}
	if s.level == script.Open && syscall.Getuid() == 0 {
		t.Skip("open bounds processes by their user, of which root has no limit")
	}
	t.Errorf("got %d processes with a limit of %d", made, mostProcesses)
}

// hoard fills memory by processes each of which is below the limit of a job: each
// says so when it has its share, and keeps it.
const hoard = `
mkfifo said never
exec 3<>said 4<>never
for share in 1 2 3 4 5; do
	{ head -c 120000000 /dev/zero | tail -c 120000000 | { [ "$(head -c 1 | wc -c)" = 1 ] && echo full >&3 || echo none >&3; read -r x <&4; } } 2>/dev/null &
done
for share in 1 2 3 4 5; do
	read -r word <&3
	[ "$word" = full ] || { echo "held after $share"; exit 0; }
done
echo hoarded
`

// hoarder is that script's name in a work folder.
const hoarder = "hoard.sh"

// hoardLimit is what such a job may have.
const hoardLimit = 256 << 20

// testMemory takes more memory than is allowed, by many processes.
func (s *escape) testMemory(t *testing.T) {
	info := s.runtime.Info()
	if reason := s.cfg.Lacks["memory"]; reason != "" {
		t.Skip(reason)
	}
	if !measure(info, script.JobMemory).InForce {
		t.Skip("there is no cgroup with memory for jobs here, and none is promised: memory is bounded for each process")
	}
	j := s.startProgram(t, t.Context(), patience, script.Limits{MemoryBytes: hoardLimit, Processes: mostProcesses}, "/bin/sh", hoarder)
	j.wait(t)
	if said := strings.Join(j.Lines("stdout"), "\n"); !strings.HasPrefix(said, "held") && j.outcome.Verdict != script.Errored {
		t.Errorf("five processes have 120 MB each, with a limit of %d bytes: got %q, %+v", hoardLimit, said, j.outcome)
	}
}

// forks makes processes that wait for ever.
func forks() error {
	made, why := 0, ""
	for ; made < manyProcesses; made++ {
		if errno := forkIdle(); errno != 0 {
			why = errno.Error()
			break
		}
	}
	return os.WriteFile("result", fmt.Appendf(nil, "made=%d\nwhy=%s\n", made, why), 0o600)
}

// forkIdle makes a process that does nothing, not even as a Go program.
//
//go:norace
func forkIdle() syscall.Errno {
	id, _, errno := syscall.RawSyscall6(syscall.SYS_CLONE, uintptr(syscall.SIGCHLD), 0, 0, 0, 0, 0)
	for id == 0 && errno == 0 {
		syscall.RawSyscall6(syscall.SYS_PPOLL, 0, 0, 0, 0, 0, 0)
	}
	return errno
}

// depth is how deep a tree is whose path is longer than any may be. Landlock looks
// at all folders above for each one made, so that deeper ones take long to make.
const depth = 1_100

// testFolder leaves a work folder that is hard to remove.
func (s *escape) testFolder(t *testing.T) {
	j := s.start(t, "tangle")
	j.wait(t)
	j.want(t, script.Succeeded, 0)
	if err := script.RemoveFolder(j.task.Dir); err != nil {
		t.Errorf("remove the work folder: %v", err)
	}
	if _, err := os.Lstat(j.task.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the work folder is still there: %v", err)
	}
}

// tangle makes closed folders, and a tree deeper than any path is long.
func tangle() error {
	if err := os.MkdirAll("closed/within/more", 0o700); err != nil {
		return err
	}
	for _, name := range []string{"closed/within/more", "closed/within", "closed"} {
		if err := os.Chmod(name, 0); err != nil {
			return err
		}
	}
	if err := os.Mkdir("deep", 0o700); err != nil {
		return err
	}
	if err := os.Chdir("deep"); err != nil {
		return err
	}
	for range depth {
		if err := unix.Mkdir("down", 0o700); err != nil {
			return err
		}
		if err := unix.Chdir("down"); err != nil {
			return err
		}
	}
	return os.Chmod(".", 0)
}

// testResult puts other things into the place of the result.
func (s *escape) testResult(t *testing.T) {
	for _, what := range []string{"link", "dangling", "fifo", "folder", "socket", "hard", "huge"} {
		t.Run(what, func(t *testing.T) {
			j := s.start(t, "replace", what)
			j.wait(t)
			if !j.outcome.Invalid && what != "hard" {
				t.Errorf("got %+v, want a result that cannot be used", j.outcome)
			}
			for key, value := range j.outcome.Result {
				if strings.Contains(key+value, s.world.Token) {
					t.Errorf("the node's secret is in the result: %s=%s", key, value)
				}
			}
			s.world.checkSecrets(t)
		})
	}
}

// replaceResult puts something else into the place of the result file.
func replaceResult(w *world, what string) error {
	key := w.Secrets["the operator's key"]
	switch what {
	case "link":
		return os.Symlink(key, "result")
	case "dangling":
		return os.Symlink(filepath.Join(w.Data, "new"), "result")
	case "fifo":
		return unix.Mkfifo("result", 0o600)
	case "folder":
		return os.Mkdir("result", 0o700)
	case "socket":
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			return err
		}
		return unix.Bind(fd, &unix.SockaddrUnix{Name: "result"})
	case "hard":
		_ = os.Link(key, "result") // held back itself; and if not, the secret shows
		return nil
	}
	return os.Truncate(mustCreate("result"), math.MaxInt32/4)
}

func mustCreate(path string) string {
	if file, err := os.Create(path); err == nil {
		file.Close()
	}
	return path
}
