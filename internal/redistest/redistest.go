// Package redistest starts private Redis servers for tests and benchmarks:
// real ones, each in a folder of its own, gone with the test.
package redistest

import (
	"bytes"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testport"
)

// Server is one private redis-server. Its methods are for one goroutine.
type Server struct {
	t    testing.TB
	bin  string
	dir  string
	addr string // host:port, or the path of a socket
	args []string
	cmd  *exec.Cmd
}

// ready is how long a server may take to answer. Loading a large data set
// after Restart counts.
const ready = 2 * time.Minute

// Start starts a server on a free loopback port. Settings are lines of
// redis.conf such as "appendfsync always"; without any, nothing is saved. The
// test is skipped where no Redis or Valkey server is installed. The server is
// killed when the test ends, also when the test's process dies.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	addr := testport.Free(t)
	_, port, _ := net.SplitHostPort(addr)
	return start(t, addr, []string{"bind 127.0.0.1", "port " + port}, settings)
}

// StartSocket starts a server on a Unix socket only.
func StartSocket(t testing.TB, settings ...string) *Server {
	t.Helper()
	return start(t, "", []string{"port 0"}, settings)
}

// StartSentinel starts a Sentinel that looks after a primary under a name, and by
// itself decides that it is down.
func StartSentinel(t testing.TB, name string, primary *Server, settings ...string) *Server {
	t.Helper()
	addr := testport.Free(t)
	_, port, _ := net.SplitHostPort(addr)
	host, watched, _ := net.SplitHostPort(primary.Addr())
	return start(t, addr, []string{"bind 127.0.0.1", "port " + port, "sentinel monitor " + name + " " + host + " " + watched + " 1",
		"sentinel down-after-milliseconds " + name + " 500", "sentinel failover-timeout " + name + " 2000"}, settings, "--sentinel")
}

func start(t testing.TB, addr string, where, settings []string, flags ...string) *Server {
	t.Helper()
	bin := find(t)
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "redistest")
	if err != nil {
		t.Fatal(err)
	}
	if addr == "" {
		addr = filepath.Join(dir, "redis.sock")
		where = append(where, "unixsocket "+addr)
	}
	conf := append(where, "dir "+dir, "save \"\"", "loglevel warning", "logfile redis.log")
	conf = append(conf, settings...)
	file := filepath.Join(dir, "redis.conf")
	if err := os.WriteFile(file, []byte(lines(conf)), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, bin: bin, dir: dir, addr: addr, args: append([]string{file}, flags...)}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
		os.RemoveAll(dir + ".kept")
	})
	s.run()
	return s
}

func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"redis-server", "valkey-server"} {
		if bin, err := exec.LookPath(name); err == nil {
			return bin
		}
	}
	missing(t, "neither redis-server nor valkey-server is installed: apt-get install redis-server")
	return ""
}

// Python finds an interpreter that has the module redis. The test is skipped
// where there is none.
func Python(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if path, err := exec.LookPath(name); err == nil && exec.Command(path, "-c", "import redis").Run() == nil {
			return path
		}
	}
	missing(t, "no python3 has the module redis: apt-get install python3-redis")
	return ""
}

// missing skips a test, or fails it where everything has to be there.
func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("RAMET_TEST_SERVERS") == "required" {
		t.Fatal(what)
	}
	t.Skip(what)
}

func lines(conf []string) string {
	var b bytes.Buffer
	for _, l := range conf {
		b.WriteString(l + "\n")
	}
	return b.String()
}

// RestartLoading is Restart that does not wait until the data is there: the server takes
// what seems for ever over each key, until its setting key-load-delay is 0.
func (s *Server) RestartLoading() {
	s.t.Helper()
	s.Kill()
	s.runUntil(func() bool { return strings.Contains(s.ask("INFO persistence"), "\r\nloading:1\r\n") },
		"--key-load-delay", "100000", "--loading-process-events-interval-bytes", "1024")
}

// run starts the process and waits until it answers.
func (s *Server) run() {
	s.t.Helper()
	s.runUntil(s.ping)
}

// runUntil starts the process and waits until something is so.
func (s *Server) runUntil(is func() bool, flags ...string) {
	s.t.Helper()
	s.cmd = exec.Command(s.bin, slices.Concat(s.args, flags)...)
	if err := leash.Start(s.cmd, syscall.SIGKILL); err != nil {
		s.t.Fatalf("start %s: %v", s.bin, err)
	}
	for end := time.Now().Add(ready); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if is() {
			return
		}
	}
	log, _ := os.ReadFile(filepath.Join(s.dir, "redis.log"))
	s.t.Fatalf("redis-server at %s does not answer:\n%s", s.addr, log)
}

// ping reports whether the server serves. One that asks for a password does.
func (s *Server) ping() bool {
	answer := s.ask("PING")
	return strings.HasPrefix(answer, "+PONG") || strings.HasPrefix(answer, "-NOAUTH")
}

// ask is what the server answers to a command; "" where it does not.
func (s *Server) ask(command string) string {
	c, err := net.Dial(s.Network(), s.addr)
	if err != nil {
		return ""
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	c.Write([]byte(command + "\r\nQUIT\r\n"))
	answer, _ := io.ReadAll(c)
	return string(answer)
}

// Network is "tcp" or "unix".
func (s *Server) Network() string {
	if filepath.IsAbs(s.addr) {
		return "unix"
	}
	return "tcp"
}

// Addr is host:port, or the path of the socket.
func (s *Server) Addr() string { return s.addr }

// URL is redis://host:port, or unix:///path.
func (s *Server) URL() string {
	if s.Network() == "unix" {
		return "unix://" + s.addr
	}
	return "redis://" + s.addr
}

// Pid is the server's process id.
func (s *Server) Pid() int { return s.cmd.Process.Pid }

// Kill ends the server as kill -9 does. A second Kill does nothing.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Restart kills the server if it runs and starts it again at the same place
// with the same data folder.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.run()
}

// Keep copies what lies in the data folder, for Lose: all that was answered before.
// With "everysec" a server keeps that to itself while it syncs what came earlier.
func (s *Server) Keep() {
	s.t.Helper()
	for end := time.Now().Add(ready); ; time.Sleep(5 * time.Millisecond) {
		about := s.ask("INFO persistence")
		if strings.Contains(about, "aof_enabled:0") || strings.Contains(about, "aof_buffer_length:0\r") {
			break
		}
		if time.Now().After(end) {
			s.t.Fatalf("redis-server at %s does not write its log: %s", s.addr, about)
		}
	}
	s.copy(s.dir, s.dir+".kept")
}

// Lose restarts the server with what Keep copied: what it has answered since is
// lost, as what it had not yet brought to the disk at a power cut.
func (s *Server) Lose() {
	s.t.Helper()
	s.Kill()
	s.copy(s.dir+".kept", s.dir)
	s.run()
}

func (s *Server) copy(from, to string) {
	s.t.Helper()
	err := os.RemoveAll(to)
	if err == nil {
		err = os.CopyFS(to, os.DirFS(from))
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// Pause stops the process without ending it: connections stay open and
// nothing answers.
func (s *Server) Pause() { s.signal(syscall.SIGSTOP) }

// Continue takes Pause back.
func (s *Server) Continue() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("signal %v to redis-server %s: %v", sig, strconv.Itoa(s.Pid()), err)
	}
}
