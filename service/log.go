package service

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Bounds of job.logs: one page.
const (
	logsDefault = 1000
	logsMost    = 10_000
)

func checkLogs(p api.LogParams) error {
	if p.From < 0 {
		return domain.Invalidf("from %d: want the number of a line, from 0 on", p.From)
	}
	if p.Limit < 0 || p.Limit > logsMost {
		return domain.Invalidf("limit %d: want 1 to %d", p.Limit, logsMost)
	}
	return nil
}

// JobLogs reads lines of a job's log: from the archive, once the board has let
// it go.
func (c Caller) JobLogs(ctx context.Context, p api.LogParams) (api.LogPage, error) {
	if _, err := c.mayJob(ctx, domain.VerbRead, p.JobParams); err != nil {
		return api.LogPage{}, err
	}
	if err := checkLogs(p); err != nil {
		return api.LogPage{}, err
	}
	if p.Limit == 0 {
		p.Limit = logsDefault
	}
	lines, err := c.api.parts.Jobs.Logs(ctx, p.Context, p.Key(), p.From, p.Limit)
	if err != nil {
		return api.LogPage{}, err
	}
	if len(lines) == 0 {
		// Nothing said, or no such job: only the record tells.
		if _, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key()); err != nil {
			if _, lines, err = c.showArchived(ctx, p.JobParams, err); err != nil {
				return api.LogPage{}, err
			}
			from := min(p.From, len(lines))
			lines = lines[from:min(from+p.Limit, len(lines))]
		}
		lines = append([]domain.Log{}, lines...) // never null
	}
	return api.LogPage{From: p.From, Logs: lines}, nil
}

// FollowLogs is the stream of job.logs. params are *[api.LogParams].
func (c Caller) FollowLogs(ctx context.Context, params any, emit func(api.Event) error) error {
	p := *params.(*api.LogParams)
	t, err := c.mayJob(ctx, domain.VerbRead, p.JobParams)
	if err != nil {
		return err
	}
	if err := checkLogs(p); err != nil {
		return err
	}
	number := p.From
	err = c.api.parts.Jobs.FollowLogs(ctx, p.Context, p.Key(), p.From, func(l domain.Log) error {
		e := api.Event{Name: api.EventLog, ID: strconv.Itoa(number), Data: l}
		number++
		return emit(e)
	})
	if err != nil {
		return err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return err
	}
	j, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key())
	if err != nil {
		return err
	}
	return emit(api.Event{Name: api.EventEnd, Data: c.view(t, j)})
}
