package work

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file follows foreign runners that work on the store itself, past every
// door: they pop a key from a queue, and write into the job's record. The store
// tells that somebody pops from a queue, not what. So that is remembered, and
// from then on the jobs of that context are followed by the changes of their
// records. Contexts in which only our own runners work cost nothing.

const (
	// takenPage is how many of the queues that foreign runners take from are read
	// at once.
	takenPage = 1000
	// maxTaken is how many types of jobs are remembered for a context: lists of any
	// name can be pushed to and popped from.
	maxTaken = 100
	// sweepRest is how many times as long as it worked a look through all records of
	// a context rests after each page.
	sweepRest = 20
	// sweepAge is how old a record may be, by its own dates, that such a look heeds.
	// What was left on the store before that is history: its errors are not tried
	// again, and nobody has it that may come back.
	sweepAge = 7 * 24 * time.Hour
	// followAgain is after which time a context is followed again that could not be.
	followAgain = time.Minute
)

// FollowTaken looks after what foreign runners do past the board, until ctx ends.
// After an error it is to be called again. taken tells of the queues that they pop
// from: the Key of an event is the list.
//
// An end that they write is followed up at once. Jobs that they took and no node
// had seen before are marked as unfinished, so that the auditor watches them.
func (e *Engine) FollowTaken(ctx context.Context, taken <-chan board.Event) error {
	g, running := errgroup.WithContext(ctx)
	f := takings{e: e, group: g, followed: map[board.Space]chan struct{}{}}
	f.known.Store(&map[string]bool{})
	g.Go(func() error { return f.run(running, taken) })
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

// takings follow the foreign runners of all contexts.
type takings struct {
	e     *Engine
	group *errgroup.Group
	// followed are the contexts in which foreign runners work, each with where a look
	// through all its records is asked for; nobody closes these.
	followed map[board.Space]chan struct{}
	types    map[board.Space]int             // how many queues each has in known
	known    atomic.Pointer[map[string]bool] // the members of layout.Taken
}

// run begins to follow a context when the first of its queues is taken from.
func (f *takings) run(ctx context.Context, taken <-chan board.Event) error {
	marks, err := f.e.board.Watch(ctx, 0, layout.Taken)
	if err != nil {
		return err
	}
	for {
		if err := f.load(ctx); err != nil {
			return err
		}
		for news := false; !news; {
			select {
			case _, news = <-marks:
				if !news {
					return domain.Unavailablef("the board is closed")
				}
			case t, open := <-taken:
				if !open {
					return domain.Unavailablef("the board tells no more who takes from its queues")
				}
				if news, err = f.mark(ctx, t); err != nil {
					return err
				}
			}
		}
	}
}

// mark remembers that a queue of jobs is taken from, if that is new.
func (f *takings) mark(ctx context.Context, t board.Event) (news bool, err error) {
	member := layout.TakenFrom(t.Space, t.Key)
	if _, jobs := queue.TypeOf(t.Key); !jobs || (*f.known.Load())[member] || f.types[t.Space] >= maxTaken {
		return false, nil
	}
	var b board.Batch
	return true, f.e.board.Commit(ctx, *b.Include(layout.Taken, member))
}

// load reads which queues are taken from, and follows their contexts.
func (f *takings) load(ctx context.Context) error {
	known, types := map[string]bool{}, map[board.Space]int{}
	for after := ""; ; {
		page, err := f.e.board.Members(ctx, 0, layout.Taken, after, takenPage)
		if err != nil {
			return err
		}
		for _, m := range page {
			known[m], after = true, m
		}
		if len(page) < takenPage {
			break
		}
	}
	was := f.known.Swap(&known)
	for m := range known {
		space, ok := layout.ParseTaken(m)
		if !ok {
			continue
		}
		types[space]++
		sweeps, followed := f.followed[space]
		switch {
		case !followed:
			sweeps = make(chan struct{}, 1)
			f.followed[space] = sweeps
			f.group.Go(func() error { return f.follow(ctx, space, sweeps) })
			f.group.Go(func() error { return f.sweep(ctx, space, sweeps) })
		case !(*was)[m]: // its jobs have not been looked at for this
			ask(sweeps)
		}
	}
	f.types = types
	return nil
}

// ask asks for a look through all records. One that is asked for already, and has
// not begun, will do.
func ask(sweeps chan<- struct{}) {
	select {
	case sweeps <- struct{}{}:
	default:
	}
}

// follow looks at the jobs of a context that change. What is wrong in one context
// does not keep it from the others.
func (f *takings) follow(ctx context.Context, space board.Space, sweeps chan<- struct{}) error {
	for {
		err := f.followChanges(ctx, space, sweeps)
		if ctx.Err() != nil || errors.Is(err, domain.ErrUnavailable) {
			return err
		}
		f.e.log.Warn("foreign runners of a context not followed", "context", space, "err", err)
		pause.For(ctx, followAgain)
	}
}

func (f *takings) followChanges(ctx context.Context, space board.Space, sweeps chan<- struct{}) error {
	ctx, cancel := context.WithCancel(ctx) // the watch ends with this
	defer cancel()
	events, err := f.e.board.Watch(ctx, space, layout.JobPrefix)
	if err != nil {
		return err
	}
	missed := true // what changed before
	for {
		if missed {
			ask(sweeps)
			if err := f.lookAtLive(ctx, space); err != nil {
				return err
			}
		}
		var keys []string
		if keys, missed, err = changed(ctx, events); err == nil && !missed {
			err = f.look(ctx, space, keys, asked{})
		}
		if err != nil {
			return err
		}
	}
}

// changed waits for changes, and returns all keys that there are, each once.
// missed is true where it may not have been told of all.
func changed(ctx context.Context, events <-chan board.Event) (keys []string, missed bool, err error) {
	seen := map[string]bool{}
	for len(seen) == 0 || len(events) > 0 && len(seen) < listPage {
		select {
		case ev, open := <-events:
			switch {
			case !open:
				return nil, false, domain.Unavailablef("the board tells no more of changes")
			case ev.Key == "":
				return nil, true, nil
			case !seen[ev.Key]:
				seen[ev.Key] = true
				keys = append(keys, ev.Key)
			}
		case <-ctx.Done():
			return nil, false, ctx.Err()
		}
	}
	return keys, false, nil
}

// lookAtLive looks at all jobs of a context that are marked as unfinished. It leaves the
// marks as they are: one that is set anew goes to the end of these pages, which then would
// have none, and the auditor's time for it begins anew.
func (f *takings) lookAtLive(ctx context.Context, space board.Space) error {
	for after := (board.LiveItem{}); ; {
		page, err := f.e.board.Live(ctx, space, after, listPage)
		if err != nil || len(page) == 0 {
			return err
		}
		keys := make([]string, len(page))
		for i, it := range page {
			keys[i], after = it.Item, it
		}
		if err := f.look(ctx, space, keys, asked{marked: true}); err != nil {
			return err
		}
	}
}

// sweep looks at the records of all jobs of a context, whenever that is asked for:
// those too that no node has marked as unfinished.
func (f *takings) sweep(ctx context.Context, space board.Space, sweeps <-chan struct{}) error {
	for {
		select {
		case <-sweeps:
		case <-ctx.Done():
			return ctx.Err()
		}
		err := f.sweepOnce(ctx, space)
		switch {
		case ctx.Err() != nil || errors.Is(err, domain.ErrUnavailable):
			return err
		case err != nil:
			f.e.log.Warn("jobs of a context not looked through for foreign runners", "context", space, "err", err)
		}
	}
}

func (f *takings) sweepOnce(ctx context.Context, space board.Space) error {
	for cursor := ""; ; {
		begun := time.Now()
		keys, next, err := f.e.board.Keys(ctx, space, layout.JobPrefix, cursor, listPage)
		if err == nil {
			err = f.look(ctx, space, keys, asked{since: domain.At(begun.Add(-sweepAge))})
		}
		if cursor = next; err != nil || next == "" {
			return err
		}
		pause.For(ctx, time.Since(begun)*sweepRest)
	}
}

// asked is how jobs come to be looked at.
type asked struct {
	since  domain.UnixTime // those whose dates are all before it are left alone
	marked bool            // as unfinished: the auditor watches them already
}

// look does what there is to do for jobs that may have changed by a foreign hand.
func (f *takings) look(ctx context.Context, space board.Space, items []string, a asked) error {
	if len(items) == 0 {
		return nil
	}
	recs, _, err := board.PerKey(f.e.board.GetFields(ctx, space, layout.JobLine, items...))
	if err != nil {
		return err
	}
	now := f.e.board.Now()
	var batches []board.Batch
	for i, rec := range recs {
		key, err := jobItem(items[i])
		if rec == nil || err != nil || key.String() != items[i] {
			continue
		}
		j, _ := layout.DecodeJob(key, rec) // as far as it can be read
		if dated := max(j.CreatedAt, j.UpdatedAt, domain.At(time.UnixMilli(j.StartedMs))); dated != 0 && dated < a.since {
			continue
		}
		if b, some := f.heed(space, j, a.marked, now); some {
			batches = append(batches, b)
		}
	}
	if len(batches) == 0 {
		return nil
	}
	for _, err := range f.e.board.CommitEach(ctx, batches) {
		if err = unlessConflict(err); err != nil {
			return err
		}
	}
	return nil
}

// heed says what there is to do for a job as it stands: nothing where it is ours
// to look after, has ended with all that follows, or lies in a queue for all we know.
func (f *takings) heed(space board.Space, j *domain.Job, marked bool, now time.Time) (b board.Batch, some bool) {
	key := j.Key().String()
	b.Space = space
	b.Free(key)
	b.Equal(key, layout.JobStatus, string(j.Status))
	asRead(&b, j, layout.JobFinishedMs, layout.JobQueuedMs)
	switch {
	case j.FinishedMs != 0 && j.LeaseOwner == "" && j.Status != j.EndStatus():
		// A runner that was slower, or has taken the key by another entry, wrote after
		// the end. The first end counts, and what follows has been told of it.
		b.Equal(key, layout.JobReason, string(j.Reason))
		b.Set(key, board.Field{Name: layout.JobStatus, Value: string(j.EndStatus())})
		return b, true
	case j.FinishedMs != 0 || j.LeaseOwner != "" || j.At != "":
		return b, false
	case j.Final() || j.AliveUntil != 0: // it ended, or says that it lives: the alarm does what follows
		b.SetAlarm(layout.Alarm(layout.AlarmForeign, j.Key()), now)
		return b, true
	case marked || j.ScriptType == "" || j.QueuedMs != 0 || j.Waits > 0 || j.NextRetryMs != 0:
		return b, false // not written yet, or taken over long since
	case j.Status == domain.JobStarted || (*f.known.Load())[layout.TakenFrom(space, queue.Of(j))]:
		b.Equal(key, layout.JobScriptType, string(j.ScriptType)) // it is there still
		b.Live(key, now)
		scanFlows(&b, now)
		return b, true
	}
	return b, false
}

// takenIn returns which queues foreign runners take from in a context.
func (e *Engine) takenIn(ctx context.Context, space board.Space) (func(list string) bool, error) {
	known := map[string]bool{}
	for after := layout.TakenFrom(space, ""); ; {
		page, err := e.board.Members(ctx, 0, layout.Taken, after, takenPage)
		if err != nil {
			return nil, err
		}
		for _, m := range page {
			if of, _ := layout.ParseTaken(m); of != space {
				page = nil
				break
			}
			known[m], after = true, m
		}
		if len(page) < takenPage {
			return func(list string) bool { return known[layout.TakenFrom(space, list)] }, nil
		}
	}
}
