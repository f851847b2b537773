package work

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
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
}

func (f Filter) matches(j *domain.Job) bool {
	return (f.Status == "" || f.Status == j.Status) && (f.Type == "" || f.Type == j.ScriptType) && (f.Caller == 0 || f.Caller == j.CallerID)
}

// listPage is how many records are looked at for one page of a list.
const listPage = 500

// List pages through a context's jobs, in the board's own order. Pass "" as
// cursor first, then what came back, until that is "". A page may be empty
// while more is to come. The jobs lack their scripts, environments and
// results: a page of large ones would be hundreds of megabytes.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID, f Filter, cursor string) ([]*domain.Job, string, error) {
	space := layout.SpaceOf(tenant)
	keys, next, err := e.board.Keys(ctx, space, layout.JobPrefix, cursor, listPage)
	if err != nil {
		return nil, "", err
	}
	recs, err := board.Listed(ctx, e.board, space, layout.JobLine, keys)
	if err != nil {
		return nil, "", err
	}
	jobs := make([]*domain.Job, 0, len(keys))
	for i, r := range recs {
		key, err := domain.ParseJobKey(keys[i])
		if r == nil || err != nil {
			continue
		}
		// A foreign record that cannot be read wholly is listed all the same.
		if j, _ := layout.DecodeJob(key, r); f.matches(j) {
			jobs = append(jobs, j)
		}
	}
	return jobs, next, nil
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
