package api

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// Bounds of job.logs: one page.
const (
	logsDefault = 1000
	logsMost    = 10_000
)

// LogParams are those of job.logs.
type LogParams struct {
	JobParams
	// From is the number of the first line wanted, from 0 on.
	From int `json:"-" query:"from"`
	// Limit is how many lines at most, up to 10,000. 0: 1,000. A stream has
	// no limit.
	Limit int `json:"-" query:"limit"`
}

func (p LogParams) check() error {
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
func (c Caller) JobLogs(ctx context.Context, p LogParams) (JobLogs, error) {
	if _, err := c.mayJob(ctx, identity.Read, p.JobParams); err != nil {
		return JobLogs{}, err
	}
	if err := p.check(); err != nil {
		return JobLogs{}, err
	}
	if p.Limit == 0 {
		p.Limit = logsDefault
	}
	lines, err := c.api.parts.Jobs.Logs(ctx, p.Context, p.Key(), p.From, p.Limit)
	if err != nil {
		return JobLogs{}, err
	}
	if len(lines) == 0 {
		// Nothing said, or no such job: only the record tells.
		if _, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key()); err != nil {
			if _, lines, err = c.showArchived(ctx, p.JobParams, err); err != nil {
				return JobLogs{}, err
			}
			from := min(p.From, len(lines))
			lines = lines[from:min(from+p.Limit, len(lines))]
		}
		lines = append([]domain.Log{}, lines...) // never null
	}
	return JobLogs{From: p.From, Logs: lines}, nil
}

// FollowLogs is the stream of job.logs. params are *[LogParams].
func (c Caller) FollowLogs(ctx context.Context, params any, emit func(Event) error) error {
	p := *params.(*LogParams)
	t, err := c.mayJob(ctx, identity.Read, p.JobParams)
	if err != nil {
		return err
	}
	if err := p.check(); err != nil {
		return err
	}
	number := p.From
	err = c.api.parts.Jobs.FollowLogs(ctx, p.Context, p.Key(), p.From, func(l domain.Log) error {
		e := Event{Name: EventLog, ID: strconv.Itoa(number), Data: l}
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
	return emit(Event{Name: EventEnd, Data: c.view(t, j)})
}
