// Package s3test starts private servers that speak the protocol of S3, for tests: real ones,
// each in a folder of its own on a loopback port, gone with the test.
package s3test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testport"
)

// What a server has: one account with all rights, one bucket, and its region.
const (
	Access = "ramet"
	Secret = "ramet-test"
	Bucket = "artifacts"
	Region = "us-east-1"
)

// ready is how long a server may take to answer.
const ready = 2 * time.Minute

// Server is one private server. Its methods are for one goroutine.
type Server struct {
	t    testing.TB
	bin  string
	dir  string
	addr string
	cmd  *exec.Cmd
}

// Start starts a server. The test is skipped where there is none. The server is killed when
// the test ends, also when the test's process dies.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{t: t, bin: find(t), dir: t.TempDir(), addr: testport.Free(t)}
	if err := os.Mkdir(filepath.Join(s.dir, Bucket), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.Restart()
	return s
}

// find is the program that scripts/install-test-servers has built, or one that is installed.
func find(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd() // a test's is its package's
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
		if bin := filepath.Join(dir, "bin", "versitygw"); exists(bin) {
			return bin
		}
	}
	if bin, err := exec.LookPath("versitygw"); err == nil {
		return bin
	}
	const missing = "there is no versitygw: run scripts/install-test-servers"
	if os.Getenv("RAMET_TEST_SERVERS") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// Restart starts the server again after Kill, with what it had.
func (s *Server) Restart() {
	s.t.Helper()
	s.cmd = exec.Command(s.bin, "--port", s.addr, "--access", Access, "--secret", Secret, "--region", Region, "--quiet", "posix", s.dir)
	if err := leash.Start(s.cmd, syscall.SIGKILL); err != nil {
		s.t.Fatalf("start %s: %v", s.bin, err)
	}
	for until := time.Now().Add(ready); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		if c, err := net.Dial("tcp", s.addr); err == nil {
			c.Close()
			return
		}
	}
	s.t.Fatalf("%s does not serve", s.bin)
}

// Kill ends the server as a power cut does.
func (s *Server) Kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill() // it may have ended
		_ = s.cmd.Wait()
		s.cmd = nil
	}
}

// URL is that of a store of artifacts with a prefix in the bucket.
func (s *Server) URL(prefix string) string {
	return "s3://" + Bucket + "/" + prefix + "?endpoint=http://" + s.addr + "&region=" + Region
}
