package work

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
	"github.com/ramet-run/ramet/layout"
)

// This file answers workers what their jobs remember. How far an attempt has come in its
// history is known where it was asked before, in a session. A node that has no session, or
// one that has come less far, says so, and the worker tells all that it has asked for
// before: the history has what that comes to.

const (
	// sessionKept is how long a session stays that nobody asks in.
	sessionKept = 10 * time.Minute
	// maxSessions is how many there are at once. Of more the one used longest ago goes.
	maxSessions = 10_000
)

// attemptOf is an attempt that a worker has.
type attemptOf struct {
	space board.Space
	owner string
	held  domain.HeldAttempt
}

// session is how far an attempt has come.
type session struct {
	x *run

	mu    sync.Mutex
	asked int64     // requests that count
	used  time.Time // guarded by sessions.mu
}

// sessions are those of this engine.
type sessions struct {
	mu  sync.Mutex
	all map[attemptOf]*session
}

func (s *sessions) find(of attemptOf, now time.Time) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[of]
	if found != nil {
		found.used = now
	}
	return found
}

func (s *sessions) put(of attemptOf, new *session, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = map[attemptOf]*session{}
	}
	if len(s.all) >= maxSessions {
		s.sweep(now)
	}
	new.used = now
	s.all[of] = new
}

// sweep lets go of those that nobody has asked in for long; where there are none, of the oldest.
func (s *sessions) sweep(now time.Time) {
	var oldest attemptOf
	at := now
	for of, x := range s.all {
		if now.Sub(x.used) > sessionKept {
			delete(s.all, of)
		} else if x.used.Before(at) {
			oldest, at = of, x.used
		}
	}
	if len(s.all) >= maxSessions {
		delete(s.all, oldest)
	}
}

// take gives the session of an attempt that ends; nil where there is none here.
func (s *sessions) take(of attemptOf) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[of]
	delete(s.all, of)
	return found
}

// StepFor answers what a worker's job remembers.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrNotFound], [domain.ErrUnavailable];
// [domain.ErrConflict] when the worker does not have the job any more. What is wrong with the
// request itself stands in the answer.
func (e *Engine) StepFor(ctx context.Context, w domain.Worker, ask domain.WorkerStep) (domain.WorkerStepAnswer, error) {
	if err := checkWorker(w); err != nil {
		return domain.WorkerStepAnswer{}, err
	}
	if ask.Asked < 0 || len(ask.Before) > durable.MaxSteps || ask.Before != nil && int64(len(ask.Before)) != ask.Asked {
		return domain.WorkerStepAnswer{}, domain.Invalidf("asked is %d, and before has %d requests: want all that were answered before, at most %d", ask.Asked,
			len(ask.Before), durable.MaxSteps)
	}
	request, err := durable.ParseRequest(ask.Request)
	if err != nil {
		return stepAnswer(durable.Answer{}, nil, err)
	}
	if w.MayMake != nil && makes(append(ask.Before, ask.Request)) {
		return domain.WorkerStepAnswer{}, w.MayMake
	}
	of := attemptOf{space: layout.SpaceOf(w.Context), owner: w.Owner(), held: ask.HeldAttempt}
	s := e.sessions.find(of, time.Now())
	if s == nil && ask.Asked == 0 || ask.Before != nil {
		if s, err = e.begin(ctx, w, of, ask.Before); err != nil {
			return domain.WorkerStepAnswer{}, err
		}
		e.sessions.put(of, s, time.Now())
	}
	if s == nil || !s.advance(ask.Asked, request) {
		return domain.WorkerStepAnswer{Unknown: true}, nil
	}
	a, err := s.x.script.Do(ctx, request)
	if errors.Is(err, domain.ErrUnavailable) || ctx.Err() != nil {
		e.sessions.take(of) // it has come further than the worker will know
		return domain.WorkerStepAnswer{}, err
	}
	return stepAnswer(a, s.x.script.Suspended(), err)
}

// makes reports whether one of these requests has a job or flow made.
func makes(requests []json.RawMessage) bool {
	return slices.ContainsFunc(requests, func(text json.RawMessage) bool {
		r, _ := durable.ParseRequest(text)
		return r.Makes()
	})
}

// checkSuspension checks what a worker says that its job waits for.
//
// Errors: [domain.ErrInvalid].
func checkSuspension(s *domain.Suspension) error {
	if s == nil {
		return domain.Invalidf("suspension: want what the answer of worker.step had")
	}
	if !slices.Contains([]string{durable.DoSleep, durable.DoWait, durable.DoStep, durable.DoCall}, s.Kind) {
		return domain.Invalidf("suspension: kind %.40q: want sleep, wait, call or step", s.Kind)
	}
	if s.UntilMs < 0 || s.UntilMs > domain.MaxNotBefore || len(s.Signals) > durable.MaxOpen || len(s.Prerequisites) > durable.MaxOpen ||
		len(s.Children) > durable.MaxSteps {
		return domain.Invalidf("suspension: until_ms is %d, with %d signals, %d prerequisites and %d children: want what the answer of worker.step had", s.UntilMs,
			len(s.Signals), len(s.Prerequisites), len(s.Children))
	}
	if err := validatePrerequisites(s.Prerequisites); err != nil {
		return err
	}
	err := durable.CheckName("suspension: name", s.Name)
	for _, name := range s.Signals {
		err = errors.Join(err, durable.CheckName("suspension: signal", name))
	}
	return err
}

// stepAnswer writes an answer as the channel of a script does.
func stepAnswer(a durable.Answer, suspended *domain.Suspension, err error) (out domain.WorkerStepAnswer, _ error) {
	if err != nil {
		a = durable.Answer{Error: durable.ErrorOf(err)}
	}
	if a.Suspend {
		out.Suspension = suspended
	}
	text, err := json.Marshal(a)
	out.Answer = text
	return out, err
}

// counted reports whether a request is one of those by whose number a session is known.
func counted(r durable.Request) bool {
	return r.Do != durable.DoDone && r.Do != durable.DoDrop && (r.Do != durable.DoStep || r.N == 0)
}

// advance notes a request of a worker that has had so many answered before.
func (s *session) advance(asked int64, r durable.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked != asked {
		return false
	}
	if counted(r) {
		s.asked++
	}
	return true
}

// begin makes a session of an attempt, and comes as far as the worker has.
func (e *Engine) begin(ctx context.Context, w domain.Worker, of attemptOf, before []json.RawMessage) (*session, error) {
	key := of.held.Key()
	recs, err := e.board.Get(ctx, of.space, key.String())
	if err != nil {
		return nil, err
	}
	if recs[0] == nil {
		return nil, domain.NotFoundf("job %q does not exist here", key)
	}
	j, err := layout.DecodeJob(key, recs[0])
	if err != nil {
		return nil, err
	}
	if !holds(j, of.owner, of.held) {
		return nil, domain.Conflictf("job %q: attempt %d is not this worker's any more", key, of.held.Attempt)
	}
	r := e.runnerOf(w, domain.DefaultLease)
	r.claimers = []*claimer{workerClaimer(r, j.ScriptType)}
	x := r.taken(context.WithoutCancel(ctx), board.Claimed{Space: of.space, Item: key.String(), Token: of.held.Attempt, Record: recs[0]}, time.Now())
	x.job, x.began = j, of.held.StartedMs
	x.script = x.newScript(func(bool) {}) // the worker is told by its answers
	s := &session{x: x}
	for _, text := range before {
		request, err := durable.ParseRequest(text)
		if err != nil || !counted(request) {
			return nil, domain.Invalidf("before: %.100q is no request that counts (%v)", text, err)
		}
		if _, err := x.script.Do(ctx, request); err != nil {
			return nil, err
		}
		s.asked++
	}
	return s, nil
}
