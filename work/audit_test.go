package work_test

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

func TestAuditMissesNothingInABusyQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &pushing{Board: memboard.Open()}
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		for i := range 3000 {
			r.submit(job(domain.JobID(i+1), "x"))
		}
		time.Sleep(time.Minute)
		a, err := r.engine.Audit(t.Context(), tenant)
		if err != nil || a.Looked != 3000 || len(a.Repaired)+len(a.Stuck) > 0 {
			t.Errorf("looked at %d, repaired %d, stuck %d, %v", a.Looked, len(a.Repaired), len(a.Stuck), err)
		}
		for _, id := range []domain.JobID{1, 700, 1500, 2999} {
			if x, err := r.engine.Explain(t.Context(), tenant, key(id)); err != nil || x.Standing != domain.StandingQueued {
				t.Errorf("job %d: %+v, %v", id, x, err)
			}
		}
	})
}

func TestAuditRepairsWhatHasARule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "x"), job(2, "x"), job(3, "x"), job(4, "x", after(3)), job(5, "x"), job(6, "x"))
		next := time.Now().Add(time.Hour)
		r.commit(new(board.Batch).Drop("queue:go", "job:1:1", "job:1:2", "job:1:5").
			Set("job:1:1", f("status", "started"), f("next_retry_ms", strconv.FormatInt(next.UnixMilli(), 10))).
			Set("job:1:2", f("lease_owner", "ghost/1")).
			Set("job:1:5", f("status", "finished")).
			Set("job:1:4", f("waits", "2")).
			Live("job:1:77", time.Now()))
		time.Sleep(time.Minute)
		// Who only looks changes nothing: what is found by a repair is left to the audit.
		if a, err := r.engine.LookWithin(t.Context(), tenant, time.Hour); err != nil || len(a.Repaired) > 0 || len(a.Stuck) != 1 || a.Stuck[0].Key != "job:1:4" {
			t.Fatalf("the look found %+v, %v", a, err)
		}
		a, err := r.engine.Audit(t.Context(), tenant)
		if err != nil || len(a.Repaired) != 2 || len(a.Stuck) != 2 || a.Stuck[0].Key != "job:1:4" || a.Stuck[1].Key != "job:1:77" {
			t.Fatalf("got %+v, %v", a, err)
		}
		if at, set, err := b.AlarmOf(t.Context(), 1, "retry:job:1:1"); err != nil || !set || at.UnixMilli() != next.UnixMilli() {
			t.Errorf("retry alarm: %v, %v, %v", at, set, err)
		}
		if x, err := r.engine.Explain(t.Context(), tenant, key(2)); err != nil || x.Standing != domain.StandingQueued {
			t.Errorf("job 2: %+v, %v", x, err)
		}
		if x, err := r.engine.Explain(t.Context(), tenant, key(5)); err != nil || x.Standing != domain.StandingForeign {
			t.Errorf("job 5: %+v, %v", x, err)
		}
		live, err := b.Live(t.Context(), 1, board.LiveItem{}, 10)
		if err != nil || len(live) != 6 {
			t.Errorf("live: %v, %v, want the ghost gone", live, err)
		}
	})
}

// A list where one job's dependency would be, and a record where a queue would be, are
// those jobs' trouble: the audit names them, and goes on.
func TestAStrangeKeyKeepsNoOtherJobFromItsAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "x"), job(2, "x", after(1)), job(3, "x"), job(4, "x", func(j *domain.Job) { j.Priority = 7 }), job(5, "x"))
		r.commit(new(board.Batch).Delete("job:1:1").PushLeft("job:1:1", "stranger").Drop("queue:go", "job:1:3").
			Delete("queue:go:p7").Set("queue:go:p7", f("a", "b")))
		if err := b.Commit(t.Context(), *new(board.Batch).PushLeft(layout.Runner(9), "stranger")); err != nil { // nobody who takes jobs
			t.Fatal(err)
		}
		for id, want := range map[domain.JobID]domain.Standing{2: domain.StandingStuck, 5: domain.StandingQueued} {
			if x, err := r.engine.Explain(t.Context(), tenant, key(id)); err != nil || x.Standing != want {
				t.Errorf("explain %d: got %+v, %v, want %s", id, x, err, want)
			}
		}
		time.Sleep(time.Minute)
		a, err := r.engine.Audit(t.Context(), tenant)
		if err != nil || len(a.Repaired) != 1 || a.Repaired[0].Key != "job:1:3" {
			t.Fatalf("got %+v, %v", a, err)
		}
		named := map[string]bool{}
		for _, f := range a.Stuck {
			named[f.Key] = true
		}
		if !named["job:1:2"] || !named["job:1:4"] {
			t.Errorf("got %+v, want those that are stuck named", a.Stuck)
		}
	})
}

// What is no job is another's to tell of: a flow whose key held a list was told of twice.
func TestAnAuditTellsOfJobsAlone(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		defer r.stop()
		b := board.Batch{Space: 1}
		b.PushLeft("flow:9", "x").Live("flow:9", time.Now()).PushLeft("job:1:9", "x").Live("job:1:9", time.Now())
		if err := r.board.Commit(r.ctx, b); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if a, err := r.engine.Audit(r.ctx, tenant); err != nil || len(a.Stuck) != 1 || a.Stuck[0].Key != "job:1:9" {
			t.Errorf("got %+v, %v, want the job", a, err)
		}
	})
}
