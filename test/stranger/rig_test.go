// Package stranger holds real nodes to what a stranger gains of them: scripts of
// their jobs, and other processes of the machine. Each test runs as root, with
// a child of it as an ordinary user, or as an ordinary user alone.
package stranger

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/testbinary"
)

// patience bounds everything that is waited for. It only keeps what never comes from
// holding up the rest: a machine may be as busy as it likes.
const patience = 2 * time.Minute

// ramet is the binary under test, which every user may run.
var ramet string

func TestMain(m *testing.M) {
	os.Exit(testbinary.Run(m, func(folder string) { ramet = filepath.Join(folder, "ramet") }))
}

// user is whom processes of a test run as.
type user struct {
	name string
	uid  int
}

// users are root and an ordinary user, or whoever runs the test.
func users() []user {
	if uid := os.Getuid(); uid != 0 {
		return []user{{"an ordinary user", uid}}
	}
	return []user{{"root", 0}, {"an ordinary user", 65534}}
}

// rig is a folder of a user, and what runs there.
type rig struct {
	*testing.T
	user
	home, data string
	env        []string // beside PATH and HOME
}

// forUsers runs a test for each user.
func forUsers(t *testing.T, do func(r *rig)) {
	for _, u := range users() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
			home, err := os.MkdirTemp("", "ramet-home")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(home) })
			if err := os.Chown(home, u.uid, -1); err != nil {
				t.Fatal(err)
			}
			do(&rig{T: t, user: u, home: home, data: filepath.Join(home, "data")})
		})
	}
}

// write makes a file of the rig's user and returns its path.
func (r *rig) write(name, text string) string {
	r.Helper()
	path := filepath.Join(r.home, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		r.Fatal(err)
	}
	if err := os.Chown(path, r.uid, -1); err != nil {
		r.Fatal(err)
	}
	return path
}

// command is a process of the rig's user.
func (r *rig) command(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = r.home
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + r.home, "RAMET_DATA=" + r.data}, r.env...)
	cmd.WaitDelay = time.Second // a script that it left may hold its output
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(r.uid), Gid: uint32(r.uid)}}
	}
	return cmd
}

// run runs ramet and returns what it printed.
func (r *rig) run(args ...string) (out, errs string, code int) {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	cmd := r.command(ctx, ramet, args...)
	var o, e bytes.Buffer
	cmd.Stdout, cmd.Stderr = &o, &e
	_ = cmd.Run() // the code says it
	if ctx.Err() != nil {
		r.Fatalf("ramet %s did not end:\n%s%s", strings.Join(args, " "), &o, &e)
	}
	return o.String(), e.String(), cmd.ProcessState.ExitCode()
}

// must is run of what has to succeed.
func (r *rig) must(args ...string) string {
	r.Helper()
	out, errs, code := r.run(args...)
	if code != 0 {
		r.Fatalf("ramet %s: got exit code %d\n%s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// server is a node that runs.
type server struct {
	cmd  *exec.Cmd
	gone chan struct{}

	mu      sync.Mutex
	logged  bytes.Buffer
	started chan struct{}
	is      bool
}

func (s *server) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logged.Write(b)
	if !s.is && strings.Contains(s.logged.String(), `msg="node started"`) {
		s.is = true
		close(s.started)
	}
	return len(b), nil
}

func (s *server) log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.logged.String()
}

// serve starts a node and waits until it listens; it ends with the test.
func (r *rig) serve(args ...string) *server {
	r.Helper()
	return r.start(r.command(context.Background(), ramet, append([]string{"serve"}, args...)...))
}

func (r *rig) start(cmd *exec.Cmd) *server {
	r.Helper()
	s := &server{cmd: cmd, gone: make(chan struct{}), started: make(chan struct{})}
	s.cmd.Stdout, s.cmd.Stderr = s, s
	if err := s.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait() // the log says it
		close(s.gone)
	}()
	r.Cleanup(s.stop)
	select {
	case <-s.started:
	case <-s.gone:
		r.Fatalf("the node ended at once:\n%s", s.log())
	case <-time.After(patience):
		r.Fatalf("the node did not start:\n%s", s.log())
	}
	return s
}

// stop ends the node.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // it may have gone
	select {
	case <-s.gone:
	case <-time.After(patience):
		_ = s.cmd.Process.Kill()
		<-s.gone
	}
}

// job runs a script as a job of the node and returns what it printed.
func (r *rig) job(scriptType, script string) string {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	cmd := r.command(ctx, ramet, "run", "-", "--type", scriptType, "--data", r.data)
	cmd.Stdin = strings.NewReader(script)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		r.Fatalf("a job: %v\n%s%s", err, out, &errs)
	}
	return string(out)
}
