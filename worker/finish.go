package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// lastLines ends the log of a function that has ended: it sends what is more than goes with
// its end, and gives the rest. A node that takes nothing holds up no end for ever: it has half
// of what is left of the lease now, however often that is renewed, and the end has the rest.
func (s *shift) lastLines(x *run) []domain.LogLine {
	x.job.shut()
	left := x.left(time.Now())
	until := time.Now().Add(min(left/2, left-s.margin()))
	ctx, cancel := context.WithDeadline(context.WithoutCancel(x.ctx), until)
	defer cancel()
	for failures := 0; x.job.overfull() && ctx.Err() == nil && !errors.Is(context.Cause(x.ctx), ErrLost); {
		err := x.job.sendFirst(func(lines []domain.LogLine) error { return s.w.node.LogWork(ctx, s.w.self, x.job.held(), lines) })
		switch {
		case err == nil:
			failures = 0
		case refused(err), foreign(err):
			return x.job.Close()
		default:
			rest(ctx, failures, min(comeAgain(err), time.Until(until)/2))
			failures++
		}
	}
	return x.job.Close()
}

// finishLoop hands in ends, all that are ready at once.
func (s *shift) finishLoop() {
	for e := range s.ends {
		group, size := append(make([]end, 0, 16), e), weight(&e)
	more:
		for len(group) < domain.MaxAssignments && size < endRoom {
			select {
			case e, open := <-s.ends:
				if !open {
					break more
				}
				group, size = append(group, e), size+weight(&e)
			default:
				break more
			}
		}
		s.finish(group)
	}
}

// weight is about how many bytes of a request an end takes.
func weight(e *end) (n int) {
	for k, v := range e.Result {
		n += len(k) + len(v)
	}
	for _, l := range e.Lines {
		n += len(l.Line)
	}
	return n + len(e.Error)
}

// finish hands in ends until each is written, or its lease is lost.
func (s *shift) finish(group []end) {
	for failures := 0; len(group) > 0; failures++ {
		ends := make([]domain.AttemptEnd, len(group))
		for i := range group {
			ends[i] = group[i].AttemptEnd
		}
		_, errs, err := s.w.node.FinishWork(context.WithoutCancel(group[0].x.ctx), s.w.self, ends)
		if refused(err) && len(group) > 1 { // for one of them, perhaps: others are not to go with it
			s.finish(group[:len(group)/2])
			group = group[len(group)/2:]
			continue
		}
		if refused(err) {
			errs, err = []error{err}, nil
		}
		var again []end
		for i, e := range group {
			if err == nil && s.settled(&e, errs[i]) {
				continue
			}
			if e.x.left(time.Now()) <= 0 {
				s.w.log.Warn("the end of a job could not be handed in before its lease ran out", "job", e.x.job.Key().String(), "err", err)
				s.let(e.x)
				continue
			}
			again = append(again, e)
		}
		if group = again; len(group) > 0 {
			if err != nil {
				s.w.log.Warn("ends of jobs not handed in; they are tried again", "jobs", len(group), "err", err)
			}
			// Not for so long that leases run out meanwhile.
			rest(context.Background(), failures, min(comeAgain(err), leastLeft(again)/2))
		}
	}
}

// leastLeft is what is left of the lease that runs out first.
func leastLeft(group []end) time.Duration {
	now := time.Now()
	e := slices.MinFunc(group, func(a, b end) int { return cmp.Compare(a.x.left(now), b.x.left(now)) })
	return e.x.left(now)
}

// refused reports whether a node will never take what it was asked.
func refused(err error) bool {
	return errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrLimit)
}

// foreign reports whether a job is not this worker's any more, or is nobody's.
func foreign(err error) bool {
	return errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrForbidden)
}

// settled lets a job go whose end is written, or never will be. One that the node refuses
// for what is in it becomes a failure that says so.
func (s *shift) settled(e *end, err error) bool {
	switch {
	case err == nil:
	case foreign(err):
		s.w.log.Warn("the end of a job was not taken", "job", e.x.job.Key().String(), "attempt", e.Attempt, "err", err)
	case refused(err) && (e.Result != nil || e.Lines != nil):
		e.Verdict, e.Final, e.Result, e.Lines = domain.VerdictFailed, true, nil, nil
		e.Error = "its end was not taken: " + err.Error()
		return false
	default:
		return false
	}
	s.let(e.x)
	return true
}

// heartbeat renews the leases in hand, and stops what is cancelled or lost.
func (s *shift) heartbeat(ctx context.Context) {
	tick := time.NewTicker(s.w.cfg.Lease / 6)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.beat(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// beat renews what has less than two thirds of its lease left, and stops what could not
// be renewed while there is still some time left. A process that was held up (a laptop
// that slept) asks first: who has the job still may go on.
func (s *shift) beat(ctx context.Context) {
	lease := s.w.cfg.Lease
	due := s.below(lease * 2 / 3)
	for len(due) > 0 {
		part := due[:min(len(due), domain.MaxAssignments)]
		due = due[len(part):]
		if err := s.extend(ctx, part, 0); err != nil {
			s.w.log.Warn("leases not renewed", "jobs", len(part), "err", err)
		}
	}
	for _, x := range s.below(s.margin()) {
		x.cancel(ErrLost)
	}
}

// below are the jobs in hand whose leases have no more left than that.
func (s *shift) below(left time.Duration) (list []*run) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.held {
		if x.left(now) <= left {
			list = append(list, x)
		}
	}
	return list
}

// listen hears at once which of the jobs in hand are to stop: it asks for them again and again,
// by requests that wait for that, each a bit shorter than a beat. So the heartbeat finds nothing
// due, but where these are not answered.
func (s *shift) listen(ctx context.Context) {
	for failures := 0; ctx.Err() == nil; {
		going := s.going()
		if len(going) == 0 {
			select {
			case <-s.busy:
			case <-ctx.Done():
			}
			continue
		}
		err := s.hear(ctx, going)
		if failures++; err == nil {
			failures = 0
		} else {
			s.w.log.Debug("which jobs are to stop is not heard; it comes with their renewals", "err", err)
			rest(ctx, failures, comeAgain(err))
		}
	}
}

// hear asks for jobs in hand, and waits with the last of the requests.
func (s *shift) hear(ctx context.Context, runs []*run) error {
	for len(runs) > domain.MaxAssignments {
		if err := s.extend(ctx, runs[:domain.MaxAssignments], 0); err != nil {
			return err
		}
		runs = runs[domain.MaxAssignments:]
	}
	return s.extend(ctx, runs, min(claimWait, s.w.cfg.Lease/7))
}

// going are the jobs in hand that were not told to stop.
func (s *shift) going() (list []*run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.held {
		if x.ctx.Err() == nil {
			list = append(list, x)
		}
	}
	return list
}

// extend renews leases, and stops what is to stop.
func (s *shift) extend(ctx context.Context, runs []*run, wait time.Duration) error {
	held := make([]domain.HeldAttempt, len(runs))
	for i, x := range runs {
		held[i] = x.job.held()
	}
	asked := time.Now()
	// Bounded, so that a node that hangs does not hide that leases run out: time is left
	// to stop what has least.
	left := slices.MinFunc(runs, func(a, b *run) int { return cmp.Compare(a.left(asked), b.left(asked)) }).left(asked)
	ctx, cancel := context.WithTimeout(ctx, wait+min(s.w.cfg.Lease/6, max(left/2, s.w.cfg.Lease/20)))
	defer cancel()
	states, err := s.w.node.ExtendWork(ctx, s.w.self, s.w.cfg.Lease, wait, held)
	if err != nil {
		return err
	}
	if len(states) != len(runs) {
		return fmt.Errorf("the node answered for %d of %d", len(states), len(runs))
	}
	for i, state := range states {
		switch state {
		case domain.LeaseLost:
			runs[i].cancel(ErrLost)
			continue
		case domain.LeaseCancelled:
			runs[i].cancel(ErrCancelled)
		case domain.LeaseTimeout:
			runs[i].cancel(ErrTimeout)
		}
		runs[i].renewed(asked.Add(s.w.cfg.Lease))
	}
	return nil
}
