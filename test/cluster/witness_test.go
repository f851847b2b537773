package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/script/jail"
	"github.com/ramet-run/ramet/script/processscript"
)

// This file is a witness outside of Ramet: a file of the test's own to which each
// run of a script adds a line when it begins and one when it ends, with the job
// and the number of the attempt as the script is told them. It knows what was run,
// whatever nodes and boards say, and in which order.

// What the lines of the witness begin with; the job follows, and but for a settled
// one the attempt.
const (
	begins  = "begin"
	fails   = "fail"
	ends    = "end"
	settled = "settled" // the test has read from the board that the job has ended
)

// teller is a runtime whose scripts tell the witness without being processes, so
// that there are many. They act outside of the node all the same, and it says so.
// A script is a length of time, behind the word fail when the first attempt is to.
type teller struct{ file *os.File }

const telling domain.ScriptType = "teller"

func (teller) Type() domain.ScriptType     { return telling }
func (teller) Check(context.Context) error { return nil }
func (teller) Close() error                { return nil }
func (teller) Info() script.Info {
	return script.Info{Summary: "tells the witness", Slots: 64}
}

func (w teller) Run(ctx context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	length, fail := strings.CutPrefix(t.Script, fails+" ")
	d, err := time.ParseDuration(length)
	if err != nil {
		return script.Outcome{}, err
	}
	if stopped := script.Stop(ctx); stopped != nil {
		return script.NotStarted(stopped), nil
	}
	if err := w.tell(begins, t); err != nil {
		return script.Outcome{}, err
	}
	select {
	case <-time.After(d):
	case <-ctx.Done():
		return script.Outcome{Verdict: script.Stopped, ExitCode: 143}, nil
	}
	if fail && t.Attempt == 1 {
		return script.Outcome{Verdict: script.Failed, ExitCode: 1, Error: "the first attempt fails"}, w.tell(fails, t)
	}
	return script.Outcome{Verdict: script.Succeeded, Result: map[string]string{"exit_code": "0"}}, w.tell(ends, t)
}

func (w teller) tell(word string, t script.Task) error {
	_, err := fmt.Fprintln(w.file, word, t.Name, t.Attempt)
	return err
}

// witnesses are the runtimes whose scripts tell the witness in a file.
func witnesses(file string) ([]script.Runtime, error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	// The scripts of processes may write to it, too.
	cell, err := jail.Open(jail.Config{Level: script.Open, Write: []string{filepath.Dir(file)}})
	if err != nil {
		return nil, err
	}
	return []script.Runtime{teller{f}, processscript.Shell(processscript.Config{Jail: cell, Level: script.Open, Slots: 8})}, nil
}

// witnessed are some jobs that tell the witness in a file: one, two of which the
// second waits for the first, or a batch. Every other submit is of processes.
func witnessed(id int, file string) []*domain.Job {
	jobs := make([]*domain.Job, []int{1, 2, 6}[id%3])
	for i := range jobs {
		n := id + i
		pause := time.Duration(n%40) * time.Millisecond
		if n%25 == 0 {
			pause = 1500 * time.Millisecond // nearly a lease
		}
		fail := n%11 == 0
		j := &domain.Job{ID: domain.JobID(n), CallerID: 1, Retries: 3, ScriptType: telling, Script: pause.String()}
		if fail {
			j.Script = fails + " " + j.Script
		}
		if id%2 == 0 {
			j.ScriptType, j.Script = domain.ScriptShell, shellWitness(file, pause, fail)
		}
		if len(jobs) == 2 && i == 1 {
			j.Dependends = []domain.JobID{domain.JobID(id)}
		}
		jobs[i] = j
	}
	return jobs
}

func shellWitness(file string, pause time.Duration, fail bool) string {
	text := fmt.Sprintf("tell() { echo \"$1 $RAMET_JOB $RAMET_ATTEMPT\" >>'%s'; }\ntell %s\nsleep %.3f\n", file, begins, pause.Seconds())
	if fail {
		text += "if [ $RAMET_ATTEMPT = 1 ]; then tell " + fails + "; exit 1; fi\n"
	}
	return text + "tell " + ends + "\n"
}

// witness is what the test has of its file.
type witness struct {
	*testing.T
	file string
	over map[string]bool // whose end was read from the board
}

func newWitness(t *testing.T) *witness {
	return &witness{T: t, file: filepath.Join(t.TempDir(), "witness"), over: map[string]bool{}}
}

// look writes down which jobs have ended as the board says: none of them may
// begin from here on.
func (w *witness) look(ctx context.Context, b board.Board) error {
	const page = 500
	var text strings.Builder
	for from, known := 0, false; !known; from += page {
		keys, err := b.List(ctx, 1, layout.Finished, from, page) // the newest first
		if err != nil {
			return err
		}
		for _, key := range keys {
			if known = known || w.over[key]; !w.over[key] {
				fmt.Fprintln(&text, settled, key)
			}
		}
		if len(keys) < page {
			break
		}
	}
	f, err := os.OpenFile(w.file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.WriteString(text.String()); err != nil {
		return err
	}
	for _, line := range strings.Split(text.String(), "\n") {
		_, key, _ := strings.Cut(line, " ")
		w.over[key] = true
	}
	return nil
}

// testimony is what the witness knows of a job.
type testimony struct {
	begun, ended map[int]bool // attempts
	last         int          // of those begun
	settled      bool
}

// judge reads what the witness has written: no two starts have one attempt. late
// are those starts that came when a later attempt had begun, or when the job's end
// was known.
func (w *witness) judge() (jobs map[string]*testimony, starts, late int) {
	w.Helper()
	f, err := os.Open(w.file)
	if err != nil {
		w.Fatal(err)
	}
	defer f.Close()
	jobs = map[string]*testimony{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			w.Fatalf("the witness says %q", lines.Text())
		}
		j := jobs[words[1]]
		if j == nil {
			j = &testimony{begun: map[int]bool{}, ended: map[int]bool{}}
			jobs[words[1]] = j
		}
		if words[0] == settled {
			j.settled = true
			continue
		}
		attempt, err := strconv.Atoi(words[len(words)-1])
		if err != nil || len(words) != 3 {
			w.Fatalf("the witness says %q", lines.Text())
		}
		switch words[0] {
		case begins:
			starts++
			if j.begun[attempt] {
				w.Errorf("%s was begun twice as attempt %d", words[1], attempt)
			} else if j.settled || attempt < j.last {
				late++
				w.Logf("%s was begun late: attempt %d, after attempt %d (settled: %v)", words[1], attempt, j.last, j.settled)
			}
			j.begun[attempt], j.last = true, max(j.last, attempt)
		case ends:
			if !j.begun[attempt] {
				w.Errorf("%s ended an attempt %d that was not begun", words[1], attempt)
			}
			j.ended[attempt] = true
		}
	}
	if err := lines.Err(); err != nil {
		w.Fatal(err)
	}
	return jobs, starts, late
}

// agrees holds the record of an ended job against the witness: the attempt that
// it ended with is the last that was begun, and ran to its end.
func (j *testimony) agrees(rec board.Record) error {
	attempt, _ := strconv.Atoi(rec.Get(layout.JobAttempt))
	switch {
	case j == nil:
		return fmt.Errorf("nobody saw it run")
	case !j.ended[attempt]:
		return fmt.Errorf("its attempt %d was not seen to end", attempt)
	case j.last > attempt:
		return fmt.Errorf("it ended with attempt %d, and attempt %d has begun", attempt, j.last)
	}
	return nil
}
