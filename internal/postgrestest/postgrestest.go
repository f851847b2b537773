// Package postgrestest starts private PostgreSQL servers for tests: real ones,
// each in a folder of its own on a Unix socket, gone with the test.
package postgrestest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
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

// Server is one private server. Its methods are for one goroutine.
type Server struct {
	t    testing.TB
	bins string
	dir  string // holds data, socket and log
	as   syscall.SysProcAttr
	cmd  *exec.Cmd
	port string // in the socket's name too
}

// ready is how long a server may take to answer; recovery after Kill counts.
const ready = 2 * time.Minute

// superuser is the role that owns everything; a socket needs no password.
const superuser = "ramet"

// Start makes a database and starts a server on it. Settings are lines of
// postgresql.conf such as "synchronous_commit = off". The test is skipped where
// PostgreSQL is not installed. The server is ended when the test ends, also
// when the test's process dies.
func Start(t testing.TB, settings ...string) *Server {
	t.Helper()
	s := initialize(t, "5432", append([]string{"listen_addresses = ''"}, settings...))
	s.run()
	return s
}

// StartTLS starts one that is also there on a loopback port, see [Server.Addr],
// for private connections with a password; cert and key are PEM files.
func StartTLS(t testing.TB, cert, key string, settings ...string) *Server {
	t.Helper()
	_, port, _ := net.SplitHostPort(testport.Free(t))
	s := initialize(t, port, append([]string{"listen_addresses = '127.0.0.1'", "port = " + port, "ssl = on"}, settings...))
	s.replace("server.crt", cert)
	s.replace("server.key", key)
	hba := filepath.Join(s.data(), "pg_hba.conf")
	if err := os.WriteFile(hba, []byte("local all all trust\nhostssl all all 127.0.0.1/32 scram-sha-256\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run()
	return s
}

// replace copies a file into the data, where the server looks for it.
func (s *Server) replace(name, from string) {
	s.t.Helper()
	text, err := os.ReadFile(from)
	if err != nil {
		s.t.Fatal(err)
	}
	to := filepath.Join(s.data(), name)
	if err := os.WriteFile(to, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.give(to)
}

// initialize makes the data of a server, and its settings.
func initialize(t testing.TB, port string, settings []string) *Server {
	t.Helper()
	bins := find(t)
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "postgrestest")
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, bins: bins, dir: dir, port: port}
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	s.leaveRoot()
	out, err := s.command("initdb", "--pgdata", s.data(), "--username", superuser, "--auth", "trust", "--encoding", "UTF8",
		"--locale", "C.UTF-8", "--no-sync", "--no-instructions").CombinedOutput()
	if err != nil {
		t.Fatalf("initdb: %v\n%s", err, out)
	}
	conf := slices.Concat([]string{"unix_socket_directories = '" + dir + "'", "shared_buffers = 32MB",
		"max_connections = 50", "autovacuum = off"}, settings)
	f, err := os.OpenFile(filepath.Join(s.data(), "postgresql.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, line := range conf {
		if _, err := fmt.Fprintln(f, line); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// find finds the folder of the programs: Debian keeps each version's outside
// of the path.
func find(t testing.TB) string {
	t.Helper()
	if bin, err := exec.LookPath("initdb"); err == nil {
		return filepath.Dir(bin)
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if len(found) > 0 {
		return filepath.Dir(found[len(found)-1])
	}
	const missing = "PostgreSQL is not installed: apt-get install postgresql"
	if os.Getenv("RAMET_TEST_SERVERS") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// leaveRoot lets another user own the folder and run the programs where we are
// root: PostgreSQL refuses to run as root.
func (s *Server) leaveRoot() {
	s.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		u, err = user.Lookup("nobody")
	}
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	s.give(s.dir)
}

// give lets the server's user own a file.
func (s *Server) give(path string) {
	s.t.Helper()
	if c := s.as.Credential; c != nil {
		if err := os.Chown(path, int(c.Uid), int(c.Gid)); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

func (s *Server) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(filepath.Join(s.bins, name), args...)
	as := s.as
	c.Dir, c.SysProcAttr = s.dir, &as
	return c
}

// run starts the process and waits until it answers.
func (s *Server) run() {
	s.t.Helper()
	s.cmd = s.command("postgres", "-D", s.data())
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := leash.Start(s.cmd, syscall.SIGQUIT); err != nil {
		s.t.Fatalf("start postgres: %v", err)
	}
	for end := time.Now().Add(ready); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s.answers() {
			return
		}
	}
	text, _ := os.ReadFile(log.Name())
	s.t.Fatalf("postgres in %s does not answer:\n%s", s.dir, text)
}

// answers reports whether the server takes sessions: it asks for one and looks
// whether it is let in.
func (s *Server) answers() bool {
	c, err := net.Dial("unix", s.Socket())
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	hello := "\x00\x03\x00\x00user\x00" + superuser + "\x00database\x00postgres\x00\x00"
	c.Write(append([]byte{0, 0, 0, byte(len(hello) + 4)}, hello...))
	b := make([]byte, 1)
	_, err = c.Read(b)
	return err == nil && b[0] == 'R' // E: it is starting up
}

// Socket is the path of its socket.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL."+s.port) }

// Addr is host:port of one that was started with TLS.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", s.port) }

// URL is postgres://..., of an empty database.
func (s *Server) URL() string {
	return "postgres:///postgres?" + url.Values{"host": {s.dir}, "port": {s.port}, "user": {superuser}, "sslmode": {"disable"}}.Encode()
}

// Kill ends the server as a crash does: nothing is put in order. A second Kill
// does nothing.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.ProcessState != nil {
		return
	}
	// Not SIGKILL: that would leave sessions and shared memory behind.
	_ = s.cmd.Process.Signal(syscall.SIGQUIT)
	_ = s.cmd.Wait()
}

// Restart kills the server if it runs and starts it again with the same data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.run()
}

// client is a command that asks a server, which may lie elsewhere than the server.
func (s *Server) client(name string, args ...string) *exec.Cmd {
	c := s.command(name, args...)
	if _, err := os.Stat(c.Path); err == nil {
		return c
	}
	path, err := exec.LookPath(name)
	if err != nil {
		s.t.Fatalf("%s is not installed: apt-get install postgresql-client", name)
	}
	c.Path = path
	return c
}

// Dump is all that the database has, as statements that any version takes: those of psql
// itself, and settings that only one knows, are left out.
func (s *Server) Dump() string {
	s.t.Helper()
	text, err := s.client("pg_dump", "-h", s.dir, "-p", s.port, "-U", superuser, "--inserts", "--no-owner", "postgres").Output()
	if err != nil {
		s.t.Fatalf("pg_dump: %v", err)
	}
	var kept strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, `\`) && !strings.HasPrefix(line, "SET ") {
			kept.WriteString(line)
		}
	}
	return kept.String()
}

// Load fills the database with what Dump gave.
func (s *Server) Load(text string) {
	s.t.Helper()
	load := s.client("psql", "-h", s.dir, "-p", s.port, "-U", superuser, "-v", "ON_ERROR_STOP=1", "-q", "postgres")
	load.Stdin = strings.NewReader(text)
	if out, err := load.CombinedOutput(); err != nil {
		s.t.Fatalf("psql: %v\n%s", err, out)
	}
}
