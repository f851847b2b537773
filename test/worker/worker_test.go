// Package worker holds workers, the programs that run jobs by functions of their own,
// to a real node: processes of both are killed.
package worker

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testbinary"
	"github.com/ramet-run/ramet/internal/testport"
)

// patience bounds everything that is waited for. It only keeps what never comes from
// holding up the rest: a machine may be as busy as it likes.
const patience = 2 * time.Minute

// ramet is the binary under test.
var ramet string

func TestMain(m *testing.M) {
	os.Setenv("GOGC", "400") // as make has it
	os.Setenv("GOMEMLIMIT", "3GiB")
	os.Exit(testbinary.Run(m, func(folder string) { ramet = filepath.Join(folder, "ramet") }))
}

// node is a node that can be killed, and comes back at the same address.
type node struct {
	*testing.T
	name, data, addr string
	process          *exec.Cmd
	operator         string // the operator's key; of the first node of a board
}

// startNode starts a node with a config file.
func startNode(t *testing.T, config string) *node {
	data, err := os.MkdirTemp("", "ramet-worker") // not t.TempDir: its long names do not fit into a socket's 108 bytes
	if err != nil {
		t.Fatal(err)
	}
	return startNamed(t, &node{T: t, name: "n", data: data, addr: testport.Free(t), operator: filepath.Join(data, "operator.key")}, config)
}

// secondNode starts another node on the board of the first.
func secondNode(t *testing.T, first *node, config string) *node {
	data, err := os.MkdirTemp("", "ramet-worker")
	if err != nil {
		t.Fatal(err)
	}
	return startNamed(t, &node{T: t, name: "m", data: data, addr: testport.Free(t), operator: first.operator}, config)
}

func startNamed(t *testing.T, n *node, config string) *node {
	if err := os.WriteFile(filepath.Join(n.data, "ramet.yaml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	data := n.data
	n.start()
	t.Cleanup(func() { n.kill(); os.RemoveAll(data) })
	return n
}

func (n *node) start() {
	n.Helper()
	n.process = exec.Command(ramet, "serve", "--data", n.data, "--config", filepath.Join(n.data, "ramet.yaml"), "--listen", n.addr, "--name", n.name,
		"--isolation", "open", "--log-level", "error")
	n.process.Stderr = n.Output()
	if err := leash.Start(n.process, syscall.SIGKILL); err != nil {
		n.Fatal(err)
	}
	n.until("the node answers", func() bool {
		c, err := net.Dial("tcp", n.addr)
		if err == nil {
			c.Close()
		}
		return err == nil
	})
}

func (n *node) kill() {
	_ = n.process.Process.Kill()
	_ = n.process.Wait()
}

// until waits until something is so.
func (n *node) until(what string, so func() bool) {
	n.Helper()
	for begun := time.Now(); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Since(begun) > patience {
			n.Fatalf("never came: %s", what)
		}
	}
}

func (n *node) token() string {
	n.Helper()
	token, err := exec.Command(ramet, "token", "--key", n.operator, "--audience", n.name).Output()
	if err != nil {
		n.Fatal(err)
	}
	return strings.TrimSpace(string(token))
}

func (n *node) client() *client.Client {
	n.Helper()
	token := n.token()
	c, err := client.New(client.Config{URL: "http://" + n.addr, Token: func(context.Context) (string, error) { return token, nil }})
	if err != nil {
		n.Fatal(err)
	}
	n.Cleanup(c.Close)
	return c
}

// TestTheProgramIsCompiledAsMade: else nearly all of it is compiled once more for the tests,
// and under the race detector a third time.
func TestTheProgramIsCompiledAsMade(t *testing.T) {
	info, err := buildinfo.ReadFile(ramet)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, s := range info.Settings {
		got[s.Key] = s.Value
	}
	if got["CGO_ENABLED"] != "0" || got["-tags"] != "grpcnotrace" || got["-race"] != "" {
		t.Errorf("with CGO_ENABLED=%q, -tags=%q and -race=%q, want 0, grpcnotrace and none", got["CGO_ENABLED"], got["-tags"], got["-race"])
	}
}

// TestTheProgramHasItsOwnMemory: make gives tests room that the program does not have elsewhere.
func TestTheProgramHasItsOwnMemory(t *testing.T) {
	for _, name := range []string{"GOGC", "GOMEMLIMIT"} {
		if v, set := os.LookupEnv(name); set {
			t.Errorf("what tests start has %s=%s", name, v)
		}
	}
}

// TestTheWebApplication runs examples/web-app/go: a report is asked for, its worker is
// killed in the middle, and so is the node; then another worker makes it.
func TestTheWebApplication(t *testing.T) {
	n := startNode(t, "")
	program := filepath.Join(t.TempDir(), "web-app")
	if out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", program, "../../examples/web-app/go").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	listen := testport.Free(t)
	var mu sync.Mutex
	told := map[string]int{} // by a report's key and total
	witness := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		total, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		told[r.Header.Get("Idempotency-Key")+" "+string(total)]++
	}))
	t.Cleanup(witness.Close)
	gone := testport.Free(t) // another node of the board, which is asked first and is not there
	app := func(what string) *exec.Cmd {
		p := exec.Command(program, what)
		p.Env = append(os.Environ(), "RAMET_NODE=http://"+gone+",http://"+n.addr, "RAMET_TOKEN=none,"+n.token(), "LISTEN="+listen, "NOTIFY="+witness.URL)
		p.Stderr = t.Output()
		if err := leash.Start(p, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = p.Process.Kill(); _ = p.Wait() })
		return p
	}
	app("serve")
	ask := func(do func() (*http.Response, error)) (status int, text string) {
		resp, err := do()
		if err != nil {
			return 0, err.Error()
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return resp.StatusCode, string(bytes.TrimSpace(body))
	}
	var key string
	n.until("the application answers", func() bool {
		status, text := ask(func() (*http.Response, error) {
			return http.PostForm("http://"+listen+"/reports", url.Values{"rows": {"20"}})
		})
		key = text
		return status == http.StatusAccepted
	})
	var shown string
	shows := func(want ...string) func() bool {
		return func() bool {
			_, shown = ask(func() (*http.Response, error) { return http.Get("http://" + listen + "/reports/" + key) })
			for _, w := range want {
				if !strings.Contains(shown, w) {
					return false
				}
			}
			return true
		}
	}
	worker := app("work")
	n.until("the report is under way", shows("started, attempt 1", "10 %"))
	if err := worker.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	app("work")
	n.until("another worker has it", shows("started, attempt 2"))
	n.kill()
	n.start()
	t.Cleanup(func() { t.Log(shown) })
	// Where the node was killed before it had answered the claim, which is on the disk, nobody
	// knows of the second attempt: its lease runs out, and there is a third.
	n.until("the report is made", shows("finished, attempt", "100 %", "total 210"))
	if strings.HasPrefix(shown, "finished, attempt 1\n") {
		t.Error("the attempt of the worker that was killed is said to have ended well")
	}
	mu.Lock()
	defer mu.Unlock()
	if len(told) != 1 || told[key+" 210"] == 0 {
		t.Errorf("the witness was told of %v, want %s alone", told, key)
	}
}
