package clockwork

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

var _ Auditor = (*Schedules)(nil)

// Audit looks whether each schedule of a context has the alarm by which its next time comes, and
// each backfill the one by which it goes on, and sets those that are missing: whoever can write
// to the store can delete them. It rests after each page, rest times as long as that took.
func (s *Schedules) Audit(ctx context.Context, tenant domain.TenantID, rest int) (report domain.Audit, err error) {
	for cursor := ""; ; {
		begun := time.Now()
		list, next, err := s.List(ctx, tenant, cursor)
		if err != nil {
			return report, err
		}
		for _, sched := range list {
			if err := s.alarmed(ctx, tenant, sched, &report); err != nil {
				return report, err
			}
		}
		if cursor = next; cursor == "" {
			return report, nil
		}
		if rest > 0 {
			pause.For(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
}

// alarmed sets the alarms of a schedule that are missing, if it is as it was read.
func (s *Schedules) alarmed(ctx context.Context, tenant domain.TenantID, sched *domain.Schedule, report *domain.Audit) error {
	due := map[string]time.Time{}
	if sched.State.NextMs != 0 && !sched.Paused {
		due[layout.ScheduleAlarm(sched.Name)] = time.UnixMilli(sched.State.NextMs)
	}
	if fill := sched.State.Backfill; fill != nil && !fill.Final() {
		due[layout.BackfillAlarm(sched.Name)] = s.board.Now()
	}
	for name, at := range due {
		space := layout.SpaceOf(tenant)
		if _, set, err := s.board.AlarmOf(ctx, space, name); err != nil || set {
			if err != nil {
				return err
			}
			continue
		}
		b := board.Batch{Space: space}
		layout.ScheduleGuard(&b, sched).SetAlarm(name, at)
		if err := s.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
			continue // it has changed meanwhile, and its alarm with it
		} else if err != nil {
			return err
		}
		report.Repaired = append(report.Repaired, domain.Finding{Key: layout.Schedule(sched.Name),
			Text: "it should come at a time, but its alarm " + name + " is not set; it was set"})
	}
	return nil
}
