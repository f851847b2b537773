package service

import (
	"cmp"
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
	if p.Attempt < 0 {
		return domain.Invalidf("attempt %d: want its number, from 1 on", p.Attempt)
	}
	return checkWanted(p.LogWanted)
}

func checkWanted(w api.LogWanted) error {
	if w.Tail < 0 || w.Tail > logsMost {
		return domain.Invalidf("tail %d: want 1 to %d lines", w.Tail, logsMost)
	}
	if w.SinceMs < 0 {
		return domain.Invalidf("since_ms %d: want Unix milliseconds", w.SinceMs)
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
	log := jobLines{c: c, of: p.JobParams}
	page, err := log.page(ctx, p)
	if err != nil || len(page.Logs) > 0 {
		return page, err
	}
	// Nothing said, or no such job: only the record tells.
	if _, err := c.api.parts.Jobs.Show(ctx, p.Context, p.Key()); err != nil {
		if _, log.archived, err = c.showArchived(ctx, p.JobParams, err); err != nil {
			return api.LogPage{}, err
		}
		log.gone = true
		return log.page(ctx, p)
	}
	return page, nil
}

// page is a part of the lines that are wanted.
func (l *jobLines) page(ctx context.Context, p api.LogParams) (api.LogPage, error) {
	from, to, err := l.span(ctx, &p)
	if err != nil {
		return api.LogPage{}, err
	}
	n := cmp.Or(p.Limit, max(logsDefault, p.Tail))
	if to >= 0 {
		n = min(n, max(to-from, 0))
	}
	page := api.LogPage{From: from, Logs: []domain.Log{}}
	if n > 0 {
		var lines []domain.Log
		lines, err = l.read(ctx, from, n)
		page.Logs = append(page.Logs, lines...) // never null
	}
	return page, err
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
	number, to, err := (&jobLines{c: c, of: p.JobParams}).span(ctx, &p)
	if err != nil {
		return err
	}
	err = c.api.parts.Jobs.FollowLogs(ctx, p.Context, p.Key(), number, func(l domain.Log) error {
		e := api.Event{Name: api.EventLog, ID: strconv.Itoa(number), Data: l}
		number++
		if to >= 0 && number > to || p.Attempt > 0 && l.Attempt != p.Attempt || l.AtMs < p.SinceMs {
			return nil
		}
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
