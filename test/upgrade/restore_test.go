package upgrade

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/work"
)

// TestRestoreDrill backs a node up in the midst of its work, kills it, and restores it in
// another folder and on another kind of board: everything goes on there, and what had ended
// before the backup does not run again, of which a file outside is the witness.
//
// RAMET_DRILL is how many jobs there are, 50000 for a drill of size.
func TestRestoreDrill(t *testing.T) {
	jobs := 1000
	if text := os.Getenv("RAMET_DRILL"); text != "" {
		var err error
		jobs, err = strconv.Atoi(text)
		must(t, err)
	}
	d := newDrill(t)
	n := &node{T: t, program: binaries.today, data: filepath.Join(d.dir, "one"), args: []string{"--config", d.config()}}
	n.serve()
	n.run("blueprint", "apply", "blueprint.yaml", "simple.yaml")
	n.run("saga", "apply", "order.yaml")
	n.run("schedule", "create", "someday", "--blueprint", "simple", "--at", "2090-01-01T00:00:00Z")
	// Each of these takes eleven calls of the command line: more would be a test of that.
	flows, instances := min(jobs/100, 100), min(jobs/100, 100)
	for i := range flows {
		n.run("flow", "submit", "approved", "--trigger", "before-"+strconv.Itoa(i+1))
	}
	for i := range instances {
		n.run("event", "publish", "Placed", "--aggregate", "Order/"+strconv.Itoa(i+1), "--payload", `{"pay": false}`)
	}
	n.shows("^1 +placed", "saga", "instances", "order")
	later := made(t, n, "later.sh", "--not-before", "15s")
	d.submit(n, "ended", jobs/2)
	for i := range flows { // each waits for somebody
		n.shows("^standing +deciding$", "flow", "explain", strconv.Itoa(i+1))
	}
	d.idle(t, n)
	if begun := len(d.seen("ended")); begun != jobs/2 {
		t.Fatalf("%d jobs of %d have begun, and none waits", begun, jobs/2)
	}

	// The rest comes while the backup is written, and more than the node gets done.
	file := filepath.Join(d.dir, "x.backup")
	d.submit(n, "open", jobs/2)
	more := make(chan error, 1)
	late := d.file("late", 0, jobs/10)
	go func() {
		_, err := n.try("job", "submit", late)
		more <- err
	}()
	n.run("backup", file)
	must(t, <-more)
	last := made(t, n, "done.sh") // and it is lost
	_ = n.end(syscall.SIGKILL)
	n.run("backup", "verify", file)

	for _, tt := range []struct {
		name string
		args []string // of restore and serve
	}{
		{"in another folder", nil},
		{"on Redis", []string{"--board", "redis://" + redistest.Start(t).Addr(), "--archive", "sqlite:archive.db"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			n := &node{T: t, program: binaries.today, data: t.TempDir() + "/two", args: append([]string{"--config", d.config()}, tt.args...)}
			n.run(append([]string{"restore", file}, tt.args...)...)
			n.serve("--stream", "nats:") // which a shared board has only where it is told so
			for i := range flows {
				n.run("flow", "approve", strconv.Itoa(i+1), "look")
			}
			for i := range instances {
				n.run("event", "publish", "Shipped", "--saga", "order", "--correlation", strconv.Itoa(i+1))
			}
			for i := range flows {
				n.shows("^status +finished", "flow", "show", strconv.Itoa(i+1))
			}
			for i := range instances {
				n.shows(fmt.Sprintf(`^%d +shipped +ended, succeeded`, i+1), "saga", "instances", "order", "--limit", "1000")
			}
			n.shows("someday", "schedule", "list")
			n.run("job", "wait", strconv.FormatInt(later, 10), "--timeout", "10m")
			d.idle(t, n)
			if begun := len(d.seen("open")); begun != jobs/2 {
				t.Errorf("%d jobs that were acknowledged before the backup of %d have begun, and none waits", begun, jobs/2)
			}
			for key, times := range d.seen("ended") {
				if times != 1 {
					t.Errorf("%s had ended before the backup, and ran %d times", key, times)
				}
			}
			if id := made(t, n, "done.sh"); id <= last {
				t.Errorf("job %d was made, and job %d had been given out before", id, last)
			}
			n.shows("0 stuck", "audit")
			must(t, n.end(syscall.SIGTERM))
		})
	}
}

// made submits a script, and returns its number.
func made(t *testing.T, n *node, args ...string) int64 {
	t.Helper()
	id, err := strconv.ParseInt(strings.TrimPrefix(strings.TrimSpace(n.run(append([]string{"job", "submit"}, args...)...)), "job:1:"), 10, 64)
	must(t, err)
	return id
}

// drill has jobs that each write a line into a file when they begin.
type drill struct {
	*testing.T
	dir string
}

// newDrill makes a folder in which scripts may write that are run for another user, too.
func newDrill(t *testing.T) *drill {
	dir, err := os.MkdirTemp("", "ramet-drill")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	d := &drill{T: t, dir: dir}
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(d.open(), 0o700))
	must(t, os.Chmod(d.open(), 0o777))
	must(t, os.WriteFile(d.witness(), nil, 0o600))
	must(t, os.Chmod(d.witness(), 0o666))
	config, err := os.ReadFile(filepath.Join("testdata", "world", "open.yaml"))
	must(t, err)
	must(t, os.WriteFile(d.config(), fmt.Appendf(config, "walls: {write: [%s]}\n", d.open()), 0o600))
	return d
}

// open is where scripts may write.
func (d *drill) open() string   { return filepath.Join(d.dir, "open") }
func (d *drill) config() string { return filepath.Join(d.dir, "config.yaml") }

func (d *drill) witness() string { return filepath.Join(d.open(), "witness") }

// file writes a file of jobs with a name, numbered from one on.
func (d *drill) file(name string, from, to int) string {
	d.Helper()
	text := bytes.NewBufferString("jobs:\n")
	for i := from; i < to; i++ {
		fmt.Fprintf(text, "- {script_type: shell, script: 'echo %s-%d >>%s'}\n", name, i, d.witness())
	}
	path := filepath.Join(d.dir, name+".yaml")
	must(d.T, os.WriteFile(path, text.Bytes(), 0o600))
	return path
}

// submit submits jobs with a name, as many at once as a node takes.
func (d *drill) submit(n *node, name string, jobs int) {
	d.Helper()
	for from := 0; from < jobs; from += work.MaxSubmit {
		n.run("job", "submit", d.file(name, from, min(from+work.MaxSubmit, jobs)))
	}
}

// idle waits until no job runs or is to, for as long as more of them begin: how long all take
// is the machine's.
func (d *drill) idle(t *testing.T, n *node) {
	t.Helper()
	ended := func() bool {
		for _, status := range []string{"dispatched", "started"} {
			if n.run("job", "list", "--status", status, "--limit", "1", "--look", "0", "-o", "name") != "" {
				return false
			}
		}
		return true
	}
	t.Cleanup(func() {
		if t.Failed() {
			tellUnended(t, n)
		}
	})
	for done := false; !done; {
		before := d.begun()
		testwait.Until(t, "no job that runs or is to, nor one more that begins", func() bool {
			done = ended()
			return done || d.begun() > before
		})
	}
}

// tellUnended logs why some jobs have not ended, and what the node says of itself.
func tellUnended(t *testing.T, n *node) {
	for _, status := range []string{"dispatched", "started"} {
		names, _ := n.try("job", "list", "--status", status, "--limit", "3", "--look", "0", "-o", "name")
		for name := range strings.FieldsSeq(names) {
			out, err := n.try("job", "explain", name)
			t.Logf("%s: %v\n%s", name, err, out)
		}
	}
	for _, command := range []string{"audit", "doctor"} {
		out, err := n.try(command)
		t.Logf("%s: %v\n%s", command, err, out)
	}
}

// begun is how many jobs have begun, each time counted.
func (d *drill) begun() int {
	d.Helper()
	text, err := os.ReadFile(d.witness())
	must(d.T, err)
	return bytes.Count(text, []byte("\n"))
}

// seen says how often each job with a name has begun.
func (d *drill) seen(name string) map[string]int {
	d.Helper()
	text, err := os.ReadFile(d.witness())
	must(d.T, err)
	times := map[string]int{}
	for key := range strings.FieldsSeq(string(text)) {
		if strings.HasPrefix(key, name+"-") {
			times[key]++
		}
	}
	return times
}
