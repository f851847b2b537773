// Package mariadbtest starts private MariaDB servers for tests: real ones,
// each in a folder of its own on a loopback port, gone with the test.
package mariadbtest

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
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
	bin  string
	dir  string // holds data, socket and log
	addr string
	args []string
	as   syscall.SysProcAttr
	cmd  *exec.Cmd
}

// ready is how long a server may take to answer; recovery after Kill counts.
const ready = 2 * time.Minute

// What a server has: a user with all rights, and an empty database.
const (
	User     = "ramet"
	Password = "ramet-test"
	Database = "ramet"
)

// Start makes the data of a server and starts it. The test is skipped where
// MariaDB is not installed. The server is ended when the test ends, also when
// the test's process dies.
func Start(t testing.TB) *Server {
	t.Helper()
	s := initialize(t)
	s.run()
	return s
}

// StartTLS starts one that takes private connections too; cert and key are PEM
// files.
func StartTLS(t testing.TB, cert, key string) *Server {
	t.Helper()
	s := initialize(t)
	for option, from := range map[string]string{"ssl-cert": cert, "ssl-key": key} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		to := filepath.Join(s.dir, option)
		if err := os.WriteFile(to, text, 0o600); err != nil {
			t.Fatal(err)
		}
		s.give(to)
		s.args = append(s.args, "--"+option+"="+to)
	}
	s.run()
	return s
}

// initialize makes the data of a server.
func initialize(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: find(t), addr: testport.Free(t)}
	// Not t.TempDir: its long names do not fit into a socket's 108 bytes.
	dir, err := os.MkdirTemp("", "mariadbtest")
	if err != nil {
		t.Fatal(err)
	}
	s.dir = dir
	t.Cleanup(func() {
		s.Kill()
		os.RemoveAll(dir)
	})
	if err := os.Mkdir(s.data(), 0o700); err != nil {
		t.Fatal(err)
	}
	s.leaveRoot()
	_, port, _ := net.SplitHostPort(s.addr)
	s.args = []string{"--no-defaults", "--datadir=" + s.data(), "--tmpdir=" + dir, // not one of others: a server clears it of tables when it starts
		"--bind-address=127.0.0.1", "--port=" + port,
		"--socket=" + filepath.Join(dir, "sock"), "--pid-file=" + filepath.Join(dir, "pid"), "--innodb-buffer-pool-size=16M",
		"--innodb-log-file-size=4M", "--innodb-flush-log-at-trx-commit=2", "--key-buffer-size=1M", "--skip-name-resolve",
		"--character-set-server=utf8mb4"}
	s.bootstrap()
	return s
}

// find finds the program: Debian keeps it where only root looks.
func find(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd"} {
		if bin, err := exec.LookPath(name); err == nil {
			return bin
		}
	}
	const missing = "MariaDB is not installed: apt-get install mariadb-server-core"
	if os.Getenv("RAMET_TEST_SERVERS") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

// leaveRoot lets another user own the folder and run the program where we are
// root: MariaDB refuses to run as root.
func (s *Server) leaveRoot() {
	s.t.Helper()
	if os.Getuid() != 0 {
		return
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		s.t.Fatal(err)
	}
	uid, _ := strconv.ParseUint(u.Uid, 10, 32)
	gid, _ := strconv.ParseUint(u.Gid, 10, 32)
	s.as.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	s.give(s.dir)
	s.give(s.data())
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
func (s *Server) log() string  { return filepath.Join(s.dir, "log") }

func (s *Server) command(args ...string) *exec.Cmd {
	c := exec.Command(s.bin, append(append([]string{}, s.args...), args...)...)
	as := s.as
	c.Dir, c.SysProcAttr = s.dir, &as
	return c
}

// system is where distributions keep the statements that make the tables of
// the server itself.
const system = "/usr/share/mysql/mysql_system_tables.sql"

// bootstrap makes the tables of the server itself. Without the statements of
// mariadb-install-db for time zones and help, that is a second's work.
func (s *Server) bootstrap() {
	s.t.Helper()
	tables, err := os.ReadFile(system)
	if err != nil {
		s.t.Fatal(err)
	}
	c := s.command("--bootstrap", "--skip-log-bin")
	c.Stdin = strings.NewReader("CREATE DATABASE mysql;\nUSE mysql;\n" + string(tables) + fmt.Sprintf(
		"\nFLUSH PRIVILEGES;\nCREATE USER '%s'@'%%' IDENTIFIED BY '%s';\nGRANT ALL ON *.* TO '%[1]s'@'%%' WITH GRANT OPTION;\nCREATE DATABASE %[3]s;\n",
		User, Password, Database))
	if out, err := c.CombinedOutput(); err != nil {
		text, _ := os.ReadFile(s.log())
		s.t.Fatalf("mariadbd --bootstrap: %v\n%s\n%s", err, out, text)
	}
}

// run starts the process and waits until it answers.
func (s *Server) run() {
	s.t.Helper()
	s.cmd = s.command("--log-error=" + s.log())
	if err := leash.Start(s.cmd, syscall.SIGKILL); err != nil {
		s.t.Fatalf("start mariadbd: %v", err)
	}
	for end := time.Now().Add(ready); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if s.answers() {
			return
		}
	}
	text, _ := os.ReadFile(s.log())
	s.t.Fatalf("mariadbd in %s does not answer:\n%s", s.dir, text)
}

// answers reports whether the server takes sessions: it greets with its
// protocol's number, or with an error.
func (s *Server) answers() bool {
	c, err := net.Dial("tcp", s.addr)
	if err != nil {
		return false
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Second))
	b := make([]byte, 5)
	n, err := c.Read(b)
	return err == nil && n == len(b) && b[4] == 10
}

// Addr is host:port.
func (s *Server) Addr() string { return s.addr }

// Kill ends the server as a crash does: nothing is put in order. A second Kill
// does nothing.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Restart kills the server if it runs and starts it again with the same data.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill()
	s.run()
}
