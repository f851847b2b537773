package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/room"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/secret"
)

// tries is how often a change is tried while others change the webhook, too.
const tries = 8

// Sealer seals secrets: a *[secret.Vault].
type Sealer interface {
	Seal(ctx context.Context, place, value string) (secret.Sealed, error)
	Open(ctx context.Context, place string, s secret.Sealed) (string, error)
}

// Store keeps the webhooks of all contexts. What is known of them stands on the board; what it
// has in memory is how much of their rates is used here. It is safe for concurrent use.
type Store struct {
	board    board.Board
	seal     Sealer
	rooms    *room.Room
	log      *slog.Logger
	seed     maphash.Seed // of the sums of ids
	observer Observer

	mu     sync.Mutex
	rates  map[place]*rate
	notes  map[place]*note
	ending bool          // the node stops: nothing more is gathered
	made   secret.Sealed // the decoy; Text "": not yet
	// unread are the webhooks of which it was logged that their secrets cannot be read.
	unread map[place]bool
}

// place is a webhook of a context.
type place struct {
	tenant domain.TenantID
	name   string
}

// sealedPair are the secrets of a webhook as they lie on the board.
type sealedPair struct{ now, old secret.Sealed }

// New returns the webhooks on a board. log may be nil.
func New(b board.Board, seal Sealer, log *slog.Logger) *Store {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Store{board: b, seal: seal, rooms: room.New(b, "webhook"), log: log, seed: maphash.MakeSeed(), observer: noObserver{},
		rates: map[place]*rate{}, notes: map[place]*note{}, unread: map[place]bool{}}
}

// sealedAt binds a secret to its webhook.
func sealedAt(tenant domain.TenantID, name string) string {
	return "ramet webhook of context " + strconv.FormatUint(uint64(tenant), 10) + ": " + name
}

// Create makes a webhook in the name of by. given is its secret; "": one is made. It returns
// the secret, which is never told again.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] where there is one of that name, or no key
// to seal its secret with; [domain.ErrLimit].
func (s *Store) Create(ctx context.Context, tenant domain.TenantID, def domain.Webhook, given string, by domain.ActorID) (*domain.Webhook, string, error) {
	def = def.Defined()
	if err := s.check(&def); err != nil {
		return nil, "", err
	}
	given, err := secretFor(&def, given)
	if err != nil {
		return nil, "", err
	}
	full := func(ctx context.Context) error { return s.room(ctx, tenant) }
	if err := full(ctx); err != nil { // before anything is sealed
		return nil, "", err
	}
	sealed, err := s.seal.Seal(ctx, sealedAt(tenant, def.Name), given)
	if err != nil {
		return nil, "", err
	}
	now := s.board.Now()
	def.CallerID, def.CreatedAt, def.UpdatedAt = by, domain.At(now), domain.At(now)
	def.State.Revision, def.State.RotatedMs, def.State.MadeMs = now.UnixMilli(), now.UnixMilli(), now.UnixMilli()
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Absent(layout.Webhook(def.Name)).Set(layout.Webhook(def.Name), append(layout.EncodeWebhook(&def),
		board.Field{Name: layout.WebhookSecret, Value: sealed.Text}, board.Field{Name: layout.WebhookSecretKey, Value: sealed.Key})...)
	if err := s.rooms.Make(ctx, b, full); errors.Is(err, domain.ErrConflict) {
		return nil, "", domain.Conflictf("there is a webhook %q; change it with `ramet webhook update`, or delete it first", def.Name)
	} else if err != nil {
		return nil, "", err
	}
	return &def, given, nil
}

func (s *Store) check(def *domain.Webhook) error {
	if err := check(def); err != nil {
		return err
	}
	if text, err := json.Marshal(def); err != nil || len(text) > domain.MaxWebhookBytes {
		return domain.Invalidf("webhook %q has %d bytes as JSON, the limit is %d", def.Name, len(text), domain.MaxWebhookBytes)
	}
	return nil
}

// secretFor is a secret that is given, or a new one.
func secretFor(w *domain.Webhook, given string) (string, error) {
	if given == "" {
		return schemes[w.SchemeOr()].fresh(), nil
	}
	return given, checkSecret(w.SchemeOr(), given)
}

// room refuses one webhook more than a context may have.
func (s *Store) room(ctx context.Context, tenant domain.TenantID) error {
	n, err := listing.Count(ctx, s.board, layout.SpaceOf(tenant), layout.WebhookPrefix, domain.MaxWebhooksOf, nil)
	if err == nil && n >= domain.MaxWebhooksOf {
		err = domain.Limitf("context %d has %d webhooks, which is the limit; delete some", tenant, n)
	}
	return err
}

// Show reads a webhook.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Show(ctx context.Context, tenant domain.TenantID, name string) (*domain.Webhook, error) {
	w, _, err := s.read(ctx, tenant, name)
	if err == nil {
		s.add(tenant, w)
	}
	return w, err
}

// read reads a webhook, and those of its secrets that hold.
func (s *Store) read(ctx context.Context, tenant domain.TenantID, name string) (*domain.Webhook, sealedPair, error) {
	if err := domain.ValidateWebhookName("webhook", name); err != nil {
		return nil, sealedPair{}, err
	}
	key := layout.Webhook(name)
	recs, err := s.board.Get(ctx, layout.SpaceOf(tenant), key)
	if err != nil {
		return nil, sealedPair{}, err
	}
	rec := recs[0]
	if rec == nil {
		return nil, sealedPair{}, domain.NotFoundf("webhook %q is not there", name)
	}
	w, err := layout.DecodeWebhook(key, rec)
	sealed := sealedPair{now: secret.Sealed{Text: rec.Get(layout.WebhookSecret), Key: rec.Get(layout.WebhookSecretKey)}}
	if err == nil && w.State.OldUntilMs > s.board.Now().UnixMilli() {
		sealed.old = secret.Sealed{Text: rec.Get(layout.WebhookOldSecret), Key: rec.Get(layout.WebhookOldSecretKey)}
	}
	return w, sealed, err
}

// Secret reads a webhook with its secret, for who has made that and was cut off from the answer: rotated is
// its rotated_ms of then. "" where it has another secret by now.
//
// Errors: [domain.ErrNotFound]; those of opening the secret.
func (s *Store) Secret(ctx context.Context, tenant domain.TenantID, name, rotated string) (*domain.Webhook, string, error) {
	w, sealed, err := s.read(ctx, tenant, name)
	if err != nil {
		return nil, "", err
	}
	if ms, err := strconv.ParseInt(rotated, 10, 64); err == nil && w.State.MadeMs > ms {
		return nil, "", domain.NotFoundf("webhook %q was deleted since, and made anew", name)
	}
	if strconv.FormatInt(w.State.RotatedMs, 10) != rotated {
		return w, "", nil
	}
	text, err := s.seal.Open(ctx, sealedAt(tenant, name), sealed.now)
	return w, text, err
}

// List lists the webhooks of a context by name.
func (s *Store) List(ctx context.Context, tenant domain.TenantID) ([]domain.Webhook, error) {
	list := []domain.Webhook{}
	err := listing.All(ctx, s.board, layout.SpaceOf(tenant), layout.WebhookPrefix, domain.MaxWebhooksOf, func(key string, rec board.Record, err error) {
		var w *domain.Webhook
		if err == nil {
			w, err = layout.DecodeWebhook(key, rec)
		}
		if err != nil {
			s.log.Warn("webhook cannot be read", "context", uint32(tenant), "key", key, "err", err)
			return
		}
		s.add(tenant, w)
		list = append(list, *w)
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b domain.Webhook) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// Update changes the definition of a webhook, whose flows are in the name of by from then on.
// Its secrets stay, so its scheme must.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid]; [domain.ErrConflict] while others change
// it, or for another scheme.
func (s *Store) Update(ctx context.Context, tenant domain.TenantID, def domain.Webhook, by domain.ActorID) (*domain.Webhook, error) {
	def = def.Defined()
	if err := s.check(&def); err != nil {
		return nil, err
	}
	return s.write(ctx, tenant, def.Name, func(old *domain.Webhook, _ sealedPair, now time.Time) ([]board.Field, error) {
		if old.SchemeOr() != def.SchemeOr() {
			return nil, domain.Conflictf("webhook %q is of scheme %s, and its secret belongs to that; delete it, and make one of scheme %s",
				def.Name, old.SchemeOr(), def.SchemeOr())
		}
		changed := def
		changed.CallerID, changed.CreatedAt, changed.State = by, old.CreatedAt, old.State
		*old = changed
		return nil, nil
	})
}

// Rotate gives a webhook another secret, and takes the one before for as long as keep, too, unless
// that cannot be opened any more, as after a restore without its key.
// given is the new one; "": one is made. It returns it, which is never told again.
//
// Errors: as [Store.Create], and [domain.ErrNotFound].
func (s *Store) Rotate(ctx context.Context, tenant domain.TenantID, name, given string, keep time.Duration) (*domain.Webhook, string, error) {
	if keep < 0 || keep > domain.MaxWebhookKeep.Time() {
		return nil, "", domain.Invalidf("keep %v: want 0 to %v", keep, domain.MaxWebhookKeep.Time())
	}
	w, _, err := s.read(ctx, tenant, name)
	if err == nil {
		given, err = secretFor(w, given)
	}
	if err != nil {
		return nil, "", err
	}
	sealed, err := s.seal.Seal(ctx, sealedAt(tenant, name), given)
	if err != nil {
		return nil, "", err
	}
	w, err = s.write(ctx, tenant, name, func(w *domain.Webhook, was sealedPair, now time.Time) ([]board.Field, error) {
		w.State.RotatedMs, w.State.OldUntilMs = max(now.UnixMilli(), w.State.RotatedMs+1), 0 // it names the secret: see Secret
		fields := []board.Field{{Name: layout.WebhookSecret, Value: sealed.Text}, {Name: layout.WebhookSecretKey, Value: sealed.Key},
			{Name: layout.WebhookOldSecret}, {Name: layout.WebhookOldSecretKey}}
		if _, err := s.seal.Open(ctx, sealedAt(tenant, name), was.now); keep > 0 && !lost(err) {
			w.State.OldUntilMs = now.Add(keep).UnixMilli()
			fields[2].Value, fields[3].Value = was.now.Text, was.now.Key
		}
		return fields, nil
	})
	return w, given, err
}

// write changes the record of a webhook; change changes what it gets, and returns fields besides.
func (s *Store) write(ctx context.Context, tenant domain.TenantID, name string,
	change func(w *domain.Webhook, was sealedPair, now time.Time) ([]board.Field, error)) (*domain.Webhook, error) {
	for range tries {
		w, was, err := s.read(ctx, tenant, name)
		if err != nil {
			return nil, err
		}
		now := s.board.Now()
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		layout.WebhookGuard(&b, w)
		fields, err := change(w, was, now)
		if err != nil {
			return nil, err
		}
		w.State.Revision++
		w.UpdatedAt = domain.At(now)
		b.Set(layout.Webhook(name), append(layout.EncodeWebhook(w), fields...)...)
		if err = s.board.Commit(ctx, b); !errors.Is(err, domain.ErrConflict) {
			return w, err
		}
	}
	return nil, domain.Conflictf("webhook %q is changed by others all the time; try again", name)
}

// Delete removes a webhook; its flows stay.
//
// Errors: [domain.ErrNotFound].
func (s *Store) Delete(ctx context.Context, tenant domain.TenantID, name string) (*domain.Webhook, error) {
	w, _, err := s.read(ctx, tenant, name)
	if err != nil {
		return nil, err
	}
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Delete(layout.Webhook(name))
	if err := s.board.Commit(ctx, b); err != nil {
		return nil, err
	}
	s.mu.Lock() // else another of that name would have what was said of this one
	delete(s.notes, place{tenant, name})
	delete(s.rates, place{tenant, name})
	delete(s.unread, place{tenant, name})
	s.mu.Unlock()
	return w, nil
}
