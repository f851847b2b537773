package work

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/script"
)

// This file lets workers take jobs: programs that run them by functions of their own
// and reach the board through a door. A worker's lease is its own, not the node's that
// it asked: that may die, and the worker goes on through another. So nothing of what is
// here remembers a worker; each request says whose lease it is about.

// labelledWait bounds a claim's wait where the worker has labels: queues of jobs that
// ask for labels may come meanwhile.
const labelledWait = 5 * time.Second

// ClaimFor gives jobs to a worker, at most ask.Max, and waits for the first as long as it
// asks. What cannot be given (cancelled, laid aside, unreadable) is dealt with as a
// node's own runner does.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrExhausted], [domain.ErrUnavailable];
// [domain.ErrConflict] when another worker that is listed has the number that the name comes to.
func (e *Engine) ClaimFor(ctx context.Context, w domain.Worker, ask domain.WorkerAsk) ([]domain.Assignment, error) {
	if err := errors.Join(checkWorker(w), checkAsk(&ask)); err != nil {
		return nil, err
	}
	if err := e.register(ctx, w, &ask); err != nil {
		return nil, err
	}
	deadline := time.Now().Add(time.Duration(ask.WaitMs) * time.Millisecond)
	for {
		list, err := e.claimOnce(ctx, w, &ask, deadline)
		if errors.Is(err, errUnlisted) {
			if err = e.register(ctx, w, &ask); err == nil {
				continue // it has its number again, and what is for that alone
			}
		}
		if len(list) > 0 || err != nil || ctx.Err() != nil || !time.Now().Before(deadline) {
			return list, err
		}
	}
}

// claimOnce is one claim on the board.
func (e *Engine) claimOnce(ctx context.Context, w domain.Worker, ask *domain.WorkerAsk, deadline time.Time) ([]domain.Assignment, error) {
	wait := max(time.Until(deadline), 0)
	changed := e.bans.Changed() // first: no change after this is missed
	types := slices.DeleteFunc(slices.Clone(ask.Types), func(t domain.ScriptType) bool {
		_, banned := e.bans.Claims(t)
		return banned
	})
	if len(types) == 0 {
		awaitChange(ctx, changed, wait)
		return nil, nil
	}
	if len(types) < len(ask.Types) || len(ask.Labels) > 0 {
		wait = min(wait, labelledWait)
	}
	queues, err := e.workerQueues(ctx, w, ask, types)
	if err != nil {
		return nil, err
	}
	lease := time.Duration(ask.LeaseMs) * time.Millisecond
	r := e.runnerOf(w, lease)
	for _, t := range types {
		r.claimers = append(r.claimers, workerClaimer(r, t))
	}
	b := r.claimers[0].ask
	b.Spaces, b.Queues, b.Max, b.Wait, b.Firm = []board.Space{layout.SpaceOf(w.Context)}, queues, ask.Max, wait, true
	claimed, err := e.board.Claim(ctx, b)
	if err != nil {
		if ctx.Err() != nil {
			err = nil // what a cancelled claim does not return it has not taken
		}
		return nil, err // else others may have what came of it
	}
	return e.assign(ctx, w, r, claimed)
}

// awaitChange waits for a change, at most for a time.
func awaitChange(ctx context.Context, changed <-chan struct{}, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-changed:
	case <-t.C:
	case <-ctx.Done():
	}
}

// workerQueues are those that a worker takes from: first its own, then the others in turn, so
// that none starves for the backlog of another.
func (e *Engine) workerQueues(ctx context.Context, w domain.Worker, ask *domain.WorkerAsk, types []domain.ScriptType) (queues []board.Queue, err error) {
	var labelled []string
	if len(ask.Labels) > 0 {
		if labelled, err = e.board.Members(ctx, layout.SpaceOf(w.Context), layout.Affinities, "", layout.MaxAffinitiesOf); err != nil {
			return nil, err
		}
	}
	id, has := w.RunnerID(), domain.Service{}
	var shared []board.Queue
	for _, t := range types {
		own := layout.Queues(t, id)
		queues, shared = append(queues, own[0]), append(shared, own[1:]...)
		for _, list := range labelled {
			if q, ok := queue.ParseLabelled(list); ok && q.Type == t && has.Has(ask.Labels, q.Labels) {
				shared = append(shared, board.Queue{Lists: queue.ByPriority(queue.Group(list))})
			}
		}
	}
	first := e.workers.turn(w) % len(shared)
	return append(append(queues, shared[first:]...), shared[:first]...), nil
}

// runnerOf stands for a worker where the engine knows runners: it has its name on the
// leases, and neither loops nor slots.
func (e *Engine) runnerOf(w domain.Worker, lease time.Duration) *Runner {
	return &Runner{e: e, log: e.log, cfg: RunnerConfig{ID: w.RunnerID(), Owner: w.Owner(), Lease: lease, Aging: time.Minute}}
}

// workerClaimer has the worker's jobs of one type.
func workerClaimer(r *Runner, t domain.ScriptType) *claimer {
	return newClaimer(r, workerRuntime(t), script.Info{InProcess: true, Outside: true}, 1)
}

// workerRuntime stands for a worker's functions of one type, which no node runs.
type workerRuntime domain.ScriptType

func (t workerRuntime) Type() domain.ScriptType     { return domain.ScriptType(t) }
func (t workerRuntime) Info() script.Info           { return script.Info{InProcess: true} }
func (t workerRuntime) Check(context.Context) error { return nil }
func (t workerRuntime) Close() error                { return nil }
func (t workerRuntime) Run(context.Context, script.Task, script.Host) (script.Outcome, error) {
	return script.Outcome{}, domain.Unavailablef("jobs of type %s are run by workers", string(t))
}

// errUnlisted says of a claim that what it brought was for the number of a worker whose record is
// not the worker's any more.
var errUnlisted = errors.New("the worker is not listed under its number")

// assign makes assignments of what was claimed, and deals with the rest.
//
// A job that only one runner may take is for whoever has its number when it is handed out, not for
// who had it when the claim began: that may have waited, and the number is another's since.
func (e *Engine) assign(ctx context.Context, w domain.Worker, r *Runner, claimed []board.Claimed) ([]domain.Assignment, error) {
	unlisted := false
	listed := sync.OnceValues(func() (bool, error) {
		rec, err := e.recordOf(ctx, w)
		unlisted = err == nil && (rec == nil || !isRecordOf(rec, w))
		return !unlisted, err
	})
	var list []domain.Assignment
	var others []said
	var away error
	now, room := time.Now(), assignBytes
	for _, c := range claimed {
		x := r.taken(ctx, c, now)
		room -= c.Record.Bytes()
		a, f, err := x.assign(room > 0 || len(list) == 0, listed)
		switch {
		case err != nil:
			e.log.Warn("job not given to a worker", "job", c.Item, "context", uint32(c.Space), "err", err)
			f = &finish{x: x, batch: x.heldBatch()}
			f.what = x.unable(&f.batch, err)
			others = append(others, said{finish: *f})
			if errors.Is(err, domain.ErrUnavailable) {
				away = err
			}
		case f == nil:
			list = append(list, a)
			e.cfg.Observer.JobsClaimed(x.claimer.typ, 1)
			x.begun()
			held := domain.HeldAttempt{Caller: x.key.Caller, ID: x.key.ID, Attempt: c.Token}
			e.times.begin(attemptOf{space: c.Space, owner: r.cfg.Owner, held: held}, now, r.cfg.Lease)
		case !f.what.written && f.what.reason != reasonLost:
			others = append(others, said{finish: *f})
		}
	}
	for i, a := range e.endAll(ctx, others) {
		if a.err != nil { // its lease runs out
			e.log.Warn("job claimed for a worker not put back", "job", others[i].x.Claimed.Item, "err", a.err)
		}
	}
	if unlisted {
		e.workers.forget(w) // its next claim writes the record, or is refused
	}
	switch {
	case len(list) > 0:
		return list, nil
	case unlisted && away == nil:
		return nil, errUnlisted
	}
	return nil, away // else the claim would go on at once, and meet the same
}

// taken is a run of a job that a worker has. Where it came from tells which type it is of.
func (r *Runner) taken(ctx context.Context, c board.Claimed, begun time.Time) *run {
	x := &run{r: r}
	x.Claimed, x.Begun, x.Ctx = c, begun, ctx
	x.key, x.foreignItem = jobItem(c.Item)
	x.claimer = r.claimers[0]
	typ := domain.ScriptType(c.Record.Get(layout.JobScriptType))
	if typ == "" { // it is not written yet
		typ, _ = queue.TypeOf(c.Record.Get(board.FieldQueue))
	}
	if i := slices.IndexFunc(r.claimers, func(l *claimer) bool { return l.typ == typ }); i >= 0 {
		x.claimer = r.claimers[i]
	}
	return x
}

// assignBytes is about how much one claim brings; jobs beyond it are put back.
const assignBytes = 16 << 20

// assign makes an assignment of the run, if there is room for one, or else its end. listed says
// whether the worker has its number.
func (x *run) assign(room bool, listed func() (bool, error)) (a domain.Assignment, f *finish, err error) {
	b := x.heldBatch()
	what, done, err := x.admit(&b)
	if err != nil {
		return a, nil, err
	}
	if done {
		return a, &finish{x, b, what}, nil
	}
	if !room {
		x.putBack(&b)
		return a, &finish{x, b, ended{status: domain.JobStarted, text: "put back: there was no room for it"}}, nil
	}
	if x.job.ForRunner == x.r.cfg.ID {
		if mine, err := listed(); err != nil {
			return a, nil, err
		} else if !mine {
			x.putBack(&b)
			return a, &finish{x, b, ended{status: domain.JobStarted, text: "put back: it is for a runner that is another worker now"}}, nil
		}
	}
	if len(x.job.Secrets) > 0 {
		// A worker is a program of the context's own, which has secrets of its own; over the
		// wire, and in a program that hides nothing, these would be anywhere.
		b := x.heldBatch()
		return a, &finish{x, b, x.end(&b, invalid(domain.Invalidf("secrets: the job was taken by a worker, and secrets are given to scripts that nodes run alone; "+
			"let the worker's program have them")))}, nil
	}
	a = domain.Assignment{Job: *x.job, Attempt: x.Claimed.Token, LeaseMs: x.r.cfg.Lease.Milliseconds(),
		TimeoutMs: x.job.TimeoutOr(x.r.e.cfg.Timeout).Milliseconds(), Env: x.job.EnvVars, TraceParent: x.traceParent()}
	if x.job.FlowEnv || x.job.EnvFill {
		a.Env, err = x.environment()
	}
	if err == nil {
		a.Input, err = x.input()
	}
	var unread *resultError
	if errors.As(err, &unread) {
		b := x.heldBatch()
		return a, &finish{x, b, x.end(&b, invalid(err))}, nil
	}
	return a, nil, err
}

// ExtendFor renews leases of a worker's jobs, and says of each whether it goes on; it waits, as
// long as it is asked to, until one of the worker's jobs is to stop. A lease that is lost cuts no
// wait short: mostly it is of a job whose end was handed in meanwhile. One whose attempt has had
// its time is told so, and ended when the worker does not do that within another lease.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrUnavailable].
func (e *Engine) ExtendFor(ctx context.Context, w domain.Worker, lease, wait time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error) {
	if err := errors.Join(checkWorker(w), domain.CheckWorkerLease(lease.Milliseconds()), checkHeld(len(held)), checkWait(wait)); err != nil {
		return nil, err
	}
	if wait == 0 {
		return e.extend(ctx, w, lease, held)
	}
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	told, err := e.toldOf(watching, w.Owner()) // first: no cancel after this is missed
	if err != nil {
		return nil, err
	}
	states, err := e.extend(ctx, w, lease, held)
	if err != nil || slices.Contains(states, domain.LeaseCancelled) || slices.Contains(states, domain.LeaseTimeout) {
		return states, err
	}
	over := time.NewTimer(wait)
	defer over.Stop()
	select {
	case <-told:
		return e.extend(ctx, w, lease, held)
	case <-over.C:
	case <-ctx.Done():
	}
	return states, nil
}

// extend renews leases of a worker's jobs.
func (e *Engine) extend(ctx context.Context, w domain.Worker, lease time.Duration, held []domain.HeldAttempt) ([]domain.LeaseState, error) {
	space := layout.SpaceOf(w.Context)
	keys := make([]string, len(held))
	for i, h := range held {
		keys[i] = h.Key().String()
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.JobStartedMs, layout.JobTimeout}, keys...))
	if err != nil {
		return nil, err
	}
	ask := make([]board.Held, len(held))
	for i, h := range held {
		if j, _ := layout.DecodeJob(h.Key(), recs[i]); began(j, h) {
			ask[i] = board.Held{Space: space, Item: keys[i], Token: h.Attempt}
		} else {
			ask[i] = board.Held{Space: space, Item: keys[i], Token: noAttempt}
		}
	}
	answers, err := e.board.Extend(ctx, w.Owner(), lease, ask)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	states := make([]domain.LeaseState, len(held))
	var told []string
	for i, a := range answers {
		switch a {
		case board.Lost:
			states[i] = domain.LeaseLost
			continue
		case board.Cancelled:
			states[i] = domain.LeaseCancelled
			told = append(told, toldField(space, keys[i]))
		default:
			states[i] = domain.LeaseRenewed
		}
		of := attemptOf{space: space, owner: w.Owner(), held: held[i]}
		switch over := e.overdue(of, recs[i], now, lease); {
		case over > lease:
			_, err := e.finishOne(ctx, w, domain.AttemptEnd{HeldAttempt: held[i], Verdict: domain.VerdictTimeout})
			if err != nil && !errors.Is(err, domain.ErrConflict) {
				return nil, err // of one that ended meanwhile there is nothing left to end
			}
			states[i] = domain.LeaseLost
		case over > 0:
			states[i] = domain.LeaseTimeout
		}
	}
	return states, errors.Join(e.told(ctx, w.Owner(), told), e.touch(ctx, w, now))
}

// noAttempt is the token of no lease.
const noAttempt = -1

// overdue is how much longer than it may an attempt has taken that is renewed for a lease.
func (e *Engine) overdue(of attemptOf, rec board.Record, now time.Time, lease time.Duration) time.Duration {
	j, err := layout.DecodeJob(of.held.Key(), rec)
	if err != nil || j.StartedMs == 0 {
		return 0
	}
	of.held.StartedMs = 0 // whatever the worker says: the last that was given counts
	took, known := e.times.took(of, now, lease)
	if !known {
		took = e.board.Now().Sub(time.UnixMilli(j.StartedMs))
	}
	return took - j.TimeoutOr(e.cfg.Timeout)
}

func checkHeld(n int) error {
	if n < 1 || n > domain.MaxAssignments {
		return domain.Limitf("%d jobs: want 1 to %d", n, domain.MaxAssignments)
	}
	return nil
}

func checkWait(wait time.Duration) error {
	if wait < 0 || wait > domain.MaxWorkerWait {
		return domain.Invalidf("wait_ms %d: want 0 to %d", wait.Milliseconds(), domain.MaxWorkerWait.Milliseconds())
	}
	return nil
}

const (
	// workerEvery is how often a worker's record is written.
	workerEvery = 10 * time.Second
	// workerKept is how long a record stays of one that says nothing any more.
	workerKept = 10 * time.Minute
	// maxWorkers is how many names workers may have had within that time at one
	// node: who has another name for each request would fill the board.
	maxWorkers = 10_000
	// maxOwnWorkers is how many of them those of one context may have, so that the others
	// have some left.
	maxOwnWorkers = 5_000
	// maxActorWorkers is how many of those one actor may have, so that one executor does not
	// keep the workers of the others out.
	maxActorWorkers = 2_500
)
