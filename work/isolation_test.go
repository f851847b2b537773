package work_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// levelled is a runtime whose scripts are held in, as far as levels goes.
type levelled struct {
	*goScript
	levels []script.Level
	level  atomic.Value // of the last task
}

func (l *levelled) Info() script.Info {
	return script.Info{Slots: 4, Level: script.Walled, Levels: l.levels, Refused: map[script.Level]string{script.Sealed: "no network namespaces"}}
}

func (l *levelled) Run(_ context.Context, t script.Task, _ script.Host) (script.Outcome, error) {
	l.level.Store(t.Level)
	return ok(nil), nil
}

// isolationRig is a board with a context, and nodes that hold in differently far.
type isolationRig struct {
	*rig
	engine *work.Engine
	want   atomic.Value // of the context
}

func newIsolationRig(t *testing.T, want domain.Isolation) *isolationRig {
	r := &isolationRig{}
	r.want.Store(want)
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	r.engine = work.New(b, work.Config{DataDir: t.TempDir(), Isolation: func(_ context.Context, in domain.TenantID) (domain.Isolation, error) {
		if in != tenant {
			return "", nil
		}
		return r.want.Load().(domain.Isolation), nil
	}})
	r.rig = &rig{T: t, board: b, engine: r.engine, ctx: t.Context()}
	return r
}

// node starts one that has some levels.
func (r *isolationRig) node(id domain.RunnerID, levels ...script.Level) *levelled {
	l := &levelled{goScript: newGoScript("go", 4), levels: levels}
	name := "n" + string('0'+rune(id))
	about := domain.Runner{ID: id, Node: name, SeenMs: time.Now().Add(time.Hour).UnixMilli(),
		Serves: []domain.Service{{ScriptType: "go", Served: true, Level: script.Walled, Levels: levels}}}
	record := board.Batch{}
	if err := r.board.Commit(r.ctx, *record.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
		r.Fatal(err)
	}
	started := startRunner(r.T, r.board, r.engine, work.RunnerConfig{ID: id, Owner: name + "/a", Runtimes: []script.Runtime{l}})
	r.Cleanup(started.stop)
	return l
}

func TestAContextHasItsScriptsHeldInFurther(t *testing.T) {
	for _, tt := range []struct{ of, want domain.Isolation }{{"", ""}, {script.Walled, script.Walled}, {script.Sealed, script.Sealed}} {
		t.Run("wants "+string(tt.of), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newIsolationRig(t, tt.of)
				l := r.node(1, script.Sealed, script.Walled, script.Open)
				r.submit(job(1, "ok"))
				r.want1(domain.JobFinished)
				if got := l.level.Load(); got != tt.want {
					t.Errorf("the task's level is %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func (r *isolationRig) want1(status domain.JobStatus) {
	r.Helper()
	r.rig.want(1, status, "")
}

// A node that cannot hold them in so far leaves them to one that can, untouched,
// and does what others want.
func TestANodeLeavesWhatItCannotHoldIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIsolationRig(t, script.Sealed)
		weak := r.node(1, script.Walled, script.Open)
		r.submit(job(1, "ok"))
		synctest.Wait()
		time.Sleep(time.Minute)
		x, err := r.engine.Explain(t.Context(), tenant, key(1))
		if err != nil || x.Standing != domain.StandingQueued || !strings.Contains(x.Text,
			"its context wants its scripts sealed, which no node that is alive and serves go can do") {
			t.Errorf("got %+v, %v", x, err)
		}
		if j := r.show(1); j.Status != domain.JobDispatched || j.Failures != 0 || j.Losses != 0 || j.StartedMs != 0 || j.Attempt > 3 {
			t.Errorf("got %+v, want it as it was, and passed over", j)
		}
		receipts, err := r.engine.Submit(t.Context(), other, []*domain.Job{job(1, "ok")})
		if err != nil || receipts[0].Err != nil {
			t.Fatal(err, receipts)
		}
		synctest.Wait()
		if j, err := r.engine.Show(t.Context(), other, key(1)); err != nil || j.Status != domain.JobFinished {
			t.Errorf("the job of another context: got %+v, %v", j, err)
		}
		strong := r.node(2, script.Sealed, script.Walled, script.Open)
		r.want1(domain.JobFinished)
		if got := strong.level.Load(); got != script.Sealed {
			t.Errorf("the other node's task had level %q, want sealed", got)
		}
		if got := weak.level.Load(); got != script.Level("") { // that of the other context
			t.Errorf("the first node's task had level %q", got)
		}
	})
}

// A job whose context is locked at every node that would take it says which key is
// missing.
func TestWhyNobodyTakesTheJobsOfALockedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		e := work.New(b, work.Config{})
		r := &rig{T: t, board: b, engine: e, ctx: t.Context()}
		about := domain.Runner{ID: 1, Node: "n1", SeenMs: time.Now().UnixMilli(), Serves: []domain.Service{{ScriptType: "go", Served: true}}}
		put := func(about domain.Runner) {
			record := board.Batch{}
			if err := b.Commit(t.Context(), *record.Set(about.Key(), layout.EncodeRunner(about)...)); err != nil {
				t.Fatal(err)
			}
		}
		explains := func(want string, yes bool) {
			t.Helper()
			x, err := e.Explain(t.Context(), tenant, key(1))
			if err != nil || x.Standing != domain.StandingQueued || strings.Contains(x.Text, want) != yes {
				t.Errorf("got %+v, %v, want %q in it: %v", x, err, want, yes)
			}
		}
		r.submit(job(1, "ok"))
		const text = `its context is encrypted with the key "disk", which no node has that is alive and serves go`
		explains("no node that is alive serves go", true)
		about.Locked = []domain.Locked{{Context: other, Key: "theirs"}}
		put(about)
		explains("key", false)
		about.Locked = append(about.Locked, domain.Locked{Context: tenant, Key: "disk", Why: "no such file"})
		put(about)
		explains(text, true)
		about.ID, about.Locked = 2, nil
		put(about)
		explains("key", false)
	})
}

func TestANodeTakesUpWhatItMayHoldInAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newIsolationRig(t, script.Sealed)
		r.node(1, script.Walled, script.Open)
		r.submit(job(1, "ok"))
		synctest.Wait()
		r.want.Store(domain.Isolation(""))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		r.want1(domain.JobFinished)
	})
}
