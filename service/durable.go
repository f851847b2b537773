package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Bounds of job.history: one page.
const (
	historyDefault = 100
	historyMost    = 1000
)

// SignalJob tells a job what its script waits for.
func (c Caller) SignalJob(ctx context.Context, p api.SignalParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, domain.VerbStart, p.JobParams)
	if err != nil {
		return nil, err
	}
	j, err := c.api.parts.Jobs.Signal(ctx, p.Context, p.Key(), domain.Signal{Name: p.Name, Payload: p.Payload, By: c.who.Actor})
	if err != nil {
		if ended, _, gone := c.showArchived(ctx, p.JobParams, err); gone == nil {
			err = domain.Conflictf("job %q has ended (%s): nobody would ever hear the signal", p.Key(), ended.Status)
		}
		return nil, err
	}
	return c.view(t, j), nil
}

// JobHistory reads what a job remembers: from the archive, once the board has let it go.
func (c Caller) JobHistory(ctx context.Context, p api.JobHistoryParams) (api.JobHistoryPage, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return api.JobHistoryPage{}, err
	}
	if p.From < 0 || p.Limit < 0 || p.Limit > historyMost {
		return api.JobHistoryPage{}, domain.Invalidf("from %d, limit %d: want the number of an event, from 0 on, and 1 to %d", p.From, p.Limit, historyMost)
	}
	if p.Limit == 0 {
		p.Limit = historyDefault
	}
	out := api.JobHistoryPage{From: p.From}
	events, total, err := c.api.parts.Jobs.History(ctx, p.Context, p.Key(), p.From, p.Limit)
	if err == nil {
		out.Signals, err = c.api.parts.Jobs.SignalsOf(ctx, p.Context, p.Key())
	} else {
		var j *domain.Job
		if j, err = c.archivedJob(ctx, p.JobParams, err); err == nil {
			from := min(p.From, len(j.History))
			events, total = j.History[from:min(from+p.Limit, len(j.History))], len(j.History)
		}
	}
	out.Events, out.Total = append([]domain.HistoryEvent{}, events...), total // never null
	return out, err
}

// ForkJob submits a job's script again with what it did before a step.
func (c Caller) ForkJob(ctx context.Context, p api.ForkParams) (*domain.Job, error) {
	t, err := c.mayJob(ctx, domain.VerbCreate, p.JobParams)
	if err != nil {
		return nil, err
	}
	if err := c.maySubmit(ctx, p.Context, "job"); err != nil {
		return nil, err
	}
	var archived *domain.Job
	if _, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key()); err != nil {
		if archived, err = c.archivedJob(ctx, p.JobParams, err); err != nil {
			return nil, err
		}
	}
	j, err := c.api.parts.Jobs.Fork(ctx, p.Context, p.Key(), p.From, c.who.Actor, archived, c.once.name(0), onceFor)
	if err != nil {
		return nil, err
	}
	return c.view(t, j), nil
}
