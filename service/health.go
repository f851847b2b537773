package service

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// This file says whether requests should be sent to this node, and what it stands on that does not
// answer. Whoever shows that asks here: /health, /ready, node.info, and pages that wait for an answer.

const (
	// healthTime bounds one look at what the node stands on.
	healthTime = 5 * time.Second
	// infoTime is how long node.info waits for a look: pages stand on it, and say what is known.
	infoTime = 800 * time.Millisecond
	// silentTime is how long it waits where the last look had no answer in that time.
	silentTime = 50 * time.Millisecond
	// slower is how many times as long as the last answer took one waits before what is slow is called silent.
	slower = 2
)

// Health is how the node stands now.
type Health struct {
	// Stopping is whether it takes no new work because it is on its way to its end.
	Stopping bool
	// Board and Streams are why these take nothing; "" where they do, or there are none.
	Board, Streams string
	// Disk is why nothing new is taken in; "" where it is. Requests are to come all the
	// same: what runs could not end without them.
	Disk string
}

// Away reports whether something is not there that the node stands on.
func (h Health) Away() bool { return h.Board != "" || h.Streams != "" }

// Ready reports whether requests should be sent to the node.
func (h Health) Ready() bool { return !h.Stopping && !h.Away() }

// Health looks at what the node stands on. What it finds is not for everybody to read.
func (s *Service) Health(ctx context.Context) Health { return s.health(ctx, healthTime) }

// health is [Service.Health] that waits so long for each look at most.
func (s *Service) health(ctx context.Context, patience time.Duration) Health {
	h := Health{Stopping: !s.parts.Info().Ready}
	var both sync.WaitGroup
	both.Go(func() { h.Board = s.board.trouble(ctx, patience) })
	both.Go(func() { h.Streams = s.streams.trouble(ctx, patience) })
	both.Wait()
	if err := s.parts.Intake(); err != nil {
		h.Disk = err.Error()
	}
	return h
}

// outlook looks at one thing that the node stands on, once for all who ask at a time. A look goes on
// for [healthTime] at most when nobody waits for it any more. Its zero value looks at nothing.
type outlook[T any] struct {
	of  string // what is looked at, in a sentence
	ask func(ctx context.Context) (T, error)

	mu    sync.Mutex
	under *look[T] // nil: nobody looks
	// last is what was found last, err why nothing was; silent is since when no look had an answer
	// within the time that somebody waited, and answered when one had an answer last.
	last     T
	err      error
	silent   time.Time
	answered time.Time
	took     time.Duration // of the last look that found something
}

// finds is a look that finds nothing but trouble; nil where nobody looks.
func finds(trouble func(context.Context) error) func(context.Context) (struct{}, error) {
	if trouble == nil {
		return nil
	}
	return func(ctx context.Context) (struct{}, error) { return struct{}{}, trouble(ctx) }
}

// look is one that is under way, and what came of it.
type look[T any] struct {
	began time.Time
	done  chan struct{} // closed when what follows is there, and in the outlook
	found T
	err   error
}

// trouble is what a look finds wrong; "" where all is well, or where there is nothing to look at.
func (o *outlook[T]) trouble(ctx context.Context, patience time.Duration) string {
	if _, err := o.get(ctx, patience); err != nil {
		return err.Error()
	}
	return ""
}

// get is what a look finds. Where it finds nothing in time, that is what was found last, and an error
// that says since when there is no answer. What has answered slowly is waited for longer than patience has it.
func (o *outlook[T]) get(ctx context.Context, patience time.Duration) (T, error) {
	var none T
	if o.ask == nil {
		return none, nil
	}
	o.mu.Lock()
	under := o.under
	if under == nil {
		under = &look[T]{began: time.Now(), done: make(chan struct{})}
		o.under = under
		go o.look(ctx, under)
	}
	switch {
	case patience >= healthTime:
	case o.silent.IsZero():
		patience = max(patience, min(slower*o.took, healthTime))
	default:
		patience = min(patience, silentTime)
	}
	o.mu.Unlock()
	late := time.NewTimer(patience - time.Since(under.began))
	defer late.Stop()
	select {
	case <-under.done:
		return under.found, under.err
	case <-late.C:
	case <-ctx.Done():
		return none, ctx.Err()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.under != under { // it ended just then
		return under.found, under.err
	}
	if o.silent.IsZero() {
		o.silent = under.began
	}
	return o.last, &silence{o.of, o.silent, o.answered, o.err}
}

// silence is that something gives no answer, or none in time: why is then what it said at last.
type silence struct {
	of              string
	since, answered time.Time
	why             error
}

// sinceThen is after how long without a look nobody knows when the silence began that the next one finds.
const sinceThen = 10 * time.Second

func (s *silence) Error() string {
	const instant = "2006-01-02 15:04:05 MST"
	text := s.of + " gives no answer since " + s.since.UTC().Format(instant)
	if s.since.Sub(s.answered) > sinceThen {
		text += " at the latest"
		if !s.answered.IsZero() {
			text += " (it gave one at " + s.answered.UTC().Format(instant) + ")"
		}
	}
	if s.why != nil {
		text += ": " + s.why.Error()
	}
	return text
}

func (s *silence) Is(kind error) bool { return kind == domain.ErrUnavailable }

// quietTime is after how long of an operation it is asked whether what it waits for answers at all.
const quietTime = 200 * time.Millisecond

// quietAgain is after how long of waiting it is asked again: what answered may have fallen silent since.
const quietAgain = time.Second

// WhileAnswering is a context that ends when it is found that the board gives no answer, or the
// archive where that is asked for, with a cause that says since when; what is slow goes on. stop is
// called when it is not needed any more.
func (c Caller) WhileAnswering(ctx context.Context, archive bool) (while context.Context, stop func()) {
	if archive {
		return whileAnswering(ctx, &c.api.board, &c.api.archive)
	}
	return whileAnswering(ctx, &c.api.board)
}

func whileAnswering(ctx context.Context, all ...*outlook[struct{}]) (while context.Context, stop func()) {
	while, end := context.WithCancelCause(ctx)
	asking := time.AfterFunc(quietTime, func() {
		var looks sync.WaitGroup
		for _, o := range all {
			looks.Go(func() { end(o.silenceWhile(while)) })
		}
		looks.Wait()
	})
	return while, func() {
		asking.Stop()
		end(context.Canceled)
	}
}

// silenceWhile asks until there is no answer, which it returns, or ctx ends.
func (o *outlook[T]) silenceWhile(ctx context.Context) error {
	for {
		if _, err := o.get(ctx, infoTime); errors.As(err, new(*silence)) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(quietAgain):
		}
	}
}

// look looks, for all who ask meanwhile.
func (o *outlook[T]) look(ctx context.Context, under *look[T]) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), healthTime) // others wait for it, too
	defer cancel()
	found, err := o.ask(ctx)
	o.mu.Lock()
	defer o.mu.Unlock()
	defer close(under.done)
	o.under = nil
	switch silent := errors.Is(err, context.DeadlineExceeded); {
	case silent || err != nil && time.Since(under.began) >= infoTime:
		if o.err = err; silent {
			o.err = nil // since when is what there is to say
		}
		if o.silent.IsZero() {
			o.silent = under.began
		}
	default:
		o.last, o.err, o.silent, o.answered = found, err, time.Time{}, time.Now()
	}
	under.found, under.err = o.last, o.err
	if !o.silent.IsZero() {
		under.err = &silence{o.of, o.silent, o.answered, o.err}
	} else if err == nil {
		o.took = time.Since(under.began)
	}
}
