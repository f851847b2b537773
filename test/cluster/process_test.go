package cluster

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ramet-run/ramet/internal/leash"
)

// patience is how long anything in these tests may take.
const patience = 2 * time.Minute

// process is a node in a process of its own, and what it has said. It is
// killed when the test ends.
type process struct {
	t      *testing.T
	name   string
	cmd    *exec.Cmd
	stderr bytes.Buffer
	ended  chan struct{} // closed when it has ended and all it said is here

	mu      sync.Mutex
	last    string
	said    map[string][]string // the rest of lines by their first word
	changed chan struct{}       // closed and replaced when something was said
}

// spawn starts a node called name on the board at where.
func spawn(t *testing.T, where, name, data string, env ...string) *process {
	t.Helper()
	p := &process{t: t, name: name, ended: make(chan struct{}), said: map[string][]string{}, changed: make(chan struct{})}
	p.cmd = exec.Command("/proc/self/exe")
	p.cmd.Env = append(os.Environ(), envBoard+"="+where, envData+"="+data, envName+"="+name)
	p.cmd.Env = append(p.cmd.Env, env...)
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := leash.Start(p.cmd, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	go p.listen(out)
	t.Cleanup(func() {
		p.kill()
		// Whatever happens to a node, it never falls apart.
		if text := p.stderr.String(); strings.Contains(text, "panic") || strings.Contains(text, "goroutine ") {
			t.Errorf("%s ended with a stack trace:\n%s", name, text)
		}
	})
	return p
}

func (p *process) listen(out io.Reader) {
	for lines := bufio.NewScanner(out); lines.Scan(); {
		p.mu.Lock()
		word, rest, _ := strings.Cut(lines.Text(), " ")
		p.said[word], p.last = append(p.said[word], rest), lines.Text()
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
	}
	_ = p.cmd.Wait()
	close(p.ended)
}

func (p *process) signal(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s) // it may have ended
}

// lines are what stands behind word in the lines that began with it so far.
func (p *process) lines(word string) []string {
	lines, _ := p.sofar(word)
	return lines
}

func (p *process) sofar(word string) (lines []string, changed chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clip(p.said[word]), p.changed
}

// await waits until n lines begin with word, and returns what stands behind it.
func (p *process) await(word string, n int) []string {
	p.t.Helper()
	bound := time.After(patience)
	for {
		lines, changed := p.sofar(word)
		if len(lines) >= n {
			return lines
		}
		select {
		case <-changed:
		case <-p.ended:
			if lines := p.lines(word); len(lines) >= n {
				return lines
			}
			p.t.Fatalf("%s ended before it said %d times %q: %s", p.name, n, word, p.stderr.String())
		case <-bound:
			p.t.Fatalf("%s said %d times %q, want %d; the last it said: %q", p.name, len(lines), word, n, p.latest())
		}
	}
}

func (p *process) latest() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last
}

// kill ends the process as kill -9 does.
func (p *process) kill() {
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// exit waits until the process has ended by itself.
func (p *process) exit() (code int, stderr string) {
	p.t.Helper()
	select {
	case <-p.ended:
	case <-time.After(patience):
		p.t.Fatalf("%s does not end; the last it said: %q", p.name, p.latest())
	}
	return p.cmd.ProcessState.ExitCode(), p.stderr.String()
}

// alive fails the test if the node has ended.
func (p *process) alive() {
	p.t.Helper()
	select {
	case <-p.ended:
		p.t.Errorf("%s has ended: %s", p.name, p.stderr.String())
	default:
	}
}

// The signals of these tests.
const (
	stopSignal     = syscall.SIGSTOP
	continueSignal = syscall.SIGCONT
	endSignal      = syscall.SIGTERM
)
