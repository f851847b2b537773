// Package etcdtest starts private etcd servers for tests and benchmarks: real
// processes, each in a folder of its own, gone with the test.
package etcdtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testport"
	"github.com/ramet-run/ramet/internal/testwait"
)

// Member is one etcd process. Its methods are for one goroutine.
type Member struct {
	t      testing.TB
	bin    string
	dir    string
	client string // URL for clients
	args   []string
	first  []string // those of them that make the member
	cmd    *exec.Cmd
}

// ready is how long a server may take to answer.
const ready = 2 * time.Minute

// Start starts a server on free loopback ports, with more flags of etcd such
// as "--max-txn-ops=64". The test is skipped where there is no etcd. The server
// is killed when the test ends, also when the test's process dies.
func Start(t testing.TB, flags ...string) *Member {
	t.Helper()
	return Cluster(t, 1, flags...)[0]
}

// Cluster starts a cluster of n members.
func Cluster(t testing.TB, n int, flags ...string) []*Member {
	t.Helper()
	bin := find(t, "etcd")
	ports := free(t, 2*n)
	var peers []string
	for i := range n {
		peers = append(peers, fmt.Sprintf("m%d=http://%s", i, ports[2*i+1]))
	}
	members := make([]*Member, n)
	for i := range n {
		scheme := "http://"
		for _, f := range flags {
			if strings.HasPrefix(f, "--cert-file") {
				scheme = "https://"
			}
		}
		m := &Member{t: t, bin: bin, dir: t.TempDir(), client: scheme + ports[2*i]}
		m.first = []string{
			"--name", fmt.Sprintf("m%d", i), "--data-dir", m.dir, "--initial-advertise-peer-urls", "http://" + ports[2*i+1],
			"--initial-cluster", strings.Join(peers, ","), "--initial-cluster-token", "test",
		}
		m.args = slices.Concat(m.first, []string{
			"--log-level", "error",
			"--listen-client-urls", m.client, "--advertise-client-urls", m.client,
			"--listen-peer-urls", "http://" + ports[2*i+1], "--listen-metrics-urls", "",
		}, flags)
		members[i] = m
		t.Cleanup(m.Kill)
		m.start()
	}
	for _, m := range members {
		m.await()
	}
	return members
}

// module is the folder of the module that is tested. Where its sources lay when
// it was compiled does not say so: that may be trimmed away.
func module(t testing.TB) string {
	dir, err := os.Getwd() // a test's is its package's
	if err != nil {
		t.Fatal(err)
	}
	for !exists(filepath.Join(dir, "go.mod")) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	return dir
}

// find is the program that scripts/install-test-servers has built, or else one
// that is installed.
func find(t testing.TB, name string) string {
	t.Helper()
	if bin := filepath.Join(module(t), "bin", name); exists(bin) {
		return bin
	}
	if bin, err := exec.LookPath(name); err == nil {
		return bin
	}
	missing := "there is no " + name + ": run scripts/install-test-servers"
	if os.Getenv("RAMET_TEST_SERVERS") == "required" {
		t.Fatal(missing)
	}
	t.Skip(missing)
	return ""
}

func exists(file string) bool { _, err := os.Stat(file); return err == nil }

// free finds ports that nobody listens at.
func free(t testing.TB, n int) (addrs []string) {
	t.Helper()
	for range n {
		addrs = append(addrs, testport.Free(t))
	}
	return addrs
}

// output keeps what a server says, for when it fails.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (m *Member) start() {
	m.t.Helper()
	m.cmd = exec.Command(m.bin, m.args...)
	m.cmd.Stderr = &output{}
	if err := leash.Start(m.cmd, syscall.SIGKILL); err != nil {
		m.t.Fatalf("start %s: %v", m.bin, err)
	}
}

// await waits until the member serves: then its cluster has a leader.
func (m *Member) await() {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), ready)
	defer cancel()
	for ctx.Err() == nil {
		if m.healthy(ctx) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	o := m.cmd.Stderr.(*output)
	o.mu.Lock()
	defer o.mu.Unlock()
	m.t.Fatalf("etcd at %s does not serve:\n%s", m.client, o.buf.String())
}

func (m *Member) healthy(ctx context.Context) bool {
	if strings.HasPrefix(m.client, "https") {
		c, err := net.Dial("tcp", m.Addr())
		if err == nil {
			c.Close()
		}
		return err == nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, m.client+"/health", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusOK
}

// Addr is host:port for clients.
func (m *Member) Addr() string { return m.client[strings.LastIndex(m.client, "/")+1:] }

// URL is a board's URL of some members, with a prefix.
func URL(prefix string, members ...*Member) string {
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.Addr())
	}
	return "etcd://" + strings.Join(addrs, ",") + "/" + cmp.Or(prefix, "ramet")
}

// Kill ends the process as kill -9 does.
func (m *Member) Kill() {
	if m.cmd == nil {
		return
	}
	_ = m.cmd.Process.Kill()
	_ = m.cmd.Wait()
	m.cmd = nil
}

// Pause stops the process without ending it: connections stay open and nothing
// answers.
func (m *Member) Pause() { m.signal(syscall.SIGSTOP) }

// Continue takes Pause back.
func (m *Member) Continue() { m.signal(syscall.SIGCONT) }

func (m *Member) signal(sig syscall.Signal) {
	m.t.Helper()
	if err := m.cmd.Process.Signal(sig); err != nil {
		m.t.Fatalf("signal %v to etcd at %s: %v", sig, m.client, err)
	}
}

// Leader waits until one of the members says that it is the leader. They must not
// ask for TLS.
func Leader(t testing.TB, members []*Member) (leader *Member) {
	t.Helper()
	testwait.Until(t, "a member of etcd leads", func() bool {
		i := slices.IndexFunc(members, func(m *Member) bool { return m.leads(t.Context()) })
		if i >= 0 {
			leader = members[i]
		}
		return i >= 0
	})
	return leader
}

// leads reports whether the member says that it is the leader.
func (m *Member) leads(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.client+"/v3/maintenance/status", strings.NewReader("{}"))
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var status struct {
		Header struct {
			Member string `json:"member_id"`
		} `json:"header"`
		Leader string `json:"leader"`
	}
	err = json.NewDecoder(resp.Body).Decode(&status)
	return err == nil && status.Leader != "" && status.Leader == status.Header.Member
}

// Restart starts the process again on its data.
func (m *Member) Restart() {
	m.t.Helper()
	m.Kill()
	m.start()
	m.await()
}

// Snapshot keeps what the member has, as "etcdctl snapshot save" does, and returns the
// file. The member must not ask for TLS.
func (m *Member) Snapshot() (file string) {
	m.t.Helper()
	req, err := http.NewRequestWithContext(m.t.Context(), http.MethodPost, m.client+"/v3/maintenance/snapshot", strings.NewReader("{}"))
	if err != nil {
		m.t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		m.t.Fatal(err)
	}
	defer resp.Body.Close()
	file = filepath.Join(m.t.TempDir(), "snapshot.db")
	f, err := os.Create(file)
	if err != nil {
		m.t.Fatal(err)
	}
	defer f.Close()
	for parts := json.NewDecoder(resp.Body); ; {
		var part struct {
			Result struct{ Blob []byte }
		}
		if err := parts.Decode(&part); errors.Is(err, io.EOF) {
			return file
		} else if err != nil {
			m.t.Fatal(err)
		}
		if _, err := f.Write(part.Result.Blob); err != nil {
			m.t.Fatal(err)
		}
	}
}

// Restore gives a cluster of one the data of a snapshot, with etcd's own tool and what flags are
// given to it, and starts it again at the same address.
func (m *Member) Restore(file string, flags ...string) {
	m.t.Helper()
	tool := find(m.t, "etcdutl")
	m.Kill()
	if err := os.RemoveAll(m.dir); err != nil {
		m.t.Fatal(err)
	}
	if out, err := exec.CommandContext(m.t.Context(), tool, slices.Concat([]string{"snapshot", "restore", file}, flags, m.first)...).CombinedOutput(); err != nil {
		m.t.Fatalf("restore: %v: %s", err, out)
	}
	m.start()
	m.await()
}
