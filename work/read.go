package work

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

// Show reads one job.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Show(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	return e.loadAny(ctx, layout.SpaceOf(tenant), key)
}

// Filter says which jobs to list. Zero fields do not filter.
type Filter struct {
	Status domain.JobStatus
	Type   domain.ScriptType
	Caller domain.ActorID
	Flow   domain.FlowID
	Phase  domain.JobPhase
	// Live lists only what has not ended.
	Live bool
	// Way is how they are to be listed: one that [Filter.Ways] has. Default: the way
	// on which they are found soonest.
	Way listing.Way
	// Callers are those whose jobs are listed newest first, where neither Caller nor
	// what Status says tells another order; those of others come after them.
	Callers []domain.ActorID
	// Look is how many records a page looks at. Default: [listing.Look].
	Look int
	// Brief reads of each only how it stands ([layout.JobStanding]): enough to count by.
	Brief bool
}

func (f Filter) matches(j *domain.Job) bool {
	return (f.Status == "" || f.Status == j.Status) && (f.Type == "" || f.Type == j.ScriptType) && (f.Caller == 0 || f.Caller == j.CallerID) &&
		(f.Flow == 0 || f.Flow == j.FlowID) && (f.Phase == "" || f.Phase == j.Phase()) && (!f.Live || !j.Final())
}

// Ways are those that miss nothing of what f wants.
func (f Filter) Ways() []listing.Way {
	switch {
	case f.Status == "" && !f.Live && f.Phase == "" || f.Status == domain.JobFinished:
		return []listing.Way{listing.WayNewest}
	case f.Status == domain.JobError:
		return []listing.Way{listing.WayLogged, listing.WayNewest}
	}
	return []listing.Way{listing.WayLive, listing.WayNewest}
}

// listPage is how many records are looked at for one page of a list.
const listPage = listing.Look

// List pages through a context's jobs: those that have not ended in the order in
// which they began, those that ended in error the newest end first, others the newest
// number first. Pass "" as cursor first, then what came back as Next, until that is
// "". A page may be empty while more is to come. The jobs lack their scripts,
// environments and results: a page of large ones would be hundreds of megabytes.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID, f Filter, cursor string) ([]*domain.Job, listing.At, error) {
	p, err := e.listPage(ctx, layout.SpaceOf(tenant), f, cursor)
	if err != nil {
		return nil, p.At, err
	}
	jobs := make([]*domain.Job, 0, len(p.Keys))
	way, _ := listing.WayOf(cursor) // it was good for the page
	// What is marked was listed already, and only what no node knows of is still to come.
	rest := e.cfg.Foreign && way == listing.WayNewest && f.Way != listing.WayNewest && f.Ways()[0] == listing.WayLive
	for i, r := range p.Records {
		key, err := domain.ParseJobKey(p.Keys[i])
		if r == nil || err != nil {
			continue
		}
		// A foreign record that cannot be read wholly is listed all the same.
		if j, _ := layout.DecodeJob(key, r); f.matches(j) && !(rest && tended(j)) {
			jobs = append(jobs, j)
		}
	}
	return jobs, p.At, nil
}

// tended reports whether a node has taken a job over, and has marked it as unfinished.
func tended(j *domain.Job) bool {
	return j.LeaseOwner != "" || j.At != "" || j.QueuedMs != 0 || j.Waits > 0 || j.NextRetryMs != 0
}

// listPage is a page of the records among which the jobs are that f wants.
func (e *Engine) listPage(ctx context.Context, space board.Space, f Filter, cursor string) (p listing.Page, err error) {
	way, err := listing.WayOf(cursor)
	if err != nil {
		return p, err
	}
	recs := listing.Records{Board: e.board, Space: space, Prefix: layout.JobPrefix, Fields: layout.JobLine, Look: f.Look}
	if f.Brief {
		recs.Fields = layout.JobStanding
	}
	if way == listing.WayNone {
		if way, err = e.way(ctx, space, f); err != nil {
			return p, err
		}
	}
	switch way {
	case listing.WayLogged:
		return recs.Logged(ctx, layout.FailedJobs, layout.JobFinishedMs, layout.ParseFailed, cursor)
	case listing.WayLive:
		p, err = recs.Live(ctx, cursor)
		if err == nil && p.Next == "" && e.cfg.Foreign {
			// What another program has written is marked only when it is taken over.
			p.Next = listing.Begin(listing.WayNewest)
		}
		return p, err
	}
	callers := f.Callers
	if f.Caller != 0 {
		callers = []domain.ActorID{f.Caller}
		recs.Prefix = layout.JobPrefix + callerPart(f.Caller)
	}
	var numbers []listing.Numbers
	for _, c := range callers {
		n := listing.Numbers{Counter: layout.Seq("job", c)}
		if f.Caller == 0 {
			n.Name = callerPart(c)
		}
		numbers = append(numbers, n)
	}
	return recs.Newest(ctx, numbers, layout.JobCreatedAt, cursor)
}

func callerPart(c domain.ActorID) string { return strconv.FormatUint(uint64(c), 10) + ":" }

// way is how the jobs are listed that f wants.
func (e *Engine) way(ctx context.Context, space board.Space, f Filter) (listing.Way, error) {
	return e.WayOn(ctx, space, f.Ways(), f.Way)
}

// WayOn is the way that is asked for, or the first of ways where none is. The lists of
// what ended in error may not be relied upon yet: then they are no way.
//
// Errors: [domain.ErrUnavailable] where they are asked for all the same.
func (e *Engine) WayOn(ctx context.Context, space board.Space, ways []listing.Way, asked listing.Way) (listing.Way, error) {
	way := cmp.Or(asked, ways[0])
	if way != listing.WayLogged {
		return way, nil
	}
	whole, err := e.FailedWhole(ctx, space)
	if err != nil || whole {
		return way, err
	}
	if asked == listing.WayLogged {
		return way, domain.Unavailablef("the list of what ended in error is still being made on this board; sort by newest meanwhile")
	}
	return listing.WayNewest, nil
}

// waitPoll is how often Wait looks without being told: the net under a watch.
const waitPoll = 15 * time.Second

// Wait returns the job once it has ended.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Wait(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	if err := e.Await(ctx, tenant, key); err != nil {
		return nil, err
	}
	return e.Show(ctx, tenant, key)
}

// Await returns once the job has ended. It reads its status alone: many may wait for
// a large one.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Await(ctx context.Context, tenant domain.TenantID, key domain.JobKey) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	space := layout.SpaceOf(tenant)
	events, err := e.board.Watch(ctx, space, key.String())
	if err != nil {
		return err
	}
	for {
		if ended, err := e.hasEnded(ctx, space, key); ended || err != nil {
			return err
		}
		if err := nextEvent(ctx, events, key.String()); err != nil {
			return err
		}
	}
}

// hasEnded reports whether the job has ended, and is not tried again.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) hasEnded(ctx context.Context, space board.Space, key domain.JobKey) (bool, error) {
	recs, err := e.board.GetFields(ctx, space, layout.JobEnd, key.String())
	j, _, err := loaded(space, key, recs, err)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return false, err
	}
	return j.Final() && !j.TriesAgain(), nil
}

// errBoardClosed says that a watch ended because the node is stopping.
var errBoardClosed = domain.Unavailablef("the board was closed")

// nextEvent waits until key may have changed.
func nextEvent(ctx context.Context, events <-chan board.Event, key string) error {
	poll := time.NewTimer(waitPoll)
	defer poll.Stop()
	for {
		select {
		case ev, open := <-events:
			if !open {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				return errBoardClosed
			}
			// The prefix job:1:2 also covers job:1:20.
			if ev.Key == key || ev.Key == "" {
				return nil
			}
		case <-poll.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
