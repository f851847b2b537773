package work_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// The jobs of a flow stand among thousands of others of its caller, made before, meanwhile
// and afterwards.
func TestTheJobsOfAFlowAreFoundAmongOthers(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	const numbers = 6000
	if _, err := b.Next(t.Context(), 7, layout.Seq("job", 1), numbers); err != nil {
		t.Fatal(err)
	}
	flow := &domain.Flow{ID: 3, CallerID: 1, CreatedAt: 2000, Status: domain.FlowStarted}
	want := map[domain.JobID]bool{}
	batch := board.Batch{Space: 7}
	for id := domain.JobID(1); id <= numbers; id++ {
		if len(batch.Ops) >= 500 || id == numbers {
			if err := b.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = board.Batch{Space: 7}
		}
		if id%5 == 0 && id < 4000 { // was removed
			continue
		}
		j := domain.Job{ID: id, CallerID: 1, ContextID: 7, CreatedAt: domain.UnixTime(id), Status: domain.JobFinished}
		if id >= 2000 && id <= 3500 && id%7 == 0 {
			j.FlowID, want[id] = 3, true
		}
		batch.Set(j.Key().String(), layout.EncodeJob(&j)...)
	}
	check := func(what string, above domain.JobID, wantTop domain.JobID) {
		t.Helper()
		jobs, top, err := e.MadeFor(t.Context(), 7, flow, above)
		if err != nil || top != wantTop {
			t.Errorf("%s: looked up to %d, %v, want %d", what, top, err, wantTop)
		}
		n := 0
		for id := range want {
			if id > above {
				n++
			}
		}
		for _, j := range jobs {
			if !want[j.ID] || j.ID <= above {
				t.Errorf("%s: job %d is found", what, j.ID)
			}
		}
		if len(jobs) != n {
			t.Errorf("%s: got %d jobs, want %d", what, len(jobs), n)
		}
	}
	check("while it runs", 0, numbers)
	check("what came since", 3000, numbers)
	check("nothing came", numbers, numbers)
	flow.Status, flow.FinishedMs = domain.FlowFinished, 3600_000
	check("it has ended", 0, 3601)
}

func TestHeadsOfJobs(t *testing.T) {
	r := newRig(t, work.Config{})
	r.submit(job(1, "x"))
	list, err := r.engine.Heads(t.Context(), tenant, []domain.JobKey{key(2), key(1)})
	if err != nil || len(list) != 2 || list[0] != nil || list[1] == nil || list[1].ID != 1 || list[1].Script != "" {
		t.Errorf("got %v, %v, want the second, without its script", list, err)
	}
}

// Whoever shows a log is told when a job of that caller says something.
func TestLogsTellThatTheyChange(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	e := work.New(b, work.Config{})
	said, err := e.LogsChange(t.Context(), 7, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, of := range []domain.JobKey{{Caller: 11, ID: 1}, {Caller: 1, ID: 11}} {
		batch := board.Batch{Space: 7}
		batch.Append(layout.Logs(of), 10, fmt.Sprint("a line of ", of))
		if err := b.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case got := <-said:
		if got.Key != layout.Logs(domain.JobKey{Caller: 1, ID: 11}) {
			t.Errorf("got %q", got.Key)
		}
	case <-time.After(time.Minute):
		t.Error("nothing is told")
	}
	if n, err := e.LogLen(t.Context(), 7, domain.JobKey{Caller: 1, ID: 11}); n != 1 || err != nil {
		t.Errorf("got %d lines, %v, want 1", n, err)
	}
}
