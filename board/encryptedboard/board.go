// Package encryptedboard encrypts what goes to a board and decrypts what comes
// from it, for the contexts that are encrypted: see package encryption, and the
// table in layout/encrypted.go.
//
// Who uses it sees plain values only, and may guard by them: the guard is
// made with what stands on the board. A value that does not open reads as
// [encryption.Unreadable], and its record gets the field [board.FieldUnreadable].
//
// While no context is encrypted a call costs one look at a pointer, and one at
// the beginning of each value that is read.
package encryptedboard

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// Board is a board whose encrypted contexts lie encrypted on the one below.
type Board struct {
	board.Board
	keys *encryption.Keys
}

var _ board.Board = (*Board)(nil)

// New puts encryption before b. Closing the one closes the other.
func New(b board.Board, keys *encryption.Keys) *Board { return &Board{Board: b, keys: keys} }

// Commit applies a batch with what is to be encrypted encrypted.
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	sealed, err := b.seal(ctx, batch)
	if err != nil {
		return err
	}
	return asAsked(b.Board.Commit(ctx, sealed), batch)
}

// CommitEach applies each batch for itself.
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	if b.keys.None() {
		return b.Board.CommitEach(ctx, batches)
	}
	errs := make([]error, len(batches))
	sealed, from := make([]board.Batch, 0, len(batches)), make([]int, 0, len(batches))
	for i := range batches {
		one, err := b.seal(ctx, batches[i])
		if err != nil {
			errs[i] = err
			continue
		}
		sealed, from = append(sealed, one), append(from, i)
	}
	if len(sealed) == 0 {
		return errs
	}
	for i, err := range b.Board.CommitEach(ctx, sealed) {
		errs[from[i]] = asAsked(err, batches[from[i]])
	}
	return errs
}

// asAsked shows the guard that failed as it was asked for.
func asAsked(err error, batch board.Batch) error {
	var failed *board.GuardError
	if errors.As(err, &failed) && failed.Index < len(batch.Guards) && failed.Guard != batch.Guards[failed.Index] {
		return &board.GuardError{Index: failed.Index, Guard: batch.Guards[failed.Index]}
	}
	return err
}

// Limits leaves room for what encryption adds.
func (b *Board) Limits() board.Limits {
	l := b.Board.Limits()
	l.Commit = l.Commit / 4 * 3
	return l
}

// Claim claims from the contexts that this node can read. One that waits begins
// anew when these are others.
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	if ask.Wait <= 0 {
		return b.claim(ctx, ask)
	}
	for end := time.Now().Add(ask.Wait); ; ask.Wait, ask.Charges = max(0, time.Until(end)), nil {
		era := b.keys.Era()
		waiting, cancel := context.WithCancel(ctx)
		stop := context.AfterFunc(era, cancel)
		claimed, err := b.claim(waiting, ask)
		stop()
		cancel()
		if len(claimed) > 0 || ctx.Err() != nil || era.Err() == nil {
			return claimed, err
		}
	}
}

func (b *Board) claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	for _, c := range b.keys.Locked() {
		ask.Except = append(slices.Clip(ask.Except), layout.SpaceOf(c.Tenant))
	}
	claimed, err := b.Board.Claim(ctx, ask)
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	kept := claimed[:0]
	for _, c := range claimed {
		rec, oerr := b.open(ctx, c.Space, c.Item, c.Record)
		if oerr != nil {
			b.giveBack(ctx, &ask, c) // the context became one that this node cannot read at this moment
			continue
		}
		c.Record = rec
		kept = append(kept, c)
	}
	return kept, nil
}

// giveBack puts an item back where another node takes it first. Where that
// fails, its lease runs out.
func (b *Board) giveBack(ctx context.Context, ask *board.Ask, c board.Claimed) {
	group := c.Record.Get(board.FieldQueue)
	for _, q := range ask.Queues {
		if list := q.Lists[len(q.Lists)-1]; queue.CapGroup(list) == group {
			back := board.Batch{Space: c.Space}
			back.Held(c.Item, ask.Owner, c.Token).Release(c.Item).PushRight(list, queue.ItemFor(list, c.Item))
			_ = b.Board.Commit(context.WithoutCancel(ctx), back)
			return
		}
	}
}

// Get reads records.
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	return b.opened(ctx, space, keys, func() ([]board.Record, error) { return b.Board.Get(ctx, space, keys...) }, false)
}

// GetFields reads some fields of records. Where this node has not the key, those
// that are only told to people say so.
func (b *Board) GetFields(ctx context.Context, space board.Space, fields []string, keys ...string) ([]board.Record, error) {
	return b.opened(ctx, space, keys, func() ([]board.Record, error) { return b.Board.GetFields(ctx, space, fields, keys...) }, true)
}

func (b *Board) opened(ctx context.Context, space board.Space, keys []string, read func() ([]board.Record, error), some bool) ([]board.Record, error) {
	recs, bad, err := board.PerKey(read())
	if err != nil {
		return nil, err
	}
	cloned := false
	for i, rec := range recs {
		if !anySealed(rec) {
			continue
		}
		if !cloned {
			recs, cloned = slices.Clone(recs), true
		}
		if some {
			if rec, err = b.withheld(ctx, space, rec); err != nil {
				return nil, err
			}
		}
		if recs[i], err = b.open(ctx, space, keys[i], rec); err != nil {
			return nil, err
		}
	}
	return recs, bad.Err()
}

// withheld is a record in which the fields that are only told to people say
// that they cannot be read here, where that is so.
func (b *Board) withheld(ctx context.Context, space board.Space, rec board.Record) (board.Record, error) {
	c, err := b.keys.Known(ctx, domain.TenantID(space))
	if c == nil || err != nil {
		return rec, err
	}
	if _, err = c.Ring(); err == nil {
		return rec, nil
	}
	rec = slices.Clone(rec)
	for i := range rec {
		if layout.EncryptedText(rec[i].Name) && encryption.Sealed(rec[i].Value) {
			rec[i].Value = encryption.Unreadable + err.Error() + ")"
		}
	}
	return rec, nil
}

func anySealed(rec board.Record) bool {
	for i := range rec {
		if encryption.Sealed(rec[i].Value) {
			return true
		}
	}
	return false
}

// open decrypts a record. It does not change the one it is given, which the
// board below may hold.
//
// Errors: [domain.ErrUnavailable] where this node has not the key.
func (b *Board) open(ctx context.Context, space board.Space, key string, rec board.Record) (board.Record, error) {
	if !anySealed(rec) {
		return rec, nil
	}
	fields, all, ok := layout.Encrypted(key)
	if !ok {
		return rec, nil
	}
	out := slices.Clone(rec)
	fault := ""
	for i, f := range rec {
		if !encryption.Sealed(f.Value) || !all && !slices.Contains(fields, f.Name) {
			continue
		}
		value, err := b.keys.OpenValue(ctx, domain.TenantID(space), key, f.Name, f.Value)
		if errors.Is(err, domain.ErrInvalid) {
			fault = err.Error()
			value = encryption.Unreadable + fault + ")"
		} else if err != nil {
			return nil, err
		}
		out[i].Value = value
	}
	if fault != "" {
		out = append(out, board.Field{Name: board.FieldUnreadable, Value: fault})
	}
	return out, nil
}

// List reads items of a list.
func (b *Board) List(ctx context.Context, space board.Space, list string, from, n int) ([]string, error) {
	items, err := b.Board.List(ctx, space, list, from, n)
	if err != nil || b.keys.None() || !layout.EncryptedList(list) {
		return items, err
	}
	out := slices.Clone(items)
	for i, item := range items {
		if !encryption.Sealed(item) {
			continue
		}
		out[i], err = b.keys.OpenValue(ctx, domain.TenantID(space), list, "", item)
		if errors.Is(err, domain.ErrInvalid) {
			out[i] = encryption.Unreadable + err.Error() + ")"
		} else if err != nil {
			return nil, err
		}
	}
	return out, nil
}
