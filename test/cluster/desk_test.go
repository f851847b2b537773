package cluster

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// desk is where a test submits jobs to the nodes on a Redis, and asks what has
// become of them.
type desk struct {
	*killer
	server *redistest.Server
	board  board.Board
	engine *work.Engine
	next   int
}

// newDesk starts a Redis that loses nothing it has acknowledged.
func newDesk(t *testing.T) *desk {
	t.Helper()
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	d := &desk{killer: newKiller(t, s.URL()), server: s, next: 1}
	d.board = d.open()
	t.Cleanup(func() { d.board.Close() })
	d.engine = work.New(d.board, work.Config{})
	var contexts board.Batch
	if err := d.board.Commit(t.Context(), *contexts.Include(layout.Contexts, "1")); err != nil {
		t.Fatal(err)
	}
	return d
}

// spawn starts a node whose data folder stays the same over its lives.
func (d *desk) spawn(name string, env ...string) *process {
	d.Helper()
	return spawn(d.T, d.where, name, filepath.Join(d.data, name), env...)
}

// submit submits n jobs for the runtime nap.
func (d *desk) submit(n int, script string) {
	d.Helper()
	jobs := make([]*domain.Job, n)
	for i := range jobs {
		jobs[i] = &domain.Job{ID: domain.JobID(d.next), CallerID: 1, Script: script, ScriptType: "nap"}
		d.next++
	}
	receipts, err := d.engine.Submit(d.Context(), 1, jobs)
	if err != nil {
		d.Fatal(err)
	}
	for _, r := range receipts {
		if r.Err != nil {
			d.Fatal(r.Err)
		}
		d.acked[r.Key.String()] = true
	}
}

// awaitAnswer waits until the server serves the test again, with the connection
// on which it tells of changes too.
func (d *desk) awaitAnswer() {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	for again := time.NewTicker(20 * time.Millisecond); ; {
		_, err := d.board.Watch(ctx, 1, layout.Finished)
		if err == nil {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			d.Fatal(err)
		}
	}
}

// settle waits until nothing is unfinished, and holds what is on the board
// against what was submitted.
func (d *desk) settle() {
	d.Helper()
	d.awaitAnswer()
	d.waitSettled(d.board)
	d.verify()
}

func (d *desk) record(key string) board.Record {
	d.Helper()
	recs, err := d.board.Get(d.Context(), 1, key)
	if err != nil {
		d.Fatal(err)
	}
	return recs[0]
}

// wantLost holds against a job's record that it was lost once, and done by another.
// How many attempts that took is by chance: of those that come back together all but
// one are put back, for each is to be run alone.
func (d *desk) wantLost(key string) {
	d.Helper()
	rec := d.record(key)
	attempt, _ := strconv.Atoi(rec.Get(layout.JobAttempt))
	if rec.Get(layout.JobStatus) != "finished" || attempt < 2 || rec.Get(layout.JobLosses) != "1" {
		d.Errorf("%s: got %v, want it finished in its second attempt or later, with 1 loss", key, rec)
	}
}

// want holds a job's record against a sentence.
func (d *desk) want(key string, attempt, losses int) {
	d.Helper()
	rec := d.record(key)
	got := fmt.Sprintf("%s: attempt %s, losses %s", rec.Get(layout.JobStatus), rec.Get(layout.JobAttempt), zero(rec.Get(layout.JobLosses)))
	if want := fmt.Sprintf("finished: attempt %d, losses %d", attempt, losses); got != want {
		d.Errorf("%s: got %s, want %s", key, got, want)
	}
}

// zero is a number that is not written while it is 0.
func zero(text string) string {
	if text == "" {
		return strconv.Itoa(0)
	}
	return text
}

// without is what is in all but not in some.
func without(all, some []string) (rest []string) {
	gone := map[string]bool{}
	for _, key := range some {
		gone[key] = true
	}
	for _, key := range all {
		if !gone[key] {
			rest = append(rest, key)
		}
	}
	return rest
}

// outageLease is longer than any outage here: jobs in hand must outlive it.
const outageLease = 15 * time.Second
