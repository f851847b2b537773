package clockwork

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

const (
	// sweepPage is how many alarms or leases are fetched at once.
	sweepPage = 256
	// sweepHandlers is how many of one pool are handled at once: they wait for
	// commits, which the board gathers.
	sweepHandlers = 128
	// sweepShare is how many of them one context has at most: what it has due may
	// never end, as the times of schedules that are made up, and comes first.
	sweepShare = sweepHandlers - sweepHandlers/8
	// outsideShare is that where handlers may wait for what is outside, up to some
	// seconds each.
	outsideShare = sweepHandlers / 4
	// sweepWaiting is how many wait for a handler, about: when one ends, nothing is
	// read again.
	sweepWaiting = 4096
	// freshPart is which part of a look is new where the next one follows at once:
	// so a look reads as many for each that it takes, or there is a pause.
	freshPart = 4
	// sweepWait bounds one wait for something to come due.
	sweepWait = 30 * time.Second
	// unknownLater is when an alarm that nobody knows is looked at again.
	unknownLater = time.Hour
)

// pool is what handlers may wait for. Each has handlers of its own, so that
// what waits for the outside holds up nothing else.
type pool int

const (
	boardPool  pool = iota // only commits
	flowPool               // the archive is asked for the name of a flow
	streamPool             // an event is published
	bulkPool               // a part of a bulk operation, which is many commits
	pools
)

// share is how many handlers of a pool one context has at most.
func (l pool) share() int {
	if l == boardPool {
		return sweepShare
	}
	return outsideShare
}

// poolOf is the pool of an alarm, by the kind that its name says.
func poolOf(a board.Alarm) pool {
	if _, yes := layout.ParseScheduleAlarm(a.Name); yes {
		return flowPool
	}
	if _, yes := layout.ParseBackfillAlarm(a.Name); yes {
		return flowPool
	}
	if _, yes := layout.ParseTimerAlarm(a.Name); yes {
		return streamPool
	}
	if _, yes := layout.ParseBulkAlarm(a.Name); yes {
		return bulkPool
	}
	return boardPool
}

// Alarms is the service that hands due alarms to handle. An alarm that handle
// fails on stays set and comes again, after a pause that grows; one that
// nobody knows is logged and moved by an hour.
func Alarms(b board.Board, log *slog.Logger, handle func(context.Context, board.Alarm) (known bool, err error), late func(time.Duration)) Maintenance {
	return AlarmsWhere(b, log, handle, late, nil)
}

// AlarmsWhere is Alarms where room says whether there is room for what alarms make: when
// there is again, those that failed come at once.
func AlarmsWhere(b board.Board, log *slog.Logger, handle func(context.Context, board.Alarm) (known bool, err error), late func(time.Duration),
	room func() error) Maintenance {
	s := sweeper[board.Alarm]{log: log, due: b.Due, room: room, pool: poolOf,
		name: func(a board.Alarm) point { return point{a.Space, a.Name, a.At.UnixMilli()} },
		handle: func(ctx context.Context, a board.Alarm) error {
			if late != nil {
				late(b.Now().Sub(a.At))
			}
			known, err := handle(ctx, a)
			if known || err != nil {
				return err
			}
			log.Error("alarm of an unknown kind; is this node too old for the board?", "alarm", a.Name, "context", uint32(a.Space))
			later := board.Batch{Space: a.Space}
			later.AlarmAt(a.Name, a.At).SetAlarm(a.Name, b.Now().Add(unknownLater))
			return unlessChanged(b.Commit(ctx, later))
		}}
	return Maintenance{Name: "alarms", Round: s.round}
}

// Overdue returns the alarm that has come longest ago and is not handled yet, and
// how late it is; zero where there is none.
func Overdue(ctx context.Context, b interface {
	Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error)
	Now() time.Time
}) (a board.Alarm, late time.Duration, err error) {
	due, err := b.Due(ctx, 1, 0)
	if err != nil || len(due) == 0 {
		return a, 0, err
	}
	return due[0], max(0, b.Now().Sub(due[0].At)), nil
}

// Leases is the service that hands leases whose time has run out to recover.
// What nobody knows is logged and released.
func Leases(b board.Board, log *slog.Logger, recover func(context.Context, board.Lease) (known bool, err error)) Maintenance {
	s := sweeper[board.Lease]{log: log, due: b.Expired, pool: func(board.Lease) pool { return boardPool },
		name: func(l board.Lease) point { return point{l.Space, l.Item, l.Token} },
		handle: func(ctx context.Context, l board.Lease) error {
			known, err := recover(ctx, l)
			if known || err != nil {
				return err
			}
			log.Error("lapsed lease on an unknown kind of item released", "item", l.Item, "context", uint32(l.Space))
			release := board.Batch{Space: l.Space}
			release.Lapsed(l.Item, l.Token).Release(l.Item)
			if recs, err := b.Get(ctx, l.Space, l.Item); err == nil && recs[0].Bare() {
				release.Unset(l.Item, board.FieldAttempt) // or the mark of its claim would stay for ever
			}
			return unlessChanged(b.Commit(ctx, release))
		}}
	return Maintenance{Name: "leases", Round: s.round}
}

// unlessChanged takes a conflict for what it is here: another node was first.
func unlessChanged(err error) error {
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	return err
}

// point names one thing that has come due: an alarm at its instant, a lease
// with its token. What is handled well is due no more under this name.
type point struct {
	space board.Space
	name  string
	n     int64
}

// sweeper hands what comes due to its handler, each thing to one handler at a
// time.
type sweeper[T any] struct {
	log    *slog.Logger
	due    func(ctx context.Context, limit int, wait time.Duration) ([]T, error)
	name   func(T) point
	pool   func(T) pool
	handle func(context.Context, T) error
	room   func() error // nil: there always is
}

// round sweeps until ctx ends or the board cannot be asked.
func (s sweeper[T]) round(ctx context.Context) error {
	var backlogs [pools]*backlog[T]
	for l := range pools {
		backlogs[l] = newBacklog(l.share(), func(b *backlog[T], it T) { s.one(ctx, b, it) })
		defer backlogs[l].close()
	}
	passed, taken, left := 0, 0, 0 // in the last look
	full := false
	for ctx.Err() == nil {
		if was := full; s.room != nil {
			if full = s.room() != nil; was && !full {
				for _, b := range backlogs {
					b.wake()
				}
			}
		}
		// What is taken or rests is still due and comes first: the page is larger
		// by that, so that it hides nothing. Twice what was new, so that a backlog
		// is not read again for each page of it; what is left may be so for long where
		// the outside is waited for, and hides nothing either.
		due, err := s.due(ctx, sweepPage+passed+2*(taken+left), sweepWait)
		if err != nil {
			return err
		}
		passed, taken, left = 0, 0, 0
		for _, it := range due {
			l := s.pool(it)
			switch took := backlogs[l].take(s.name(it), it, time.Now()); {
			case took == isTaken:
				taken++
			case took == isKnown:
				passed++
			case l != boardPool:
				left++
			}
		}
		if freshPart*taken < len(due) {
			pause.For(ctx, sweepRest*time.Duration(1+len(due)/sweepWaiting))
		}
	}
	return nil
}

func (s sweeper[T]) one(ctx context.Context, backlog *backlog[T], it T) {
	p := s.name(it)
	err := s.handle(ctx, it)
	rest := backlog.end(p, err, time.Now())
	if err != nil && ctx.Err() == nil {
		s.log.Warn("handling what came due failed; it comes again", "item", p.name, "context", uint32(p.space), "in", rest, "err", err)
	}
}
