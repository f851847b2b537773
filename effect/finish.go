package effect

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/stream"
)

// This file ends commands, many at once: what one costs, a commit, a publish
// and a commit, so costs a hundred.

const (
	finishers  = 4
	mostFinish = 256
	// finishPause is after what time it is tried again what board or broker did
	// not take, doubled each time up to mostFinishPause.
	finishPause     = 100 * time.Millisecond
	mostFinishPause = 10 * time.Second
)

// ending is a command whose end is known.
type ending struct {
	t    *run
	mark Mark
}

// finisher ends commands.
type finisher struct {
	w *Worker
	// ended is closed by Run when no consumer is left.
	ended chan *ending
}

func newFinisher(w *Worker) *finisher { return &finisher{w, make(chan *ending, mostFinish)} }

// run ends commands until no more can come. After ctx's end they are let go of:
// the board may know how they ended, the broker gives them to others.
func (f *finisher) run(ctx context.Context) {
	lease.InGroups(f.ended, mostFinish, func(group []*ending) { f.finish(ctx, group) })
}

// finish brings a group to its end, step by step.
func (f *finisher) finish(ctx context.Context, group []*ending) {
	ended := f.done(ctx, f.publish(ctx, f.decide(ctx, slices.Clone(group))))
	var tell sync.WaitGroup
	for _, e := range ended {
		tell.Go(func() { e.t.tell(e.t.d.Ack) })
	}
	tell.Wait()
	for _, e := range group {
		if !e.t.out() { // ctx has ended
			tell.Go(func() { e.t.again(0) })
		}
	}
	tell.Wait()
}

// until does what remains of a group again and again, until nothing does or
// ctx ends.
func (f *finisher) until(ctx context.Context, what string, group []*ending, do func([]*ending) (rest []*ending, err error)) {
	wait := finishPause
	for len(group) > 0 && ctx.Err() == nil {
		var err error
		if group, err = do(group); len(group) == 0 {
			return
		}
		f.w.text.Warn("results of effects wait; it is tried again", "step", what, "results", len(group), "err", err)
		pause.For(ctx, jitter(wait))
		wait = min(2*wait, mostFinishPause)
	}
}

// decide writes down how commands ended, before anybody is told. Those that
// another worker has ended get its result.
func (f *finisher) decide(ctx context.Context, group []*ending) (decided []*ending) {
	var open []*ending
	for _, e := range group {
		if e.t.mark.ended() {
			decided = append(decided, e)
		} else {
			open = append(open, e)
		}
	}
	f.until(ctx, "decide", open, func(open []*ending) (rest []*ending, last error) {
		batches := make([]board.Batch, len(open))
		for i, e := range open {
			batches[i] = e.mark.put(e.t.space, e.t.key, e.t.mark.Status, f.w.cfg.Keep)
		}
		for i, err := range f.w.board.CommitEach(ctx, batches) {
			e := open[i]
			if errors.Is(err, domain.ErrConflict) {
				if err = e.t.reread(ctx); err == nil && !e.t.mark.ended() {
					err = domain.Conflictf("another worker tries the command") // what it wrote is in the next guard
				} else if err == nil {
					e.mark = e.t.mark
				}
			}
			switch {
			case err == nil:
				e.t.mark = e.mark
				decided = append(decided, e)
			case errors.Is(err, domain.ErrInvalid):
				e.t.die(ctx, err)
			default:
				rest, last = append(rest, e), err
			}
		}
		return rest, last
	})
	return decided
}

// publish tells how commands ended. What is done was told of.
func (f *finisher) publish(ctx context.Context, group []*ending) (told []*ending) {
	var open []*ending
	for _, e := range group {
		if e.mark.Status == MarkDone {
			told = append(told, e)
		} else {
			open = append(open, e)
		}
	}
	f.until(ctx, "publish", open, func(open []*ending) (rest []*ending, last error) {
		messages := make([]stream.Message, len(open))
		for i, e := range open {
			messages[i] = resultMessage(e.t.command, e.mark.Result)
		}
		err := f.w.log.Publish(ctx, messages...)
		switch {
		case err == nil:
			told = append(told, open...)
			return nil, nil
		case !errors.Is(err, domain.ErrInvalid):
			return open, err
		case len(open) == 1: // nothing is wrong with commands but what a broker may think of them
			open[0].t.die(ctx, err)
			return nil, nil
		}
		told = append(told, f.publish(ctx, open[:len(open)/2])...)
		told = append(told, f.publish(ctx, open[len(open)/2:])...)
		return nil, nil
	})
	return told
}

// done marks commands whose result was published.
func (f *finisher) done(ctx context.Context, group []*ending) (done []*ending) {
	var open []*ending
	for _, e := range group {
		if e.mark.Status == MarkDone {
			done = append(done, e)
		} else {
			open = append(open, e)
		}
	}
	f.until(ctx, "mark", open, func(open []*ending) (rest []*ending, last error) {
		batches := make([]board.Batch, len(open))
		for i, e := range open {
			batches[i] = finishMark(e.t.space, e.t.key, f.w.cfg.Keep)
		}
		for i, err := range f.w.board.CommitEach(ctx, batches) {
			e := open[i]
			switch {
			case err == nil:
				f.w.cfg.Observer.EffectEnded(e.t.consumer.e.Name, e.mark.end(), e.mark.Attempts, time.Since(e.t.m.Time))
				done = append(done, e)
			case errors.Is(err, domain.ErrConflict): // another worker has marked it
				done = append(done, e)
			default:
				rest, last = append(rest, e), err
			}
		}
		return rest, last
	})
	return done
}
