package worker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

const (
	// claimWait is how long a node is to wait for the first job, or cancel, at the most: a third of
	// the lease, which is counted from when the node was asked.
	claimWait = 20 * time.Second
	// againMin and againMax bound the pause after a request that failed.
	againMin = 200 * time.Millisecond
	againMax = 10 * time.Second
	// claimers is how many loops ask for jobs: while one waits for its answer the other asks
	// for what has become free meanwhile, so that slots do not stand empty for a way there
	// and back. An idle worker of up to [domain.MaxAssignments] slots asks once, for all of them.
	claimers = 2
	// finishers is how many loops hand in ends: while one waits for its answer the other
	// gathers the next.
	finishers = 2
	// endRoom is how much of a request ends may take together, in bytes.
	endRoom = 4 << 20
	// resultRoom is how much a result may have, in bytes, to be sent at all: a node takes half
	// of that, and closes the connection where a request is much too long.
	resultRoom = 1 << 20
	// errorBytes is where an error is cut; a node keeps half of that.
	errorBytes = 8 << 10
)

// shift is one call of Run.
type shift struct {
	w        *Worker
	handlers map[domain.ScriptType]Handler
	slots    chan struct{} // one for each job in hand
	ends     chan end

	// asking holds the one turn to ask next: how many requests have failed one after the
	// other. Who has it takes slots, or rests after a failure, before others ask.
	asking chan int

	busy chan struct{} // a job has come into hand; capacity 1

	mu   sync.Mutex
	held map[domain.HeldAttempt]*run
}

// end is what came of a run.
type end struct {
	x *run
	domain.AttemptEnd
}

// Run claims jobs and runs them until ctx ends; then it claims no more, lets functions go
// on for Grace, tells them to stop, gives back what has not ended, and returns.
//
// Errors: [domain.ErrInvalid] when the node does not take what the worker asks.
func (w *Worker) Run(ctx context.Context) error {
	if len(w.handlers) == 0 {
		return domain.Invalidf("the worker has no functions: call worker.Handle before Run")
	}
	s := &shift{w: w, handlers: map[domain.ScriptType]Handler{}, slots: make(chan struct{}, w.cfg.Slots), ends: make(chan end, domain.MaxAssignments),
		asking: make(chan int, 1), busy: make(chan struct{}, 1), held: map[domain.HeldAttempt]*run{}}
	for _, t := range w.types() {
		s.handlers[t] = w.wrapped(t)
	}
	s.asking <- 0
	hard, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	var runs, loops, beats sync.WaitGroup
	for range finishers {
		loops.Go(s.finishLoop)
	}
	beat, stopBeat := context.WithCancel(hard)
	beats.Go(func() { s.heartbeat(beat) })
	beats.Go(func() { s.listen(beat) })

	err := s.claim(ctx, hard, &runs)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runs.Wait()
		close(s.ends)
		loops.Wait()
	}()
	s.drain(ended, stop)
	stopBeat()
	beats.Wait()
	s.leave()
	return err
}

// leaveTime bounds the last request: a node that does not hear it has the worker on its list for
// some minutes more.
const leaveTime = 2 * time.Second

// leave says that the worker stops, so that nobody takes it for one that is lost.
func (s *shift) leave() {
	ctx, cancel := context.WithTimeout(context.Background(), leaveTime)
	defer cancel()
	if err := s.w.node.LeaveWork(ctx, s.w.self); err != nil {
		s.w.log.Debug("no node was told that the worker stops", "err", err)
	}
}

// drain waits for the functions in hand, and tells them to stop when they have had their
// time.
func (s *shift) drain(ended <-chan struct{}, stop context.CancelCauseFunc) {
	select {
	case <-ended:
		return
	case <-time.After(s.w.cfg.Grace):
	}
	stop(ErrStopping)
	select {
	case <-ended:
	case <-time.After(s.w.cfg.Lease):
		s.w.log.Warn("functions do not stop though they were told to; they are left behind")
	}
}

// claim runs the loops that take jobs until ctx ends, or a node refuses what the worker
// asks.
func (s *shift) claim(ctx, hard context.Context, runs *sync.WaitGroup) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var loops sync.WaitGroup
	for range claimers {
		loops.Go(func() {
			if err := s.claimLoop(ctx, hard, runs); err != nil {
				stop(err)
			}
		})
	}
	loops.Wait()
	if err := context.Cause(ctx); errors.Is(err, domain.ErrInvalid) {
		return err
	}
	return nil
}

// claimLoop takes as many jobs as there are free slots until ctx ends.
func (s *shift) claimLoop(ctx, hard context.Context, runs *sync.WaitGroup) error {
	for {
		failures := <-s.asking
		n := s.takeSlots(ctx)
		s.asking <- failures
		if n == 0 {
			return nil
		}
		asked := time.Now()
		list, err := s.w.node.ClaimWork(ctx, s.w.self, s.ask(n))
		s.giveSlots(n - len(list))
		for _, a := range list {
			s.start(hard, a, asked, runs)
		}
		switch {
		case err == nil:
			<-s.asking
			s.asking <- 0
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, domain.ErrInvalid):
			return err
		default:
			s.w.log.Warn("no work taken", "err", err)
			failures := <-s.asking
			rest(ctx, failures, comeAgain(err))
			s.asking <- failures + 1
		}
	}
}

// ask is what the worker asks for.
func (s *shift) ask(n int) domain.WorkerAsk {
	return domain.WorkerAsk{Types: s.w.types(), Max: n, WaitMs: min(claimWait, s.w.cfg.Lease/3).Milliseconds(), LeaseMs: s.w.cfg.Lease.Milliseconds(),
		Labels: s.w.cfg.Labels, Slots: s.w.cfg.Slots, Running: len(s.slots) - n, Host: s.w.host, Version: s.w.cfg.Version}
}

// takeSlots waits for a free slot and takes all there are, as many as one claim brings; 0
// when ctx has ended.
func (s *shift) takeSlots(ctx context.Context) (n int) {
	select {
	case s.slots <- struct{}{}:
	case <-ctx.Done():
		return 0
	}
	if ctx.Err() != nil {
		s.giveSlots(1)
		return 0
	}
	for n = 1; n < domain.MaxAssignments; n++ {
		select {
		case s.slots <- struct{}{}:
		default:
			return n
		}
	}
	return n
}

func (s *shift) giveSlots(n int) {
	for range n {
		<-s.slots
	}
}

// comeAgain is for how long a node that has refused does not want to be asked.
func comeAgain(err error) time.Duration {
	if e, ok := errors.AsType[interface {
		error
		ComeAgain() time.Duration
	}](err); ok {
		return e.ComeAgain()
	}
	return 0
}

// rest waits after a failure, longer after several, and at least for a time.
func rest(ctx context.Context, failures int, least time.Duration) {
	d := min(againMin<<min(failures, 10), againMax)
	t := time.NewTimer(max(least, d-time.Duration(rand.Int64N(int64(d)/2))))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// start runs a job that was claimed by a request of that instant.
func (s *shift) start(hard context.Context, a domain.Assignment, asked time.Time, runs *sync.WaitGroup) {
	x := &run{job: NewJob(a), until: asked.Add(time.Duration(a.LeaseMs) * time.Millisecond)}
	x.ctx, x.cancel = context.WithCancelCause(hard)
	x.job.send = func(lines []domain.LogLine) error { return s.w.node.LogWork(x.ctx, s.w.self, x.job.held(), lines) }
	x.job.remember = func(ctx context.Context, ask domain.WorkerStep) (domain.WorkerStepAnswer, error) {
		return s.w.node.StepWork(ctx, s.w.self, ask)
	}
	s.mu.Lock()
	s.held[x.job.held()] = x
	s.mu.Unlock()
	select {
	case s.busy <- struct{}{}:
	default:
	}
	runs.Go(func() {
		var e domain.AttemptEnd
		if s.look(x) {
			e = s.do(x)
		} else {
			e.HeldAttempt = x.job.held()
		}
		if errors.Is(context.Cause(x.ctx), ErrLost) {
			// It goes back where the lease is its own still: nobody waits for that to run out.
			e = domain.AttemptEnd{HeldAttempt: e.HeldAttempt, Verdict: domain.VerdictLost}
			s.w.log.Warn("a job was dropped: its lease could not be renewed in time", "job", a.Job.Key().String(), "attempt", a.Attempt)
		}
		s.ends <- end{x, e}
	})
}

// look reports whether enough is left of a job's lease to begin it. A process that was
// held up (stopped by a signal, a machine without memory) after a node has given it the
// job finds that another may have it by now: the heartbeat, held up too, is too late to say so.
func (s *shift) look(x *run) bool {
	if x.left(time.Now()) <= s.margin() {
		x.cancel(ErrLost)
		return false
	}
	return true
}

// margin is how long before its end a lease is given up: a beat, and one call of it.
func (s *shift) margin() time.Duration { return s.w.cfg.Lease/6 + s.w.cfg.Lease/20 }

// let forgets a job in hand.
func (s *shift) let(x *run) {
	x.cancel(nil)
	s.mu.Lock()
	delete(s.held, x.job.held())
	s.mu.Unlock()
	s.giveSlots(1)
}

// do runs the function and says how it ended.
func (s *shift) do(x *run) domain.AttemptEnd {
	ctx := x.ctx
	if t := time.Duration(x.job.TimeoutMs) * time.Millisecond; t > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t, ErrTimeout)
		defer cancel()
	}
	e := domain.AttemptEnd{HeldAttempt: x.job.held(), Verdict: domain.VerdictSucceeded}
	result, err := call(ctx, s.handlers[x.job.Job.ScriptType], x.job)
	var what *said
	var panicked *panicError
	suspension := x.job.suspended()
	switch {
	case suspension != nil && ctx.Err() == nil: // whatever it returned: what it did is done again
		e.Verdict, e.Suspension = domain.VerdictSuspended, suspension
	case err == nil:
		e.Result = result
	case errors.Is(context.Cause(ctx), ErrTimeout):
		e.Verdict, e.Error = domain.VerdictTimeout, err.Error()
	case ctx.Err() != nil:
		e.Verdict, e.Error = domain.VerdictStopped, err.Error()
	case errors.As(err, &panicked):
		e.Verdict, e.Error = domain.VerdictErrored, err.Error()
		x.job.Errorf("%v\n%s", err, panicked.stack)
	default:
		e.Verdict, e.Error = domain.VerdictFailed, err.Error()
		if errors.As(err, &what) {
			e.Final, e.AfterMs = what.final, what.after.Milliseconds()
		}
	}
	if n := weight(&end{AttemptEnd: e}) - len(e.Error); n > resultRoom {
		e.Verdict, e.Result, e.Final = domain.VerdictFailed, nil, true
		e.Error = fmt.Sprintf("its end was not taken: the result has %d bytes: store it elsewhere, and return where", n)
	}
	if len(e.Error) > errorBytes {
		e.Error = strings.ToValidUTF8(e.Error[:errorBytes], "")
	}
	e.Lines = s.lastLines(x)
	return e
}

// panicError is what a function panicked with.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("the function panicked: %v", e.value) }

func call(ctx context.Context, h Handler, job *Job) (result map[string]string, err error) {
	if h == nil {
		return nil, domain.Invalidf("this worker has no function for the type %q", job.Job.ScriptType)
	}
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{p, debug.Stack()}
		}
	}()
	return h(tracing.In(ctx, job.TraceParent), job)
}
