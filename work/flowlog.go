package work

import (
	"context"
	"slices"
	"sort"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file reads what somebody needs who shows the logs of a flow's jobs together.

const (
	// headsPage is how many records are read at once.
	headsPage = 500
	// gapPages is after how many pages without any job nothing is looked for any more.
	gapPages = 4
	// probeWidth is how many numbers are looked at to find when about one was given out.
	probeWidth = 32
)

// Heads reads jobs without what may be large; nil is one that the board does not have.
func (e *Engine) Heads(ctx context.Context, tenant domain.TenantID, keys []domain.JobKey) ([]*domain.Job, error) {
	jobs := make([]*domain.Job, 0, len(keys))
	for from := 0; from < len(keys); from += headsPage {
		page := keys[from:min(from+headsPage, len(keys))]
		names := make([]string, len(page))
		for i, k := range page {
			names[i] = k.String()
		}
		recs, err := board.Listed(ctx, e.board, layout.SpaceOf(tenant), layout.JobLine, names)
		if err != nil {
			return nil, err
		}
		for i, r := range recs {
			var j *domain.Job
			if r != nil {
				j, _ = layout.DecodeJob(page[i], r)
			}
			jobs = append(jobs, j)
		}
	}
	return jobs, nil
}

// MadeFor finds the jobs of a flow whose numbers are above one, the newest first, and up to
// which number it looked. A flow remembers only the jobs of single steps, and of others
// those that are open: the rest stand among the numbers that its caller's jobs were given
// while it ran.
func (e *Engine) MadeFor(ctx context.Context, tenant domain.TenantID, f *domain.Flow, above domain.JobID) (jobs []*domain.Job, top domain.JobID, err error) {
	next, err := e.board.Next(ctx, layout.SpaceOf(tenant), layout.Seq("job", f.CallerID), 0)
	if err != nil {
		return nil, above, err
	}
	if top = domain.JobID(next) - 1; top <= above {
		return nil, above, nil
	}
	if f.Final() {
		if top, err = e.lastMade(ctx, tenant, f, above, top); err != nil {
			return nil, above, err
		}
	}
	for at, gaps := top, 0; at > above && gaps < gapPages; gaps++ {
		n := min(int(at-above), headsPage)
		at -= domain.JobID(n)
		page, err := e.Heads(ctx, tenant, numbersFrom(f.CallerID, at+1, n))
		if err != nil {
			return nil, above, err
		}
		for _, j := range slices.Backward(page) {
			switch {
			case j == nil:
				continue
			case j.CreatedAt < f.CreatedAt:
				return jobs, top, nil
			case j.FlowID == f.ID:
				jobs = append(jobs, j)
			}
			gaps = 0
		}
	}
	return jobs, top, nil
}

// lastMade is the last number, above one and up to top, that was given out while a flow ran
// which has ended since.
func (e *Engine) lastMade(ctx context.Context, tenant domain.TenantID, f *domain.Flow, above, top domain.JobID) (last domain.JobID, err error) {
	end := domain.UnixTime(f.FinishedMs/1000 + 1)
	n := sort.Search(int(top-above), func(n int) bool {
		if err != nil {
			return true
		}
		var page []*domain.Job
		page, err = e.Heads(ctx, tenant, numbersFrom(f.CallerID, above+1+domain.JobID(n), probeWidth))
		for _, j := range page {
			if j != nil {
				return j.CreatedAt > end
			}
		}
		return false
	})
	return above + domain.JobID(n), err
}

func numbersFrom(caller domain.ActorID, first domain.JobID, n int) []domain.JobKey {
	keys := make([]domain.JobKey, n)
	for i := range keys {
		keys[i] = domain.JobKey{Caller: caller, ID: first + domain.JobID(i)}
	}
	return keys
}

// LogLen is how many lines the log of a job has.
func (e *Engine) LogLen(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (int, error) {
	n, err := e.board.Len(ctx, layout.SpaceOf(tenant), layout.Logs(key))
	if err != nil {
		return 0, err
	}
	return n[0], nil
}

// LogsChange tells when a job of a caller has said something: an event may be lost among
// many, never the last.
func (e *Engine) LogsChange(ctx context.Context, tenant domain.TenantID, caller domain.ActorID) (<-chan board.Event, error) {
	prefix := layout.Logs(domain.JobKey{Caller: caller, ID: 1})
	return e.board.Watch(ctx, layout.SpaceOf(tenant), prefix[:len(prefix)-1])
}
