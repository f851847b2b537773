package listener

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/room"
	"github.com/ramet-run/ramet/internal/start"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/machine"
	"github.com/ramet-run/ramet/stream"
)

// tries is how often a change is tried while others change the listener, too.
const tries = 8

// names are those that a listener's expressions have.
var names = []string{"event"}

// Names knows what subjects call a context.
type Names interface {
	TenantName(ctx context.Context, id domain.TenantID) (string, error)
}

// Store keeps the listeners of all contexts. It is safe for concurrent use.
type Store struct {
	board   board.Board
	streams stream.Log
	names   Names
	rooms   *room.Room
	log     *slog.Logger
}

// New returns the listeners on a board, of events of streams. log may be nil.
func New(b board.Board, streams stream.Log, names Names, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Store{board: b, streams: streams, names: names, rooms: room.New(b, "listener"), log: log}
}

// Apply makes a listener, or changes the one of that name, in the name of by. A new one hears
// what comes from now on; one that is changed goes on where it was, but for another source,
// which makes it a new one.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit], [domain.ErrUnavailable]; [domain.ErrConflict]
// while others change it.
func (s *Store) Apply(ctx context.Context, tenant domain.TenantID, def domain.Listener, by domain.ActorID) (*domain.Listener, error) {
	def = def.Defined()
	if err := def.Validate(); err != nil {
		return nil, err
	}
	if err := machine.CheckTrigger("on_event", &def.On); err != nil {
		return nil, fmt.Errorf("listener %q: %w", def.Name, err)
	}
	if err := start.Check(def.When, def.Params, names...); err != nil {
		return nil, fmt.Errorf("listener %q: %w", def.Name, err)
	}
	if text, err := json.Marshal(def); err != nil || len(text) > domain.MaxListenerBytes {
		return nil, domain.Invalidf("listener %q has %d bytes as JSON, the limit is %d", def.Name, len(text), domain.MaxListenerBytes)
	}
	stats, err := s.streams.Stats(ctx, def.Stream())
	if err != nil {
		return nil, err
	}
	var before *domain.Listener
	l, err := s.write(ctx, tenant, def.Name, func(old *domain.Listener, now time.Time) (*domain.Listener, error) {
		l := def
		before = old
		l.CallerID, l.CreatedAt = by, domain.At(now)
		l.State.MadeMs, l.State.After = now.UnixMilli(), stats.Last
		switch {
		case old == nil:
			return &l, nil
		case old.Stream() == l.Stream():
			l.State.MadeMs, l.State.After = old.State.MadeMs, old.State.After
		}
		l.CreatedAt = old.CreatedAt
		return &l, nil
	})
	if err == nil && before != nil && before.Stream() != l.Stream() {
		err = s.streams.Drop(ctx, before.Stream(), durable(tenant, before))
	}
	return l, err
}

// room refuses one listener more than a context may have.
func (s *Store) room(ctx context.Context, tenant domain.TenantID) error {
	n, err := listing.Count(ctx, s.board, layout.SpaceOf(tenant), layout.ListenerPrefix, domain.MaxListenersOf, nil)
	if err == nil && n >= domain.MaxListenersOf {
		err = domain.Limitf("context %d has %d listeners, which is the limit; delete some", tenant, n)
	}
	return err
}

// write changes the record of a listener, and lists it as it is then. change gets nil where
// there is none. It is listed first: workers pass by what has no record.
func (s *Store) write(ctx context.Context, tenant domain.TenantID, name string,
	change func(old *domain.Listener, now time.Time) (*domain.Listener, error)) (*domain.Listener, error) {
	for range tries {
		now := s.board.Now()
		old, err := s.Show(ctx, tenant, name)
		if err != nil && !errors.Is(err, domain.ErrNotFound) {
			return nil, err
		}
		l, err := change(old, now)
		if err != nil {
			return nil, err
		}
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		key := layout.Listener(name)
		if old == nil {
			b.Absent(key)
			l.State.Revision = now.UnixMilli()
		} else {
			layout.ListenerGuard(&b, old)
			l.State.Revision = old.State.Revision + 1
		}
		l.UpdatedAt = domain.At(now)
		// What held it up may be gone with the change; if not, that is found again.
		b.Set(key, append(layout.EncodeListener(l), board.Field{Name: layout.ListenerHeldMs, Value: "0"}, board.Field{Name: layout.ListenerHeldWhy})...)
		commit := s.board.Commit
		if old == nil {
			room := func(ctx context.Context) error { return s.room(ctx, tenant) }
			if err := room(ctx); err != nil {
				return nil, err
			}
			commit = func(ctx context.Context, b board.Batch) error { return s.rooms.Make(ctx, b, room) }
		}
		if err := s.list(ctx, tenant, l.Name, l.State.Revision); err != nil {
			return nil, err
		}
		err = commit(ctx, b)
		if errors.Is(err, domain.ErrLimit) { // others were first: a name that is listed and has no record would be told as lost
			var back board.Batch
			back.Exclude(layout.Listeners, layout.ListedListener(tenant, name, l.State.Revision))
			return nil, errors.Join(err, s.board.Commit(ctx, back))
		}
		if !errors.Is(err, domain.ErrConflict) {
			return l, err
		}
	}
	return nil, domain.Conflictf("listener %q is changed by others all the time; try again", name)
}

// list has the set of all listeners name one at a revision; 0: not at all.
func (s *Store) list(ctx context.Context, tenant domain.TenantID, name string, revision int64) error {
	prefix := strconv.FormatUint(uint64(tenant), 10) + ":" + name + ":"
	there, err := s.board.Members(ctx, 0, layout.Listeners, prefix, 100)
	if err != nil {
		return err
	}
	var b board.Batch
	now := layout.ListedListener(tenant, name, revision)
	there = slices.DeleteFunc(there, func(m string) bool { return !strings.HasPrefix(m, prefix) || m == now })
	if len(there) > 0 {
		b.Exclude(layout.Listeners, there...)
	}
	if revision != 0 {
		b.Include(layout.Listeners, now)
	}
	if len(b.Ops) == 0 {
		return nil
	}
	return s.board.Commit(ctx, b)
}

// Show reads a listener.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Listener, error) {
	if err := domain.ValidateWebhookName("listener", name); err != nil {
		return nil, err
	}
	key := layout.Listener(name)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return nil, err
	}
	if recs[0] == nil {
		return nil, domain.NotFoundf("listener %q is not there", name)
	}
	return layout.DecodeListener(key, recs[0])
}

// List lists the listeners of a context by name.
func (s *Store) List(ctx context.Context, tenant domain.TenantID) ([]domain.Listener, error) {
	list := []domain.Listener{}
	err := listing.All(ctx, s.board, layout.SpaceOf(tenant), layout.ListenerPrefix, domain.MaxListenersOf, func(key string, rec board.Record, err error) {
		var l *domain.Listener
		if err == nil {
			l, err = layout.DecodeListener(key, rec)
		}
		if err != nil {
			s.log.Warn("listener cannot be read", "context", uint32(tenant), "key", key, "err", err)
			return
		}
		list = append(list, *l)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b domain.Listener) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Pause keeps a listener from taking events, or lets it go on; they wait in their stream.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Pause(ctx context.Context, tenant domain.TenantID, name string, paused bool) (*domain.Listener, error) {
	return s.write(ctx, tenant, name, func(old *domain.Listener, _ time.Time) (*domain.Listener, error) {
		if old == nil {
			return nil, domain.NotFoundf("listener %q is not there", name)
		}
		changed := *old
		changed.Paused = paused
		return &changed, nil
	})
}

// Delete removes a listener; its flows stay.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Listener, error) {
	l, err := s.Show(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Delete(layout.Listener(name))
	if err := s.board.Commit(ctx, b); err != nil {
		return nil, err
	}
	if err := s.list(ctx, tenant, name, 0); err != nil {
		return nil, err
	}
	return l, s.streams.Drop(ctx, l.Stream(), durable(tenant, l))
}

// durable is the consumer of a listener. One that was deleted and made again has another.
func durable(tenant domain.TenantID, l *domain.Listener) string {
	return "listener-" + strconv.FormatUint(uint64(tenant), 10) + "-" + l.Name + "-" + strconv.FormatInt(l.State.MadeMs, 10)
}

// Behind is about how many messages of a listener's subjects are not dealt with.
func (s *Store) Behind(ctx context.Context, tenant domain.TenantID, l *domain.Listener) (uint64, error) {
	n, _, err := s.behind(ctx, tenant, l)
	return n, err
}

// behind also says up to where all are dealt with.
func (s *Store) behind(ctx context.Context, tenant domain.TenantID, l *domain.Listener) (n, upTo uint64, err error) {
	called, err := s.names.TenantName(ctx, tenant)
	if err != nil {
		return 0, 0, err
	}
	upTo, _, there, err := s.streams.Acked(ctx, l.Stream(), durable(tenant, l))
	if err != nil {
		return 0, 0, err
	}
	if !there { // no node has begun with it yet
		upTo = l.State.After
	}
	n, err = s.streams.Count(ctx, l.Stream(), saga.SubjectsOf(l.On, l.Stream(), tenant, called), upTo)
	return n, upTo, err
}

// Floor is up to where all listeners have dealt with a stream, those too that are paused or that
// no node serves; some is false where nothing in it is left for any of them.
func (s *Store) Floor(ctx context.Context, n domain.StreamName) (floor uint64, some bool, err error) {
	for after := ""; ; {
		page, err := s.board.Members(ctx, 0, layout.Listeners, after, 1000)
		if err != nil || len(page) == 0 {
			return floor, some, err
		}
		for _, member := range page {
			tenant, name, ok := layout.ParseListedListener(member)
			if !ok {
				continue
			}
			l, err := s.Show(ctx, tenant, name)
			if errors.Is(err, domain.ErrNotFound) || err == nil && l.Stream() != n {
				continue
			}
			if err != nil {
				return 0, false, err // of whom it is not known how far it has come
			}
			behind, upTo, err := s.behind(ctx, tenant, l)
			if err != nil {
				return 0, false, err
			}
			if behind > 0 && (!some || upTo < floor) {
				floor, some = upTo, true
			}
		}
		after = page[len(page)-1]
	}
}
