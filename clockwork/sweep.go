package clockwork

import (
	"context"
	"log/slog"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
)

const (
	// sweepPage is how many alarms or leases are handled in one round.
	sweepPage = 256
	// sweepHandlers is how many at once: looking at a prerequisite may take
	// seconds, and must not hold up the others.
	sweepHandlers = 32
	// sweepWait bounds one wait for something to come due.
	sweepWait = 30 * time.Second
)

// Alarms is the routine that hands due alarms to handle. An alarm that handle
// fails on stays set and comes again; one that nobody knows is logged and
// moved by an hour, so that it does not hide the others.
func Alarms(b board.Board, log *slog.Logger, handle func(context.Context, board.Alarm) (known bool, err error), late func(time.Duration)) Routine {
	s := alarmSweep{board: b, log: log, handle: handle, late: late}
	return Routine{Name: "alarms", Round: s.round}
}

type alarmSweep struct {
	board  board.Board
	log    *slog.Logger
	handle func(context.Context, board.Alarm) (bool, error)
	late   func(time.Duration)
}

func (s alarmSweep) round(ctx context.Context) error {
	due, err := s.board.Due(ctx, sweepPage, sweepWait)
	if err != nil {
		return err
	}
	var g errgroup.Group
	g.SetLimit(sweepHandlers)
	for _, a := range due {
		if s.late != nil {
			s.late(time.Since(a.At))
		}
		g.Go(func() error { return s.one(ctx, a) })
	}
	return g.Wait()
}

func (s alarmSweep) one(ctx context.Context, a board.Alarm) error {
	known, err := s.handle(ctx, a)
	if known || err != nil {
		return err
	}
	s.log.Error("alarm of an unknown kind", "alarm", a.Name, "context", uint32(a.Space))
	b := board.Batch{Space: a.Space}
	b.AlarmAt(a.Name, a.At).SetAlarm(a.Name, time.Now().Add(time.Hour))
	return s.board.Commit(ctx, b)
}

// Leases is the routine that hands leases whose time has run out to recover.
func Leases(b board.Board, log *slog.Logger, recover func(context.Context, board.Lease) (known bool, err error)) Routine {
	return Routine{Name: "leases", Round: func(ctx context.Context) error {
		lapsed, err := b.Expired(ctx, sweepPage, sweepWait)
		if err != nil {
			return err
		}
		var g errgroup.Group
		g.SetLimit(sweepHandlers)
		for _, l := range lapsed {
			g.Go(func() error {
				known, err := recover(ctx, l)
				if !known && err == nil {
					log.Error("lapsed lease on an unknown kind of item released", "item", l.Item, "context", uint32(l.Space))
					rel := board.Batch{Space: l.Space}
					rel.Lapsed(l.Item, l.Token).Release(l.Item)
					err = b.Commit(ctx, rel)
				}
				return err
			})
		}
		return g.Wait()
	}}
}
