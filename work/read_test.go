package work_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// thrifty is a board whose jobs are not to be read whole.
type thrifty struct {
	board.Board
	t *testing.T
}

func (b thrifty) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	for _, key := range keys {
		if strings.HasPrefix(key, layout.JobPrefix) {
			b.t.Errorf("%s was read whole", key)
		}
	}
	return b.Board.Get(ctx, space, keys...)
}

func (b thrifty) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	recs, err := b.Board.GetFields(ctx, space, fields, keys...)
	for i, rec := range recs {
		for _, f := range rec {
			if len(f.Value) > 1000 {
				b.t.Errorf("%s: %d bytes of %s were read", keys[i], len(f.Value), f.Name)
			}
		}
	}
	return recs, err
}

func TestPagesAreReadWithoutWhatMayBeLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		big := func(j *domain.Job) {
			j.Script += strings.Repeat(" ", 100_000)
			j.EnvVars = map[string]string{"A": strings.Repeat("a", 10_000)}
		}
		r := &rig{T: t, board: b, engine: work.New(b, work.Config{}), ctx: t.Context()}
		r.submit(job(1, "ok", big), job(2, "ok", big, after(1)), job(3, "ok", big))
		end := board.Batch{Space: 1}
		end.Set("job:1:3", board.Field{Name: layout.JobStatus, Value: "finished"}, layout.FinishedField(time.Now().UnixMilli()),
			layout.ResultField(map[string]string{"sum": strings.Repeat("9", 10_000)}))
		end.PushLeft(layout.Finished, "job:1:3").Settle("job:1:3").Drop("queue:go", "job:1:3")
		r.commit(&end)
		time.Sleep(time.Minute) // what stood as it does for long is doubted

		e := work.New(thrifty{b, t}, work.Config{})
		jobs, _, err := e.List(t.Context(), tenant, work.Filter{Type: "go"}, "")
		if err != nil || len(jobs) != 3 {
			t.Fatalf("list: got %d jobs, %v", len(jobs), err)
		}
		if j := jobs[1]; j.Status != domain.JobWaiting || len(j.Dependends) != 1 || j.Script != "" || j.EnvVars != nil {
			t.Errorf("list: got %+v", j)
		}
		a, err := e.Audit(t.Context(), tenant)
		if err != nil || a.Looked != 2 || len(a.Repaired)+len(a.Stuck) != 0 {
			t.Errorf("audit: got %+v, %v", a, err)
		}
		if n, err := e.Prune(t.Context(), tenant, time.Now()); err != nil || n != 1 {
			t.Errorf("prune: got %d, %v", n, err)
		}
		if recs, err := b.Get(t.Context(), 1, "job:1:3"); err != nil || recs[0] != nil {
			t.Errorf("a pruned job is still there: %v, %v", recs, err)
		}
	})
}

// Whoever may write jobs can put a list where a job's record would be.
func TestWhatIsNoJobIsPassedOver(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		r := by.newRig(t, work.Config{})
		r.submit(job(1, "ok"))
		r.want(1, domain.JobFinished, "")
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.PushLeft("job:1:2", "x").SetAlarm(layout.Alarm(layout.AlarmCascade, key(2)), time.Now()).PushLeft("queue:go", "job:1:2")
		if err := r.board.Commit(r.ctx, b); err != nil {
			t.Fatal(err)
		}
		if _, err := r.engine.Show(r.ctx, tenant, key(2)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("show: got %v, want that there is no such job", err)
		}
		if _, err := r.engine.Explain(r.ctx, tenant, key(2)); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("explain: got %v, want that there is no such job", err)
		}
		if jobs, _, err := r.engine.List(r.ctx, tenant, work.Filter{}, ""); err != nil || len(jobs) != 1 {
			t.Errorf("list: got %v, %v, want one job", jobs, err)
		}
		r.submit(job(3, "ok"))
		r.want(3, domain.JobFinished, "")
	})
}

// TestAKeyWithoutAJobLeavesNoLog where the node that has claimed it drains: it may stand in a
// queue a second time, and the job was deleted meanwhile.
func TestAKeyWithoutAJobLeavesNoLog(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		b := memboard.Open()
		defer b.Close()
		r := by.startRig(t, b, work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a", Grace: time.Millisecond}, newGoScript("go", 8))
		r.push(9)
		time.Sleep(time.Second) // the node waits for its record
		r.stop()
		next := by.startRig(t, r.board, work.Config{}, work.RunnerConfig{ID: 2, Owner: "n2/a"}, newGoScript("go", 8))
		defer next.stop()
		time.Sleep(time.Minute)
		keys, _, err := r.board.Keys(r.ctx, 1, "", "", 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range keys {
			if strings.HasSuffix(k, key(9).String()) {
				t.Errorf("there is still %s", k)
			}
		}
	})
}
