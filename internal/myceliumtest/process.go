package myceliumtest

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testport"
)

// Process is a daemon in a process of its own: the stand-in or the real one.
// Its methods are for one goroutine.
type Process struct {
	t        testing.TB
	cmd      *exec.Cmd     // nil once it was killed
	ended    chan struct{} // closed when cmd has
	bin      string
	args     []string
	log      string
	api      string
	endpoint string
	key      string
}

// ready is how long a process may take to answer.
const ready = 2 * time.Minute

// Build builds the stand-in program and returns its path.
func Build(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "myceliumd")
	build := exec.Command("go", "build", "-ldflags", "-s -w", "-o", bin, "github.com/ramet-run/ramet/test/myceliumd")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build myceliumd: %v\n%s", err, out)
	}
	return bin
}

// Installed returns the path of the real daemon. The test is skipped where it
// is not installed.
func Installed(t testing.TB) string {
	t.Helper()
	bin, err := exec.LookPath("mycelium")
	if err != nil {
		t.Skip("mycelium is not installed (https://github.com/threefoldtech/mycelium); its stand-in is tested instead")
	}
	return bin
}

// Run starts a daemon with a new key on free ports of the loopback interface,
// linked with peers. It is killed when the test ends, also when the test's
// process dies.
func Run(t testing.TB, bin string, peers ...string) *Process {
	t.Helper()
	dir := t.TempDir()
	p := &Process{t: t, bin: bin, log: filepath.Join(dir, "log")}
	t.Cleanup(p.Kill)
	var err error
	// Somebody else may take a port between our finding it and the daemon's
	// listening on it.
	for range 5 {
		link := freePort(t)
		p.api, p.endpoint = "127.0.0.1:"+freePort(t), "tcp://127.0.0.1:"+link
		p.args = []string{"--key-file", filepath.Join(dir, "key"), "--api-addr", p.api, "--jsonrpc-addr", "127.0.0.1:" + freePort(t),
			"--tcp-listen-port", link, "--no-tun", "--disable-quic", "--disable-peer-discovery"}
		for _, peer := range peers {
			p.args = append(p.args, "--peers", peer)
		}
		if err = p.start(); err == nil {
			return p
		}
		p.Kill()
	}
	t.Fatal(err)
	return nil
}

// freePort finds a port that nobody has now.
func freePort(t testing.TB) string {
	t.Helper()
	_, port, _ := net.SplitHostPort(testport.Free(t))
	return port
}

// URL is where its HTTP API is.
func (p *Process) URL() string { return "http://" + p.api }

// Endpoint is what others link with.
func (p *Process) Endpoint() string { return p.endpoint }

// Key is its public key.
func (p *Process) Key() string { return p.key }

// Kill ends it with SIGKILL; what it held is lost.
func (p *Process) Kill() {
	if p.cmd != nil {
		p.cmd.Process.Kill()
		<-p.ended
		p.cmd = nil
	}
}

// Pause stops the process where it is, with its connections, until Resume.
func (p *Process) Pause() { p.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume lets it go on.
func (p *Process) Resume() { p.cmd.Process.Signal(syscall.SIGCONT) }

// Start starts it again after Kill, with the same key and ports, and waits until
// it answers.
func (p *Process) Start() {
	p.t.Helper()
	if err := p.start(); err != nil {
		p.t.Fatal(err)
	}
}

func (p *Process) start() error {
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd, ended := exec.Command(p.bin, p.args...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := leash.Start(cmd, syscall.SIGKILL); err != nil {
		return err
	}
	p.cmd, p.ended = cmd, ended
	go func() {
		cmd.Wait()
		close(ended)
	}()
	for end := time.Now().Add(ready); time.Now().Before(end); {
		var info nodeInfo
		if p.get("/api/v1/admin", &info) && info.Pubkey != "" {
			p.key = info.Pubkey
			return nil
		}
		select {
		case <-ended:
			end = time.Time{}
		case <-time.After(5 * time.Millisecond):
		}
	}
	text, _ := os.ReadFile(p.log)
	return fmt.Errorf("%s at %s does not answer:\n%s", p.bin, p.api, text)
}

// AwaitRoute waits until messages find their way to another daemon.
func (p *Process) AwaitRoute(to *Process) {
	p.t.Helper()
	var other nodeInfo
	if !to.get("/api/v1/admin", &other) {
		p.t.Fatalf("%s does not answer", to.api)
	}
	for end := time.Now().Add(ready); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		type route struct {
			Subnet string `json:"subnet"`
		}
		var routes []route
		if p.get("/api/v1/admin/routes/selected", &routes) && slices.Contains(routes, route{other.Subnet}) {
			return
		}
	}
	p.t.Fatalf("%s finds no way to %s", p.api, other.Subnet)
}

func (p *Process) get(path string, into any) bool {
	client := http.Client{Timeout: time.Second}
	resp, err := client.Get(p.URL() + path)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(into) == nil
}
