package work

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// This file holds jobs in as far as their contexts want it. A claimer that cannot
// do that for a context learns it from the first job that it claims there, puts
// that back untouched for other nodes, and passes over the context from then on.

// isolationLook is how often a claimer looks whether it still has to pass over
// contexts: a claim under way does not hear of a change.
const isolationLook = 5 * time.Second

// isolation asks [Config.Isolation].
func (e *Engine) isolation(ctx context.Context, space board.Space) (domain.Isolation, error) {
	if e.cfg.Isolation == nil {
		return "", nil
	}
	return e.cfg.Isolation(ctx, domain.TenantID(space))
}

// holds reports whether the claimer's runtime can hold scripts in that far. One
// inside the node has none that could reach the machine.
func (l *claimer) holds(want domain.Isolation) bool {
	return want == "" || l.info.InProcess || slices.Contains(l.info.Levels, domain.Tightest(want, l.info.Level))
}

// holdIn finds out how far the job is held in, and puts it back where that cannot
// be had here.
func (x *run) holdIn(b *board.Batch) (what ended, left bool, err error) {
	x.level, err = x.r.e.isolation(x.Ctx, x.Claimed.Space)
	if err != nil || x.claimer.holds(x.level) {
		return what, false, err
	}
	x.claimer.passOver(x.Claimed.Space, x.level)
	x.putBack(b)
	return ended{status: domain.JobStarted, text: "put back: its context wants its scripts " + string(x.level)}, true, nil
}

// putBack lets go of a job that was not begun, where it is taken first.
func (x *run) putBack(b *board.Batch) {
	x.letGo(b)
	b.PushRight(queue.Of(x.job), x.Claimed.Item)
}

// passOver has the claimer take nothing of a context.
func (l *claimer) passOver(space board.Space, want domain.Isolation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.passed[space] {
		return
	}
	l.passed[space] = true
	if l.interrupt != nil {
		l.interrupt()
	}
	l.r.log.Warn("jobs of a context left to other nodes: its scripts cannot be held in here as far as it wants", "script_type", string(l.typ),
		"context", uint32(space), "isolation", string(want), "err", l.info.Refused[want])
}

// stillPassed are the contexts that the claimer passes over, of those it did so far.
func (l *claimer) stillPassed(ctx context.Context) []board.Space {
	l.mu.Lock()
	spaces := slices.Collect(maps.Keys(l.passed))
	l.mu.Unlock()
	return slices.DeleteFunc(spaces, func(space board.Space) bool {
		want, err := l.r.e.isolation(ctx, space)
		if err != nil || !l.holds(want) {
			return false
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.passed, space)
		return true
	})
}
