package encryption

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

const (
	// tryAgain is the pause between looks at sources that did not have a key, and
	// after the board could not be asked.
	tryAgain = 5 * time.Second
	// keysPage is how many records are asked for at once.
	keysPage = 500
)

// Secrets are the sources of key-encryption keys.
type Secrets interface {
	Read(ctx context.Context, name string) (string, error)
}

// Keys knows which contexts are encrypted, and has their keys as far as the
// node's secret sources do. It is safe for concurrent use. A nil *Keys knows
// none.
type Keys struct {
	board   board.Board // the plain one
	secrets Secrets
	log     *slog.Logger

	contexts atomic.Pointer[map[domain.TenantID]*Context] // never changed, only replaced
	locked   atomic.Bool                                  // one of them is

	mu sync.Mutex // held while one is replaced

	era atomic.Pointer[era]
}

// era is the time in which the same contexts are locked. Its context ends with
// it.
type era struct {
	context.Context
	end context.CancelFunc
}

// Era ends when other contexts than now are locked.
func (k *Keys) Era() context.Context { return k.era.Load() }

// Changed is closed when other contexts than now are locked.
func (k *Keys) Changed() <-chan struct{} {
	if k == nil {
		return nil
	}
	return k.Era().Done()
}

func (k *Keys) nextEra() {
	ctx, end := context.WithCancel(context.Background())
	if was := k.era.Swap(&era{ctx, end}); was != nil {
		was.end()
	}
}

// Context is one context's encryption as this node knows it. It does not change.
type Context struct {
	domain.Encryption
	Tenant domain.TenantID
	ring   *Ring
	record board.Record
}

// Ring is the open keyset.
//
// Errors: [domain.ErrUnavailable], saying which key this node lacks.
func (c *Context) Ring() (*Ring, error) {
	if c.ring == nil {
		return nil, domain.Unavailablef("context %d is encrypted with the key %q, which this node does not have: %s", c.Tenant, c.Key, c.Locked)
	}
	return c.ring, nil
}

// Open reads what there is on the board. [Keys.Run] follows it.
func Open(ctx context.Context, plain board.Board, secrets Secrets, log *slog.Logger) (*Keys, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	k := &Keys{board: plain, secrets: secrets, log: log}
	k.contexts.Store(&map[domain.TenantID]*Context{})
	k.nextEra()
	return k, k.load(ctx)
}

// None reports whether no context was ever encrypted.
func (k *Keys) None() bool { return k == nil || len(*k.contexts.Load()) == 0 }

// Of is what is known of a context; nil where it was never encrypted.
func (k *Keys) Of(t domain.TenantID) *Context {
	if k == nil {
		return nil
	}
	return (*k.contexts.Load())[t]
}

// Encrypts reports whether what a context writes now is encrypted.
func (k *Keys) Encrypts(t domain.TenantID) bool {
	c := k.Of(t)
	return c != nil && c.On
}

// Known is as Of, but a context of which this node has not heard is asked for: a
// value was read that bears the mark.
func (k *Keys) Known(ctx context.Context, t domain.TenantID) (*Context, error) {
	if c := k.Of(t); c != nil || k == nil || t == 0 {
		return c, nil
	}
	return k.Refresh(ctx, t)
}

// OpenValue decrypts a value that bears the mark. One of a key that is not known
// yet lets the keys be read again.
//
// Errors: [domain.ErrUnavailable] where this node has not the key,
// [domain.ErrInvalid] for a value that does not open.
func (k *Keys) OpenValue(ctx context.Context, t domain.TenantID, key, field, value string) (string, error) {
	c, err := k.Known(ctx, t)
	if c == nil || err != nil {
		return value, err // a context that was never encrypted: the text is somebody's own
	}
	ring, err := c.Ring()
	if err == nil && !ring.Has(value) {
		if c, err = k.Refresh(ctx, t); err != nil {
			return "", err
		}
		ring, err = c.Ring()
	}
	if err != nil {
		return "", err
	}
	return ring.Open(key, field, value)
}

// Encryption is a context's as it stands on the board; ever is that it was
// encrypted at some time.
//
// Errors: those of the board.
func (k *Keys) Encryption(ctx context.Context, t domain.TenantID) (e domain.Encryption, ever bool, err error) {
	c, err := k.Refresh(ctx, t)
	if c == nil || err != nil {
		return domain.Encryption{}, false, err
	}
	return c.Encryption, true, nil
}

// Locked lists the contexts that this node cannot open, by number.
func (k *Keys) Locked() []*Context {
	if k == nil || !k.locked.Load() {
		return nil
	}
	var list []*Context
	for _, c := range *k.contexts.Load() {
		if c.ring == nil {
			list = append(list, c)
		}
	}
	slices.SortFunc(list, func(a, b *Context) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return list
}

// LockedOut says the same to others.
func (k *Keys) LockedOut() (list []domain.Locked) {
	for _, c := range k.Locked() {
		list = append(list, domain.Locked{Context: c.Tenant, Key: c.Key, Why: c.Encryption.Locked})
	}
	return list
}

// Check is nil while every encrypted context can be read here.
//
// Errors: [domain.ErrUnavailable].
func (k *Keys) Check() error {
	var errs []error
	for _, c := range k.Locked() {
		_, err := c.Ring()
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// Run follows the records until ctx ends, and tries sources again that did not
// have a key.
func (k *Keys) Run(ctx context.Context) error {
	for ctx.Err() == nil {
		if err := k.follow(ctx); err != nil && ctx.Err() == nil {
			k.log.Warn("keys of contexts not followed; those known before stay", "err", err)
			pause.For(ctx, tryAgain)
		}
	}
	return nil
}

func (k *Keys) follow(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := k.board.Watch(ctx, 0, layout.EncryptionPrefix)
	if err != nil {
		return err
	}
	if err := k.load(ctx); err != nil {
		return err
	}
	tick := time.NewTicker(tryAgain)
	defer tick.Stop()
	for {
		select {
		case e, open := <-events:
			switch tenant, ok := parseKey(e.Key); {
			case !open:
				return ctx.Err()
			case e.Key == "":
				err = k.load(ctx)
			case ok:
				_, err = k.Refresh(ctx, tenant)
			}
		case <-tick.C:
			for _, c := range k.Locked() {
				_, failed := k.Refresh(ctx, c.Tenant)
				err = errors.Join(err, failed)
			}
		}
		if err != nil {
			return err
		}
	}
}

// load reads every context's record.
func (k *Keys) load(ctx context.Context) error {
	for cursor := ""; ; {
		keys, next, err := k.board.Keys(ctx, 0, layout.EncryptionPrefix, cursor, keysPage)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if tenant, ok := parseKey(key); ok {
				if _, err := k.Refresh(ctx, tenant); err != nil {
					return err
				}
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

func parseKey(key string) (domain.TenantID, bool) {
	if len(key) <= len(layout.EncryptionPrefix) {
		return 0, false
	}
	n, err := strconv.ParseUint(key[len(layout.EncryptionPrefix):], 10, 32)
	return domain.TenantID(n), err == nil && layout.Encryption(domain.TenantID(n)) == key
}

// Refresh reads one context's record again; nil is that there is none.
//
// Errors: those of the board.
func (k *Keys) Refresh(ctx context.Context, tenant domain.TenantID) (*Context, error) {
	recs, err := k.board.Get(ctx, 0, layout.Encryption(tenant))
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	was := k.Of(tenant)
	switch {
	case recs[0] == nil && was == nil:
		return nil, nil
	case recs[0] == nil:
		// No operation of ours removes it. To go on in plain text would be what
		// somebody who only has the store wants.
		k.log.Error("the record of a context's keys is gone from the board; the keys that are known stay in use", "context", uint32(tenant))
		return was, nil
	case was != nil && was.ring != nil && slices.Equal(was.record, recs[0]):
		return was, nil
	}
	c := k.open(ctx, tenant, recs[0])
	if was != nil && was.ring != nil && c.ring == nil && was.Revision == c.Revision {
		// The source is away for a moment, or somebody else wrote the record.
		k.log.Warn("the keys of a context cannot be opened as they stand now; those that are known stay in use",
			"context", uint32(tenant), "key", c.Key, "err", c.Locked)
		return was, nil
	}
	k.replace(c)
	k.tell(was, c)
	return c, nil
}

func (k *Keys) tell(was, c *Context) {
	switch {
	case c.ring == nil && (was == nil || was.Locked != c.Locked):
		k.log.Warn("context cannot be served here: its key is not to be had", "context", uint32(c.Tenant), "key", c.Key, "err", c.Locked)
	case c.ring != nil && was != nil && was.ring == nil:
		k.log.Info("the key of a context is here", "context", uint32(c.Tenant), "key", c.Key)
	}
}

// replace puts c in place of what was known. k.mu is held.
func (k *Keys) replace(c *Context) {
	was := k.Of(c.Tenant)
	all := maps.Clone(*k.contexts.Load())
	all[c.Tenant] = c
	locked := false
	for _, one := range all {
		locked = locked || one.ring == nil
	}
	k.contexts.Store(&all)
	k.locked.Store(locked)
	if (was != nil && was.ring == nil) != (c.ring == nil) {
		k.nextEra()
	}
}

// open reads a record and unwraps its keyset.
func (k *Keys) open(ctx context.Context, tenant domain.TenantID, rec board.Record) *Context {
	c := &Context{Tenant: tenant, record: rec, Encryption: domain.Encryption{
		On: rec.Get(layout.EncryptionOn) == "true", Key: rec.Get(layout.EncryptionKey),
		Revision: number(rec.Get(layout.EncryptionRevision)), SinceMs: number(rec.Get(layout.EncryptionSinceMs)),
	}}
	c.Swept = number(rec.Get(layout.EncryptionSwept)) == c.Revision
	if c.Swept {
		c.Left = number(rec.Get(layout.EncryptionLeft))
	}
	ring, err := k.unwrap(ctx, c, rec.Get(layout.EncryptionKeyset))
	if err != nil {
		c.Locked = err.Error()
		return c
	}
	c.ring, c.Keys, c.Primary = ring, ring.Len(), ring.Primary
	return c
}

func (k *Keys) unwrap(ctx context.Context, c *Context, wrapped string) (*Ring, error) {
	text, err := k.read(ctx, c.Key)
	if err != nil {
		return nil, err
	}
	kek, err := ParseKey(c.Key, text)
	if err != nil {
		return nil, err
	}
	return unwrap(c.Tenant, c.Key, wrapped, kek, c.On)
}

func (k *Keys) read(ctx context.Context, name string) (string, error) {
	if k.secrets == nil {
		return "", domain.Invalidf("secret %s: this node has no secrets in its config file", name)
	}
	return k.secrets.Read(ctx, name)
}

func number(text string) int64 {
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}
