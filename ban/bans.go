package ban

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

const (
	// MaxBans bounds the bans of a board: every node knows them by heart.
	MaxBans = 10_000
	// MaxBansOf bounds those of one context, which must leave room for others.
	MaxBansOf = 1_000
	// flowLook is how often a banned flow is looked for: a ban on one ends when
	// the board has let the flow go.
	flowLook = time.Hour
)

// Bans are the bans of one board, as people set and lift them.
type Bans struct{ board board.Board }

// New returns the bans of b.
func New(b board.Board) *Bans { return &Bans{b} }

// Set writes a ban in place of one on the same scope. It holds on every node
// within a second.
//
// Errors: [domain.ErrInvalid]; [domain.ErrLimit] where there are too many;
// [domain.ErrUnavailable].
func (s *Bans) Set(ctx context.Context, b domain.Ban) (domain.Ban, error) {
	now := s.board.Now()
	b.AtMs = now.UnixMilli()
	if err := b.Validate(); err != nil {
		return b, err
	}
	if !b.InForce(now) {
		return b, domain.Invalidf("until_ms %d is over already", b.UntilMs)
	}
	if err := s.room(ctx, b.BanScope); err != nil {
		return b, err
	}
	key := layout.Ban(b.BanScope)
	var batch board.Batch
	batch.Delete(key).Set(key, layout.EncodeBan(b)...)
	batch.SetAlarm(layout.BanAlarm(b.BanScope), now)
	return b, s.board.Commit(ctx, batch)
}

// room returns an error where there is no room for a ban on a scope that has
// none.
func (s *Bans) room(ctx context.Context, scope domain.BanScope) error {
	all, err := s.List(ctx)
	if err != nil {
		return err
	}
	of := 0
	for _, b := range all {
		if b.BanScope == scope {
			return nil // which it takes the place of
		}
		if b.Context == scope.Context {
			of++
		}
	}
	switch {
	case len(all) >= MaxBans:
		return domain.Limitf("there are %d bans, which is the limit; ban something larger, or lift some", len(all))
	case scope.Context != 0 && of >= MaxBansOf:
		return domain.Limitf("context %d has %d bans, which is the limit; ban something larger, or lift some", scope.Context, of)
	}
	return nil
}

// Lift ends a ban; what it held up goes on.
//
// Errors: [domain.ErrInvalid]; [domain.ErrNotFound] where there is none.
func (s *Bans) Lift(ctx context.Context, scope domain.BanScope) (domain.Ban, error) {
	if err := scope.Validate(); err != nil {
		return domain.Ban{}, err
	}
	b, there, err := s.get(ctx, scope)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return b, err
	}
	if !there {
		return b, none(scope)
	}
	var batch board.Batch
	batch.Delete(layout.Ban(scope))
	batch.SetAlarm(layout.BanAlarm(scope), s.board.Now())
	return b, s.board.Commit(ctx, batch)
}

func none(scope domain.BanScope) error {
	return domain.NotFoundf("nothing bans %s; see `ramet ban list`", scope.Words())
}

// Get returns the ban that holds on a scope now.
//
// Errors: [domain.ErrInvalid]; [domain.ErrNotFound] where there is none, or its time is over.
func (s *Bans) Get(ctx context.Context, scope domain.BanScope) (domain.Ban, error) {
	if err := scope.Validate(); err != nil {
		return domain.Ban{}, err
	}
	b, there, err := s.get(ctx, scope)
	if err == nil && (!there || !b.InForce(s.board.Now())) {
		err = none(scope)
	}
	return b, err
}

// get reads one ban.
//
// Errors: [domain.ErrInvalid] for a record that cannot be read.
func (s *Bans) get(ctx context.Context, scope domain.BanScope) (b domain.Ban, there bool, err error) {
	key := layout.Ban(scope)
	recs, err := s.board.Get(ctx, 0, key)
	if err != nil || recs[0] == nil {
		return b, false, err
	}
	b, err = layout.DecodeBan(key, recs[0])
	b.BanScope = scope
	return b, true, err
}

// List returns the bans in force: by context, kind and name.
func (s *Bans) List(ctx context.Context) ([]domain.Ban, error) {
	k := NewCache(s.board, nil)
	if err := k.Load(ctx); err != nil {
		return nil, err
	}
	list := make([]domain.Ban, 0, len(k.bans))
	for _, b := range k.bans {
		list = append(list, b)
	}
	slices.SortFunc(list, func(a, b domain.Ban) int {
		return cmp.Or(cmp.Compare(a.Context, b.Context), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

// HandleAlarm does what an alarm of a ban asks for. It reports whether the
// alarm is one of ours.
func (s *Bans) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	scope, ok := layout.ParseBanAlarm(a.Name)
	if !ok || a.Space != 0 {
		return false, nil
	}
	err = s.settle(ctx, a, scope)
	if errors.Is(err, domain.ErrConflict) {
		err = nil // set, lifted or settled by somebody else: the alarm comes again
	}
	return true, err
}

// settle makes what follows from a ban true, whatever it was before, and lets
// the alarm come again when the ban's time is over.
func (s *Bans) settle(ctx context.Context, a board.Alarm, scope domain.BanScope) error {
	ban, held, err := s.settleCap(ctx, scope)
	if err != nil {
		return err
	}
	again := time.Time{}
	if held && ban.UntilMs != 0 {
		again = time.UnixMilli(ban.UntilMs)
	}
	if held && scope.Kind == domain.BanFlow {
		if held, err = s.flowThere(ctx, scope); err != nil {
			return err
		}
		if look := s.board.Now().Add(flowLook); again.IsZero() || look.Before(again) {
			again = look
		}
	}
	if !held {
		if err := s.wakeParked(ctx, scope); err != nil {
			return err
		}
	}
	var b board.Batch
	b.AlarmAt(a.Name, a.At)
	switch {
	case !held && ban.AtMs != 0: // its time is over, or its flow is gone
		b.Equal(layout.Ban(scope), layout.BanAtMs, strconv.FormatInt(ban.AtMs, 10))
		b.Delete(layout.Ban(scope)).ClearAlarm(a.Name)
	case held && !again.IsZero():
		b.SetAlarm(a.Name, again)
	default:
		b.ClearAlarm(a.Name)
	}
	return s.board.Commit(ctx, b)
}

// flowThere reports whether the board still has the flow of a scope.
func (s *Bans) flowThere(ctx context.Context, scope domain.BanScope) (bool, error) {
	id, err := domain.ParseFlowKey(scope.Name)
	if err != nil {
		return false, err
	}
	recs, err := s.board.GetFields(ctx, layout.SpaceOf(scope.Context), []string{layout.FlowStatus}, domain.FlowKey(id))
	return err == nil && recs[0] != nil, err
}

// settleCap sets the cap of a context, or of a type in it, to nothing while
// picking is banned there, and to what it was afterwards. held says that there
// is a ban in force, of any level.
func (s *Bans) settleCap(ctx context.Context, scope domain.BanScope) (ban domain.Ban, held bool, err error) {
	space, field := layout.SpaceOf(scope.Context), capField(scope)
	var limits board.Record
	if field != "" {
		// Before the ban is read: then who settled later has changed the turn.
		recs, err := s.board.Get(ctx, space, layout.Limits)
		if err != nil {
			return ban, false, err
		}
		limits = recs[0]
	}
	ban, there, err := s.get(ctx, scope)
	if err != nil && !errors.Is(err, domain.ErrInvalid) {
		return ban, false, err
	}
	held = there && err == nil && ban.InForce(s.board.Now())
	before, stopped := limits.Lookup(layout.BannedCapPrefix + field)
	if field == "" {
		return ban, held, nil
	}
	stop := held && ban.Level.Covers(domain.BanPick)
	b := board.Batch{Space: space}
	// Also where nothing is to do: somebody may be about to do it yet, who has
	// read the ban before it was lifted.
	b.Equal(layout.Limits, layout.BannedTurn, limits.Get(layout.BannedTurn))
	b.Add(layout.Limits, layout.BannedTurn, 1)
	switch {
	case stop == stopped:
	case stop:
		b.Equal(layout.Limits, field, limits.Get(field))
		b.Set(layout.Limits, board.Field{Name: layout.BannedCapPrefix + field, Value: limits.Get(field)}, board.Field{Name: field, Value: "0"})
	case before == "":
		b.Unset(layout.Limits, layout.BannedCapPrefix+field, field)
	default:
		b.Unset(layout.Limits, layout.BannedCapPrefix+field).Set(layout.Limits, board.Field{Name: field, Value: before})
	}
	return ban, held, s.board.Commit(ctx, b)
}

// capField is the field of a space's limits that stops its claims for a scope;
// "" where there is none.
func capField(scope domain.BanScope) string {
	switch {
	case scope.Kind == domain.BanContext:
		return queue.MaxField
	case scope.Kind == domain.BanType && scope.Context != 0:
		return queue.CapField(queue.OfType(domain.ScriptType(scope.Name)))
	}
	return ""
}

// wakeParked lets those who keep the parked jobs look at them now.
func (s *Bans) wakeParked(ctx context.Context, scope domain.BanScope) error {
	if scope.Context == 0 {
		return nil // nothing is parked for a ban on all contexts
	}
	space, name := layout.SpaceOf(scope.Context), layout.ParkedAlarm(scope.String())
	at, set, err := s.board.AlarmOf(ctx, space, name)
	if err != nil || !set {
		return err
	}
	b := board.Batch{Space: space}
	b.AlarmAt(name, at).SetAlarm(name, s.board.Now())
	if err := s.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
		return err
	}
	return nil // it has just moved: it is looked at soon
}

// Holds reports whether a ban of level holds on a scope, as the board has it.
func (s *Bans) Holds(ctx context.Context, scope domain.BanScope, level domain.BanLevel) (domain.Ban, bool, error) {
	b, there, err := s.get(ctx, scope)
	if errors.Is(err, domain.ErrInvalid) {
		return b, false, nil
	}
	return b, err == nil && there && b.Level.Covers(level) && b.InForce(s.board.Now()), err
}
