package scripts

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// node is a `ramet serve` of a script.
type node struct {
	cmd  *exec.Cmd
	gone chan struct{} // closed when the process has ended

	mu     sync.Mutex
	logged strings.Builder
	more   chan struct{} // closed when it logs more
}

// Write takes what the node logs.
func (n *node) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	close(n.more)
	n.more = make(chan struct{})
	return n.logged.Write(b)
}

// started is what a node says when it has.
var started = regexp.MustCompile(`msg="node started".*\n`)

// listening finds a node's name, and the address where it listens over TCP.
var listening = regexp.MustCompile(`msg="node started" node=(\S+) .* listen=([0-9.:]+)`)

// linking finds the address where it takes links of other sites.
var linking = regexp.MustCompile(`msg="NATS server listens" nodes=\S* sites=([0-9.:]+)`)

func (n *node) text() string {
	text, _ := n.now()
	return text
}

// now is what it has logged, and what is closed when there is more.
func (n *node) now() (string, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.logged.String(), n.more
}

// await waits until it has logged something.
func (n *node) await(pattern *regexp.Regexp) error {
	for late := time.After(patience); ; {
		text, more := n.now()
		if pattern.MatchString(text) {
			return nil
		}
		select {
		case <-more:
		case <-n.gone:
			if text = n.text(); !pattern.MatchString(text) {
				return fmt.Errorf("it ended: %v\n%s", n.cmd.ProcessState, text)
			}
		case <-late:
			return fmt.Errorf("not within %v\n%s", patience, text)
		}
	}
}

func (r *rig) serve(ts *testscript.TestScript, args []string) {
	name := args[0]
	if r.nodes[name] != nil {
		ts.Fatalf("node %s is there already", name)
	}
	n := &node{gone: make(chan struct{}), more: make(chan struct{})}
	how := append([]string{"serve"}, args[1:]...)
	if len(args) > 1 && args[1] == "circle" {
		how = append([]string{"circle", "serve"}, args[2:]...)
	}
	n.cmd = command(context.Background(), ts, how)
	n.cmd.Stdout, n.cmd.Stderr = n, n
	n.cmd.WaitDelay = time.Second // a script it left behind may hold its output
	n.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	ts.Check(n.cmd.Start())
	r.nodes[name] = n
	go func() {
		_ = n.cmd.Wait() // the state says it
		close(n.gone)
	}()
	if err := n.await(started); err != nil {
		ts.Fatalf("node %s does not start: %v", name, err)
	}
	if m := listening.FindStringSubmatch(n.text()); m != nil {
		ts.Setenv("URL", "http://"+m[2])
		ts.Setenv("NODE", "http://"+m[2]+"#"+m[1])
	}
	r.openResp(ts, n)
	if m := linking.FindStringSubmatch(n.text()); m != nil {
		ts.Setenv("LEAF", m[1])
	}
}

// answering finds where a node answers clients of Redis, its name and its data.
var answering = regexp.MustCompile(`msg="node started" node=(\S+) data=(\S+) .* resp=([0-9.:]+)`)

// openResp sets $RESP to the URL by which the operator is let in there.
func (r *rig) openResp(ts *testscript.TestScript, n *node) {
	m := answering.FindStringSubmatch(n.text())
	if m == nil {
		return
	}
	got := run(ts, []string{"token", "--key", filepath.Join(m[2], "operator.key"), "--audience", m[1]})
	if got.code != 0 {
		ts.Fatalf("token: %s", got.err)
	}
	ts.Setenv("RESP", "redis://:"+strings.TrimSpace(got.out)+"@"+m[3])
}

// node finds a node and forgets it: its name is free again.
func (r *rig) take(ts *testscript.TestScript, args []string) *node {
	n := r.nodes[args[0]]
	if n == nil {
		ts.Fatalf("there is no node %s", args[0])
	}
	delete(r.nodes, args[0])
	return n
}

func (r *rig) crash(ts *testscript.TestScript, args []string) {
	n := r.take(ts, args)
	ts.Check(n.cmd.Process.Kill())
	<-n.gone
}

func (r *rig) stop(ts *testscript.TestScript, args []string) {
	n := r.take(ts, args)
	ts.Check(n.cmd.Process.Signal(syscall.SIGTERM))
	r.ends(ts, args[0], n)
}

// drained waits for a node that was told to end in another way.
func (r *rig) drained(ts *testscript.TestScript, args []string) {
	n := r.take(ts, args)
	r.ends(ts, args[0], n)
}

// ends waits until a node has ended well.
func (r *rig) ends(ts *testscript.TestScript, name string, n *node) {
	select {
	case <-n.gone:
	case <-time.After(patience):
		_ = n.cmd.Process.Kill()
		ts.Fatalf("node %s did not stop within %v\n%s", name, patience, n.text())
	}
	fmt.Fprint(ts.Stdout(), n.text())
	if code := n.cmd.ProcessState.ExitCode(); code != 0 {
		ts.Fatalf("node %s ended with %d, want 0\n%s", name, code, n.text())
	}
}

func (r *rig) log(ts *testscript.TestScript, args []string) {
	n := r.nodes[args[0]]
	if n == nil {
		ts.Fatalf("there is no node %s", args[0])
	}
	if len(args) > 1 {
		pattern, err := regexp.Compile("(?m)" + args[1])
		ts.Check(err)
		if err := n.await(pattern); err != nil {
			ts.Fatalf("node %s does not log %q: %v", args[0], args[1], err)
		}
	}
	fmt.Fprint(ts.Stdout(), n.text())
}

// killAll ends what a script has left running.
func (r *rig) killAll() {
	for _, n := range r.nodes {
		_ = n.cmd.Process.Kill() // gone already, at worst
		<-n.gone
	}
}
