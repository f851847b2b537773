package encryption

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

const (
	// settled is how old a change is when the board is gone through for it: by
	// then every node writes as it wants.
	settled = 5 * time.Second
	// sweepPage is how many records are read at once. Each may have 4 MiB.
	sweepPage = 16
	// A longer list is left as it is: it goes, or is cut, by itself.
	maxListItems = 5000
	maxListBytes = 512 << 10
)

// Unswept reports whether there are contexts whose encryption has changed and
// that this node can go through: another may have keys that it has not.
func (k *Keys) Unswept() bool {
	if k.None() {
		return false
	}
	for _, c := range *k.contexts.Load() {
		if c.unswept() {
			return true
		}
	}
	return false
}

func (c *Context) unswept() bool { return !c.Swept && c.ring != nil }

// Sweep goes through the contexts whose encryption has changed, and writes anew
// what is not as it is to be. It may be stopped at any point, and done by two at
// once. A context is done with when a whole pass finds nothing to write: there
// are at most two passes at a time, so that each gets its turn.
//
// Errors: those of the board.
func (k *Keys) Sweep(ctx context.Context, now time.Time) error {
	if k.None() {
		return nil
	}
	for _, c := range *k.contexts.Load() {
		if !c.unswept() || now.Sub(time.UnixMilli(c.SinceMs)) < settled {
			continue
		}
		written, err := k.pass(ctx, c)
		if err == nil && written > 0 {
			_, err = k.pass(ctx, c)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pass goes through one context once.
func (k *Keys) pass(ctx context.Context, c *Context) (written int64, err error) {
	s := sweeper{board: k.board, c: c, space: layout.SpaceOf(c.Tenant)}
	for _, prefix := range layout.EncryptedPrefixes() {
		if err := s.prefix(ctx, prefix); err != nil {
			return s.written, err
		}
	}
	k.log.Info("context gone through after a change of its encryption", "context", uint32(c.Tenant), "written", s.written, "left", s.left)
	if s.written > 0 {
		return s.written, nil
	}
	return 0, k.swept(ctx, c, s.left)
}

// swept notes that a revision holds for all that is there.
func (k *Keys) swept(ctx context.Context, c *Context, left int64) error {
	key, revision := layout.Encryption(c.Tenant), strconv.FormatInt(c.Revision, 10)
	var b board.Batch
	b.Equal(key, layout.EncryptionRevision, revision).Set(key,
		board.Field{Name: layout.EncryptionSwept, Value: revision},
		board.Field{Name: layout.EncryptionLeft, Value: strconv.FormatInt(left, 10)})
	if err := k.board.Commit(ctx, b); err != nil && !errors.Is(err, domain.ErrConflict) {
		return err
	}
	_, err := k.Refresh(ctx, c.Tenant)
	return err
}

// sweeper goes through one context.
type sweeper struct {
	board         board.Board // the plain one
	c             *Context
	space         board.Space
	written, left int64
}

func (s *sweeper) prefix(ctx context.Context, prefix string) error {
	for cursor := ""; ; {
		keys, next, err := s.board.Keys(ctx, s.space, prefix, cursor, keysPage)
		if err != nil {
			return err
		}
		for page := range slices.Chunk(keys, sweepPage) {
			if err := s.page(ctx, page); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}

func (s *sweeper) page(ctx context.Context, keys []string) error {
	stats, err := s.board.Stat(ctx, s.space, keys...)
	if err != nil {
		return err
	}
	for i, key := range keys {
		switch {
		case stats[i].Kind == board.KindRecord:
			err = s.record(ctx, key)
		case stats[i].Kind == board.KindList && layout.EncryptedList(key):
			err = s.list(ctx, key, stats[i].Expires)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// anew is what a value is to be; ok is false where it is so already, or cannot
// be made so.
func (s *sweeper) anew(key, field, value string) (to string, ok bool) {
	ring := s.c.ring
	if value == "" || s.c.On && KeyOf(value) == ring.Primary || !s.c.On && !Sealed(value) {
		return "", false
	}
	plain, err := ring.Open(key, field, value)
	if err == nil && s.c.On {
		plain, err = ring.Seal(key, field, plain)
	}
	if err != nil || len(plain) > board.MaxField {
		s.left++
		return "", false
	}
	return plain, true
}

func (s *sweeper) record(ctx context.Context, key string) error {
	fields, all, ok := layout.Encrypted(key)
	if !ok {
		return nil
	}
	recs, err := s.board.Get(ctx, s.space, key)
	if errors.Is(err, domain.ErrInvalid) {
		return nil // it has become something else
	}
	if err != nil {
		return err
	}
	b := board.Batch{Space: s.space}
	for _, f := range recs[0] {
		if !all && !slices.Contains(fields, f.Name) {
			continue
		}
		if to, ok := s.anew(key, f.Name, f.Value); ok {
			b.Equal(key, f.Name, f.Value).Set(key, board.Field{Name: f.Name, Value: to})
		}
	}
	return s.commit(ctx, b)
}

// list writes a whole list anew, in one step: its items have no names by which
// one could be changed.
func (s *sweeper) list(ctx context.Context, key string, expires time.Time) error {
	items, err := s.board.List(ctx, s.space, key, 0, maxListItems+1)
	if err != nil || len(items) == 0 {
		return err
	}
	to, bytes, changed := slices.Clone(items), 0, false
	for i, item := range items {
		bytes += len(item)
		if value, ok := s.anew(key, "", item); ok {
			to[i], changed = value, true
		}
	}
	if !changed {
		return nil
	}
	if len(items) > maxListItems || bytes > maxListBytes {
		s.left++
		return nil
	}
	b := board.Batch{Space: s.space}
	b.Length(key, len(items)).ItemAt(key, 0, items[0]).ItemAt(key, -1, items[len(items)-1])
	b.Delete(key).PushRight(key, to...)
	if !expires.IsZero() {
		b.Expire(key, max(time.Until(expires), time.Millisecond))
	}
	return s.commit(ctx, b)
}

// commit writes, unless somebody else has meanwhile: then the next pass looks.
func (s *sweeper) commit(ctx context.Context, b board.Batch) error {
	if len(b.Ops) == 0 {
		return nil
	}
	err := s.board.Commit(ctx, b)
	switch {
	case err == nil, errors.Is(err, domain.ErrConflict):
		s.written++
		return nil
	case errors.Is(err, domain.ErrInvalid):
		s.left++ // it would be too large
		return nil
	}
	return err
}
