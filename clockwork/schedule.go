package clockwork

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/clockwork/timetable"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/room"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

const (
	// scheduleTries is how often a change of a schedule is tried while others
	// change it, too.
	scheduleTries = 8
	// schedulePage is how many schedules a page of a list has.
	schedulePage = 100
	// MaxSchedules bounds the schedules of a context.
	MaxSchedules = domain.MaxSchedulesOf
	// MaxUpcoming is how many times can be asked for.
	MaxUpcoming = 1000
)

// FlowMaker makes flows.
type FlowMaker interface {
	Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error)
	// Named are the flows of a blueprint that have these triggers, on the board or in the
	// archive; 0 for what there is none of.
	Named(ctx context.Context, tenant domain.TenantID, blueprint string, triggers []string) ([]domain.FlowID, error)
}

// Schedules keeps the schedules of all contexts, and makes their flows. It has
// nothing in memory: what is known stands on the board, in one record and one
// alarm for each. It is safe for concurrent use.
type Schedules struct {
	board board.Board
	flows FlowMaker
	rooms *room.Room
	log   *slog.Logger
	told  ScheduleObserver
}

// ScheduleObserver is told what becomes of the times of schedules. It must be quick.
type ScheduleObserver interface {
	// ScheduleTimes is told of n times that have come, once that is durable: outcome is one
	// of [domain.ScheduleMade] and its like, late how long after the time a flow was made.
	ScheduleTimes(t domain.TenantID, schedule, outcome string, n int64, late time.Duration)
}

// nobody is an observer that does not care.
type nobody struct{}

func (nobody) ScheduleTimes(domain.TenantID, string, string, int64, time.Duration) {}

// NewSchedules returns the schedules of a board. log may be nil.
func NewSchedules(b board.Board, f FlowMaker, log *slog.Logger) *Schedules {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Schedules{board: b, flows: f, rooms: room.New(b, "schedule"), log: log, told: nobody{}}
}

// Observed has o told what happens, for metrics. It is called before anything is done.
func (s *Schedules) Observed(o ScheduleObserver) *Schedules {
	s.told = o
	return s
}

// Apply makes a schedule, or changes the one of that name, in the name of by.
// One that is the same already stays as it is. A schedule that is paused stays
// so. Counters go on, unless the definition gives them another beginning; so
// does a time that is due, unless the times are others now.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] while others change it;
// [domain.ErrLimit].
func (s *Schedules) Apply(ctx context.Context, tenant domain.TenantID, def domain.Schedule, by domain.ActorID) (*domain.Schedule, error) {
	def = def.Defined()
	table, err := timetable.New(&def)
	if err != nil {
		return nil, err
	}
	if text, err := json.Marshal(def); err != nil || len(text) > domain.MaxScheduleBytes {
		return nil, domain.Invalidf("schedule %q has %d bytes as JSON, the limit is %d", def.Name, len(text), domain.MaxScheduleBytes)
	}
	return s.write(ctx, tenant, def.Name, func(old *domain.Schedule, now time.Time) (*domain.Schedule, error) {
		return applied(old, def, by, table, now), nil
	})
}

// room returns an error where the context has no room for another schedule.
func (s *Schedules) room(ctx context.Context, tenant domain.TenantID) error {
	n, err := listing.Count(ctx, s.board, layout.SpaceOf(tenant), layout.SchedulePrefix, MaxSchedules, nil)
	if err == nil && n >= MaxSchedules {
		err = domain.Limitf("context %d has %d schedules, which is the limit", tenant, n)
	}
	return err
}

// applied is what a schedule becomes; old is nil for a new one.
func applied(old *domain.Schedule, def domain.Schedule, by domain.ActorID, table *timetable.Table, now time.Time) *domain.Schedule {
	def.CallerID, def.CreatedAt = by, domain.At(now)
	times := true // are others now
	if old != nil {
		def.Paused = def.Paused || old.Paused
		if by == old.CallerID && reflect.DeepEqual(defined(&def), defined(old)) {
			return old
		}
		def.CreatedAt, def.State, def.Before = old.CreatedAt, old.State, before(old, &def, now)
		def.State.Counts = counts(old, &def)
		times = def.Paused != old.Paused || !sameTimes(old, &def)
	}
	if times {
		def.State.LookedMs = 0
		schedule(&def, table, now)
	}
	return &def
}

// before is what there is to undo of a change. Whether it is paused is no part of that: to pause and to
// resume have their own ways back.
func before(old, s *domain.Schedule, now time.Time) *domain.ScheduleBefore {
	was, is := defined(old), defined(s)
	was.Paused, is.Paused = false, false
	if reflect.DeepEqual(was, is) {
		return old.Before
	}
	b := &domain.ScheduleBefore{ChangedMs: now.UnixMilli()}
	if text, err := json.Marshal(was); err == nil && len(text) <= domain.MaxScheduleBefore {
		b.Definition = text
	}
	return b
}

// defined is a definition as it comes from the board.
func defined(s *domain.Schedule) domain.Schedule {
	text, err := json.Marshal(s.Defined())
	if err != nil {
		panic("BUG: a schedule cannot be written as JSON: " + err.Error())
	}
	var out domain.Schedule
	if err := json.Unmarshal(text, &out); err != nil {
		panic("BUG: a schedule cannot be read as it was written: " + err.Error())
	}
	return out
}

// counts are the counters that go on: those whose beginning is the same.
func counts(old, s *domain.Schedule) map[string]int64 {
	kept := map[string]int64{}
	for name, v := range s.Variables {
		was := old.Variables[name].Count
		if n, counted := old.State.Counts[name]; counted && v.Count != nil && was != nil && *v.Count == *was {
			kept[name] = n
		}
	}
	return kept
}

// sameTimes reports whether two definitions come at the same times.
func sameTimes(a, b *domain.Schedule) bool {
	return slices.Equal(a.At, b.At) && a.Every == b.Every && a.Start == b.Start && a.Cron == b.Cron && a.Zone == b.Zone &&
		a.From == b.From && a.Until == b.Until
}

// schedule sets the next time of a schedule to the first after an instant.
func schedule(s *domain.Schedule, table *timetable.Table, after time.Time) {
	s.State.NextMs = 0
	if s.Paused {
		return
	}
	if next, ok := table.Next(after); ok {
		s.State.NextMs = next.UnixMilli()
	}
}

// Show reads a schedule.
//
// Errors: [domain.ErrNotFound].
func (s *Schedules) Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error) {
	if err := domain.ValidateName("schedule", name); err != nil {
		return nil, err
	}
	key := layout.Schedule(name)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return nil, err
	}
	if recs[0] == nil {
		return nil, domain.NotFoundf("schedule %q is not there", name)
	}
	return layout.DecodeSchedule(key, recs[0])
}

// List reads a page of schedules, in the board's order; cursor is "" or the
// next of the page before.
func (s *Schedules) List(ctx context.Context, tenant domain.TenantID, cursor string) (list []*domain.Schedule, next string, err error) {
	space := layout.SpaceOf(tenant)
	keys, next, err := s.board.Keys(ctx, space, layout.SchedulePrefix, cursor, schedulePage)
	if err != nil || len(keys) == 0 {
		return nil, next, err
	}
	recs, bad, err := board.PerKey(s.board.Get(ctx, space, keys...))
	if err != nil {
		return nil, "", err
	}
	for i, rec := range recs {
		if rec == nil && bad[i] == nil {
			continue // deleted meanwhile
		}
		sched, err := layout.DecodeSchedule(keys[i], rec)
		if err = cmp.Or(bad[i], err); err != nil {
			// One that a foreign program damaged must not hide the others.
			s.log.Warn("schedule cannot be read", "context", uint32(tenant), "key", keys[i], "err", err)
			continue
		}
		list = append(list, sched)
	}
	slices.SortFunc(list, func(a, b *domain.Schedule) int { return strings.Compare(a.Name, b.Name) })
	return list, next, nil
}

// Delete removes a schedule. Its flows stay.
//
// Errors: [domain.ErrNotFound].
func (s *Schedules) Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error) {
	for range scheduleTries {
		old, err := s.Show(ctx, tenant, name)
		if err != nil {
			return nil, err
		}
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		layout.ScheduleGuard(&b, old).Delete(layout.Schedule(name)).ClearAlarm(layout.ScheduleAlarm(name)).ClearAlarm(layout.BackfillAlarm(name))
		if err = s.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return old, err
		}
	}
	return nil, busy(name)
}

// Pause keeps a schedule from making flows until it is resumed.
//
// Errors: [domain.ErrNotFound].
func (s *Schedules) Pause(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error) {
	return s.setPaused(ctx, tenant, name, true)
}

// Resume lets a paused schedule go on, with the next time from now.
//
// Errors: [domain.ErrNotFound].
func (s *Schedules) Resume(ctx context.Context, tenant domain.TenantID, name string) (*domain.Schedule, error) {
	return s.setPaused(ctx, tenant, name, false)
}

func (s *Schedules) setPaused(ctx context.Context, tenant domain.TenantID, name string, paused bool) (*domain.Schedule, error) {
	return s.write(ctx, tenant, name, func(old *domain.Schedule, now time.Time) (*domain.Schedule, error) {
		if old == nil {
			return nil, domain.NotFoundf("schedule %q is not there", name)
		}
		if old.Paused == paused {
			return old, nil
		}
		changed := *old
		table, err := timetable.New(&changed)
		if err != nil {
			return nil, err
		}
		changed.Paused, changed.State.LookedMs = paused, 0
		schedule(&changed, table, now)
		return &changed, nil
	})
}

// write changes the record of a schedule, and its alarm with it. change gets
// nil where there is none, and returns what it got where nothing changes. also adds to the
// commit.
func (s *Schedules) write(ctx context.Context, tenant domain.TenantID, name string,
	change func(old *domain.Schedule, now time.Time) (*domain.Schedule, error), also ...func(b *board.Batch, now time.Time)) (*domain.Schedule, error) {
	for range scheduleTries {
		now := s.board.Now()
		old, err := s.Show(ctx, tenant, name)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return nil, err
		}
		changed, err := change(old, now)
		if err != nil || changed == old {
			return changed, err
		}
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		if old == nil {
			b.Absent(layout.Schedule(name))
			changed.State.Revision = now.UnixMilli()
		} else {
			layout.ScheduleGuard(&b, old)
			changed.State.Revision = old.State.Revision + 1
		}
		changed.UpdatedAt = domain.At(now)
		b.Set(layout.Schedule(name), layout.EncodeSchedule(changed)...)
		setAlarm(&b, name, changed.State.NextMs)
		for _, add := range also {
			add(&b, now)
		}
		commit := s.board.Commit
		if old == nil {
			commit = func(ctx context.Context, b board.Batch) error {
				return s.rooms.Make(ctx, b, func(ctx context.Context) error { return s.room(ctx, tenant) })
			}
		}
		if err = commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return changed, err
		}
	}
	return nil, busy(name)
}

func busy(name string) error {
	return domain.Conflictf("schedule %q is changed by others all the time; try again", name)
}

// setAlarm sets a schedule's alarm, or clears it where atMs is 0.
func setAlarm(b *board.Batch, name string, atMs int64) {
	if atMs == 0 {
		b.ClearAlarm(layout.ScheduleAlarm(name))
		return
	}
	b.SetAlarm(layout.ScheduleAlarm(name), time.UnixMilli(atMs))
}

// Upcoming are the next n times of a definition, 1 to [MaxUpcoming], after an
// instant, whether or not it is paused.
//
// Errors: [domain.ErrInvalid].
func (s *Schedules) Upcoming(def domain.Schedule, after time.Time, n int) ([]time.Time, error) {
	if n < 1 || n > MaxUpcoming {
		return nil, domain.Invalidf("%d times: want 1 to %d", n, MaxUpcoming)
	}
	table, err := timetable.New(&def)
	if err != nil {
		return nil, err
	}
	return table.Upcoming(after, n), nil
}

// maxScheduleError bounds an error that a schedule keeps, in bytes.
const maxScheduleError = 500

// scheduleError is an error as a schedule keeps it.
func scheduleError(err error) string {
	text := err.Error()
	if len(text) > maxScheduleError {
		text = strings.ToValidUTF8(text[:maxScheduleError-len("…")], "") + "…"
	}
	return text
}
