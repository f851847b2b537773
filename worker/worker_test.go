package worker_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
	"github.com/ramet-run/ramet/work"
	"github.com/ramet-run/ramet/worker"
	"github.com/ramet-run/ramet/worker/workertest"
)

const tenant = domain.TenantID(1)

// near is a node without a door between it and its worker. It can be away.
type near struct {
	engine *work.Engine

	mu   sync.Mutex
	away bool
	lost int // how many ends it takes and does not answer
	// other is a second node on the same board, which has every second question of what a job
	// remembers. nil: there is none.
	other *work.Engine
	steps int
	late  time.Duration // by how much the next jobs that it gives come late
	// lines is asked before lines are taken. nil: they are.
	lines func() error
	left  []string     // the names of those that have said that they stop
	heard func() error // is asked for what becomes of the answer to lines that are written; nil: it is heard
}

func (n *near) reach() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.away {
		return domain.Unavailablef("the node is away")
	}
	return nil
}

func (n *near) set(change func(*near)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(n)
}

func as(w domain.Worker) domain.Worker { w.Actor = 7; return w }

func (n *near) ClaimWork(ctx context.Context, w domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error) {
	if err := n.reach(); err != nil {
		return nil, err
	}
	list, err := n.engine.ClaimFor(ctx, as(w), ask)
	if len(list) > 0 {
		var late time.Duration
		n.set(func(n *near) { late, n.late = n.late, 0 })
		time.Sleep(late) // virtual
	}
	return list, err
}

func (n *near) ExtendWork(ctx context.Context, w domain.Worker, lease, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error) {
	if err := n.reach(); err != nil {
		return nil, err
	}
	return n.engine.ExtendFor(ctx, as(w), lease, wait, held)
}

func (n *near) LeaveWork(ctx context.Context, w domain.Worker) error {
	if err := n.reach(); err != nil {
		return err
	}
	n.set(func(n *near) { n.left = append(n.left, w.Name) })
	return n.engine.Leave(ctx, as(w))
}

func (n *near) FinishWork(ctx context.Context, w domain.Worker, ends []domain.AttemptEnd) ([]domain.AttemptEnded, []error, error) {
	if err := n.reach(); err != nil {
		return nil, nil, err
	}
	if err := taken(ends); err != nil {
		return nil, nil, err
	}
	done, errs, err := n.engine.FinishFor(ctx, as(w), ends)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.lost > 0 {
		n.lost--
		return nil, nil, domain.Unavailablef("the answer was lost")
	}
	return done, errs, err
}

func (n *near) LogWork(ctx context.Context, w domain.Worker, held domain.HeldAttempt, lines []domain.LogLine) error {
	if err := n.reach(); err != nil {
		return err
	}
	if err := taken(lines); err != nil {
		return err
	}
	var ask func() error
	if n.set(func(n *near) { ask = n.lines }); ask != nil {
		if err := ask(); err != nil {
			return err
		}
	}
	err := n.engine.LogFor(ctx, as(w), held, lines)
	if n.set(func(n *near) { ask = n.heard }); err == nil && ask != nil {
		err = ask()
	}
	return err
}

// taken refuses a body that is too long, as a door does.
func taken(body any) error {
	text, err := json.Marshal(body)
	if err == nil && len(text) > 8<<20 {
		err = domain.Limitf("the body has more than %d bytes", 8<<20)
	}
	return err
}

func (n *near) StepWork(ctx context.Context, w domain.Worker, ask domain.WorkerStep) (domain.WorkerStepAnswer, error) {
	if err := n.reach(); err != nil {
		return domain.WorkerStepAnswer{}, err
	}
	var engine *work.Engine
	n.set(func(n *near) {
		n.steps++
		if engine = n.engine; n.other != nil && n.steps%2 == 0 {
			engine = n.other
		}
	})
	return engine.StepFor(ctx, as(w), ask)
}

// rig is a node and a worker in a bubble.
type rig struct {
	*testing.T
	*near
	stop func() error // has the worker stop, and says what Run says
}

type args struct {
	N int `json:"n"`
}

// start starts a worker with functions.
func start(t *testing.T, cfg worker.Config, register func(*worker.Worker)) *rig {
	b := memboard.Open()
	engine := work.Config{LogBytes: 4 << 20} // an attempt has half of it: what a worker leaves out is its own choice here
	e := work.New(b, engine)
	n := &near{engine: e, other: work.New(b, engine)}
	ctx, end := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	log := slog.New(slog.DiscardHandler)
	wg.Go(func() {
		_ = clockwork.Run(ctx, b, clockwork.Config{Owner: "n"}, []clockwork.Maintenance{clockwork.Alarms(b, log, e.HandleAlarm, nil),
			clockwork.Leases(b, log, e.RecoverLease)})
	})
	cfg.Context, cfg.Logger = tenant, log
	w := worker.New(n, cfg)
	register(w)
	stopping, stop := context.WithCancel(t.Context())
	var err error
	ended := make(chan struct{})
	go func() { defer close(ended); err = w.Run(stopping) }()
	r := &rig{T: t, near: n, stop: func() error { stop(); <-ended; return err }}
	t.Cleanup(func() { _ = r.stop(); end(); wg.Wait(); b.Close() })
	return r
}

func (r *rig) submit(id domain.JobID, script string, change ...func(*domain.Job)) {
	r.Helper()
	j := &domain.Job{ID: id, CallerID: 1, Script: script, ScriptType: "f"}
	for _, c := range change {
		c(j)
	}
	receipts, err := r.engine.Submit(r.Context(), tenant, []*domain.Job{j})
	if err != nil || receipts[0].Err != nil {
		r.Fatal(err, receipts)
	}
}

func (r *rig) wait(id domain.JobID) *domain.Job {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 24*time.Hour) // virtual
	defer cancel()
	j, err := r.engine.Wait(ctx, tenant, domain.JobKey{Caller: 1, ID: id})
	if err != nil {
		r.Fatal(err)
	}
	return j
}

// A slot that a claim took and did not need, or that a job gives back, wakes who waits for one.
func TestBurstsThatComeOneAfterTheOtherAreServed(t *testing.T) {
	for _, slots := range []int{1, 2, 4, 64} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := start(t, worker.Config{Slots: slots}, func(w *worker.Worker) {
					worker.Handle(w, "f", func(context.Context, *worker.Job, any) (any, error) { return nil, nil })
				})
				var id domain.JobID
				for _, size := range []int{1, 1, 1, 1, 1, 3 * slots, 3*slots + 1, 1, slots, 1} {
					for range size {
						id++
						r.submit(id, "{}")
					}
					for last := id - domain.JobID(size) + 1; last <= id; last++ {
						if j := r.wait(last); j.Status != domain.JobFinished {
							t.Fatalf("job %d: got %s", last, j.Status)
						}
					}
				}
			})
		})
	}
}

func TestAWorkerSaysThatItStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, worker.Config{Name: "a"}, func(w *worker.Worker) {
			w.Handler("f", func(context.Context, *worker.Job) (map[string]string, error) { return nil, nil })
		})
		r.submit(1, "x")
		r.wait(1)
		if err := r.stop(); err != nil || !slices.Equal(r.left, []string{"a"}) {
			t.Errorf("got %v, %v", r.left, err)
		}
	})
}

func TestAFunctionIsAJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type receipt struct {
			Twice int    `json:"twice"`
			Text  string `json:"text"`
		}
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			worker.Handle(w, "f", func(ctx context.Context, job *worker.Job, a args) (receipt, error) {
				job.Logf("got %d", a.N)
				return receipt{2 * a.N, "done"}, nil
			})
		})
		r.submit(1, `{"n":21}`)
		if j := r.wait(1); j.Status != domain.JobFinished || !maps.Equal(j.Result, map[string]string{"twice": "42", "text": "done"}) {
			t.Errorf("got %+v", j)
		}
		if logs, err := r.engine.Logs(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 1}, 0, 9); err != nil || len(logs) != 1 || logs[0].Line != "got 21" {
			t.Errorf("got %+v, %v", logs, err)
		}
		for i := range 500 {
			r.submit(domain.JobID(i+2), `{"n":1}`)
		}
		for i := range 500 {
			r.wait(domain.JobID(i + 2))
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
	})
}

// A worker that was held up while a node gave it a job, until another might have had it,
// does not begin it: here it gets the job again itself.
func TestAFunctionDoesNotBeginUnderALeaseThatRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var attempts []int64
		r := start(t, worker.Config{Lease: 30 * time.Second}, func(w *worker.Worker) {
			w.Handler("f", func(_ context.Context, job *worker.Job) (map[string]string, error) {
				attempts = append(attempts, job.Attempt)
				return nil, nil
			})
		})
		r.set(func(n *near) { n.late = 2 * time.Minute })
		r.submit(1, "{}")
		if j := r.wait(1); j.Status != domain.JobFinished || j.Losses != 1 {
			t.Errorf("got %+v", j)
		}
		if err := r.stop(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(attempts, []int64{2}) {
			t.Errorf("the function ran in attempts %v, want 2 alone", attempts)
		}
	})
}

func TestHowAFunctionEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			w.Handler("f", func(ctx context.Context, job *worker.Job) (map[string]string, error) {
				attempt := fmt.Sprint(job.Attempt)
				switch job.Job.Script {
				case "fail":
					return nil, errors.New("no luck")
				case "final":
					return nil, worker.Fail(errors.New("never"))
				case "later":
					if job.Attempt == 1 {
						return nil, worker.RetryAfter(time.Hour, errors.New("not yet"))
					}
				case "panic":
					panic("oops")
				case "too much":
					return map[string]string{"x": strings.Repeat("x", 600<<10)}, nil
				case "hang":
					<-ctx.Done()
					return nil, context.Cause(ctx)
				}
				return map[string]string{"attempt": attempt}, nil
			})
		})
		for i, tt := range []struct {
			script string
			status domain.JobStatus
			reason domain.Reason
			text   string
			over   time.Duration
		}{
			{"fail", domain.JobError, domain.ReasonScriptFailed, "no luck", 0},
			{"final", domain.JobError, domain.ReasonScriptFailed, "never", 0},
			{"later", domain.JobFinished, "", "", time.Hour},
			{"panic", domain.JobError, domain.ReasonScriptFailed, "the function panicked: oops", 0},
			{"too much", domain.JobError, domain.ReasonScriptFailed, "its end was not taken", 0},
			{"hang", domain.JobError, domain.ReasonTimeout, "stopped after", 0},
		} {
			id := domain.JobID(i + 1)
			begun := time.Now()
			r.submit(id, tt.script, func(j *domain.Job) { j.Retries, j.Timeout = 1, 100 })
			j := r.wait(id)
			if j.Status != tt.status || j.Reason != tt.reason || !strings.Contains(j.Error, tt.text) || time.Since(begun) < tt.over {
				t.Errorf("%s: got %s %s %q", tt.script, j.Status, j.Reason, j.Error)
			}
			if tries := map[bool]int64{true: 1, false: 2}[tt.script == "final" || tt.script == "too much"]; j.Attempt != tries {
				t.Errorf("%s: %d attempts", tt.script, j.Attempt)
			}
		}
	})
}

// What hangs is stopped when it is cancelled, goes on when its node is away for a
// while, and is dropped when that takes longer than the lease.
func TestAWorkerAndItsLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		causes := make(chan error, 10)
		r := start(t, worker.Config{Slots: 1}, func(w *worker.Worker) {
			w.Handler("f", func(ctx context.Context, job *worker.Job) (map[string]string, error) {
				select {
				case <-ctx.Done():
					causes <- context.Cause(ctx)
					return nil, ctx.Err()
				case <-time.After(10 * time.Minute):
					return map[string]string{"attempt": fmt.Sprint(job.Attempt)}, nil
				}
			})
		})
		r.submit(1, "x")
		time.Sleep(time.Minute)
		if _, err := r.engine.Cancel(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 1}, 1); err != nil {
			t.Fatal(err)
		}
		if j := r.wait(1); j.Reason != domain.ReasonCancelled || <-causes != worker.ErrCancelled {
			t.Errorf("got %+v", j)
		}

		r.submit(2, "x")
		time.Sleep(time.Minute)
		r.set(func(n *near) { n.away = true })
		time.Sleep(7 * time.Second)
		r.set(func(n *near) { n.away = false })
		r.set(func(n *near) { n.lost = 2 }) // and its end is said three times
		if j := r.wait(2); j.Status != domain.JobFinished || j.Result["attempt"] != "1" {
			t.Errorf("got %+v", j)
		}

		// It goes back at once where the node comes back in time, else when its lease
		// has run out.
		for i, away := range []time.Duration{0, time.Minute} {
			id := domain.JobID(3 + i)
			r.submit(id, "x")
			time.Sleep(time.Minute)
			r.set(func(n *near) { n.away = true })
			if cause := <-causes; cause != worker.ErrLost {
				t.Errorf("got %v", cause)
			}
			time.Sleep(away)
			r.set(func(n *near) { n.away = false })
			if j := r.wait(id); j.Status != domain.JobFinished || j.Result["attempt"] != "2" || j.Losses != 1 {
				t.Errorf("away for %v more: got %+v", away, j)
			}
		}
	})
}

// A worker that is told to stop lets functions end, and gives back what does not.
func TestAWorkerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := start(t, worker.Config{Grace: 20 * time.Second}, func(w *worker.Worker) {
			w.Handler("f", func(ctx context.Context, job *worker.Job) (map[string]string, error) {
				d, _ := time.ParseDuration(job.Job.Script)
				select {
				case <-ctx.Done():
					return nil, context.Cause(ctx)
				case <-time.After(d):
					return nil, nil
				}
			})
		})
		r.submit(1, "15s")
		r.submit(2, "5m")
		synctest.Wait()
		begun := time.Now()
		if err := r.stop(); err != nil || time.Since(begun) != 20*time.Second {
			t.Errorf("got %v after %v", err, time.Since(begun))
		}
		if j := r.wait(1); j.Status != domain.JobFinished {
			t.Errorf("got %+v", j)
		}
		j, err := r.engine.Show(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 2})
		if err != nil || j.LeaseOwner != "" || j.Losses+j.Failures != 0 || j.QueuedMs == 0 {
			t.Errorf("got %+v, %v", j, err)
		}
	})
}

// slow is a node that gives one job to the first request, and nothing to others until they
// are cancelled.
type slow struct {
	worker.Node

	mu     sync.Mutex
	asked  []int // how many jobs, by request
	open   int   // requests that are not answered
	refuse error
	trace  string // of the job that it gives
}

func (n *slow) ClaimWork(ctx context.Context, _ domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error) {
	n.mu.Lock()
	n.asked = append(n.asked, ask.Max)
	first, err := len(n.asked) == 1, n.refuse
	n.open++
	n.mu.Unlock()
	defer func() { n.mu.Lock(); n.open--; n.mu.Unlock() }()
	if err != nil {
		return nil, err
	}
	if first {
		j := domain.Job{ID: 1, CallerID: 1, Script: "x", ScriptType: "f"}
		return []domain.Assignment{{Job: j, Attempt: 1, LeaseMs: ask.LeaseMs, TraceParent: n.trace}}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func (n *slow) ExtendWork(ctx context.Context, _ domain.Worker, _, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error) {
	select {
	case <-time.After(wait):
	case <-ctx.Done():
	}
	return slices.Repeat([]domain.LeaseState{domain.LeaseRenewed}, len(held)), nil
}

func (n *slow) LeaveWork(context.Context, domain.Worker) error { return nil }

func (n *slow) FinishWork(_ context.Context, _ domain.Worker, ends []domain.AttemptEnd) ([]domain.AttemptEnded, []error, error) {
	return make([]domain.AttemptEnded, len(ends)), make([]error, len(ends)), nil
}

func (n *slow) run(t *testing.T, most time.Duration) error {
	w := worker.New(n, worker.Config{Context: tenant, Slots: 3, Logger: slog.New(slog.DiscardHandler)})
	w.Handler("f", func(context.Context, *worker.Job) (map[string]string, error) {
		time.Sleep(time.Second)
		return nil, nil
	})
	ctx, stop := context.WithTimeout(t.Context(), most)
	defer stop()
	return w.Run(ctx)
}

// Requests that a function makes belong to its job's trace.
func TestAFunctionIsInTheTraceOfItsJob(t *testing.T) {
	const header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	synctest.Test(t, func(t *testing.T) {
		n := &slow{trace: header}
		w := worker.New(n, worker.Config{Context: tenant, Slots: 1, Logger: slog.New(slog.DiscardHandler)})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		w.Handler("f", func(ctx context.Context, job *worker.Job) (map[string]string, error) {
			if got := tracing.Of(ctx); got != header || job.TraceParent != header {
				t.Errorf("got %q and %q, want %q", got, job.TraceParent, header)
			}
			stop()
			return nil, nil
		})
		if err := w.Run(ctx); err != nil {
			t.Error(err)
		}
	})
}

// A slot that becomes free while a request waits for its answer is asked for at once.
func TestAFreeSlotDoesNotWaitForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &slow{}
		go func() {
			time.Sleep(10 * time.Second)
			n.mu.Lock()
			defer n.mu.Unlock()
			if want := []int{3, 2, 1}; !slices.Equal(n.asked, want) || n.open != 2 {
				t.Errorf("asked for %v, %d requests open, want %v, the last two open", n.asked, n.open, want)
			}
		}()
		if err := n.run(t, 20*time.Second); err != nil {
			t.Error(err)
		}
	})
}

// busy is what a node says that has no time.
type busy struct{ after time.Duration }

func (*busy) Error() string              { return "busy" }
func (*busy) Unwrap() error              { return domain.ErrExhausted }
func (b *busy) ComeAgain() time.Duration { return b.after }

// However many loops ask, a node that is away is asked by one, and ever less often; one that
// refuses what it is asked is asked no more.
func TestANodeThatIsAwayIsAskedInTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := &slow{refuse: domain.Unavailablef("the node is away")}
		if err := n.run(t, time.Minute); err != nil || len(n.asked) > 20 || len(n.asked) < 8 {
			t.Errorf("asked %d times in a minute, %v", len(n.asked), err)
		}
		// Where it says when it wants to be asked again, it is asked then.
		n = &slow{refuse: &busy{after: 25 * time.Second}}
		if err := n.run(t, time.Minute); err != nil || len(n.asked) != 3 {
			t.Errorf("asked %d times in a minute, want 3: %v", len(n.asked), err)
		}
		n = &slow{refuse: domain.Invalidf("no")}
		if err := n.run(t, time.Minute); !errors.Is(err, domain.ErrInvalid) || len(n.asked) > 2 {
			t.Errorf("asked %d times, %v", len(n.asked), err)
		}
	})
}

func TestMiddleware(t *testing.T) {
	var order []string
	mark := func(name string) worker.Middleware {
		return func(next worker.Handler) worker.Handler {
			return func(ctx context.Context, job *worker.Job) (map[string]string, error) {
				order = append(order, name)
				return next(ctx, job)
			}
		}
	}
	synctest.Test(t, func(t *testing.T) {
		r := start(t, worker.Config{}, func(w *worker.Worker) {
			w.Use(mark("outer"), mark("inner"))
			w.Handler("f", func(context.Context, *worker.Job) (map[string]string, error) { return nil, nil })
		})
		r.submit(1, "{}")
		r.wait(1)
	})
	if got := strings.Join(order, " "); got != "outer inner" {
		t.Errorf("got %q", got)
	}
}

func TestWorkertest(t *testing.T) {
	h := worker.Typed(func(ctx context.Context, job *worker.Job, a args) ([]int, error) {
		job.Errorf("%d", a.N)
		return []int{a.N}, nil
	})
	ran, err := workertest.Run(t.Context(), h, args{3})
	if err != nil || ran.Result["value"] != "[3]" || len(ran.Log) != 1 || ran.Log[0].Stream != "stderr" {
		t.Errorf("got %+v, %v", ran, err)
	}
	if _, err := workertest.Run(t.Context(), h, "no object"); err == nil {
		t.Error("want an error")
	}
}

// submitter is a node that takes jobs of types that it knows.
type submitter struct {
	known map[domain.ScriptType]int
	jobs  []domain.Job
}

func (s *submitter) RegisterWork(_ context.Context, _ domain.TenantID, types ...domain.ScriptType) error {
	s.known[types[0]]++
	return nil
}

func (s *submitter) SubmitJob(_ context.Context, _ domain.TenantID, j domain.Job) (domain.JobKey, error) {
	if s.known[j.ScriptType] == 0 {
		return domain.JobKey{}, domain.Invalidf("script type %q is not known", j.ScriptType)
	}
	s.jobs = append(s.jobs, j)
	return domain.JobKey{Caller: 1, ID: domain.JobID(len(s.jobs))}, nil
}

func TestSubmit(t *testing.T) {
	s := &submitter{known: map[domain.ScriptType]int{}}
	for range 2 {
		if _, err := worker.Submit(t.Context(), s, tenant, "f", args{3}, func(j *domain.Job) { j.Retries = 2 }); err != nil {
			t.Fatal(err)
		}
	}
	if s.known["f"] != 1 || len(s.jobs) != 2 || s.jobs[1].Script != `{"n":3}` || s.jobs[1].Retries != 2 {
		t.Errorf("got %+v", s)
	}
	if _, err := worker.Submit(t.Context(), s, tenant, "f", make(chan int)); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
