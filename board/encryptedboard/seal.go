package encryptedboard

import (
	"context"
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/encryption"
	"github.com/ramet-run/ramet/layout"
)

// seal is a batch as it goes to the board below. The one it is given stays as
// it is: who made it may commit it again.
func (b *Board) seal(ctx context.Context, batch board.Batch) (board.Batch, error) {
	if b.keys.None() {
		return batch, nil
	}
	c := b.keys.Of(domain.TenantID(batch.Space))
	if c == nil {
		return batch, nil
	}
	s := sealer{b: b, c: c, space: batch.Space}
	batch.Guards = slices.Clone(batch.Guards)
	for i := range batch.Guards {
		if err := s.guard(ctx, &batch.Guards[i]); err != nil {
			return batch, err
		}
	}
	batch.Ops = slices.Clone(batch.Ops)
	for i := range batch.Ops {
		if err := s.op(&batch.Ops[i]); err != nil {
			return batch, err
		}
	}
	return batch, nil
}

// sealer encrypts what one context's batch has.
type sealer struct {
	b     *Board
	c     *encryption.Context
	space board.Space
}

// value encrypts one value.
//
// Errors: [domain.ErrUnavailable] where this node has not the key: also where
// encryption is off, as what is there may be older, and a guard asks for it.
func (s *sealer) value(key, field, value string) (string, error) {
	ring, err := s.c.Ring()
	if err != nil || !s.c.On {
		return value, err
	}
	sealed, err := ring.Seal(key, field, value)
	if err == nil && len(sealed) > board.MaxField {
		err = domain.Invalidf("field %q of %q has %d bytes, the limit is %d in an encrypted context", field, key, len(value), encryption.MaxValue)
	}
	return sealed, err
}

func (s *sealer) op(o *board.Op) (err error) {
	switch o.Kind {
	case board.OpSet, board.OpCountdown:
		o.Fields, err = s.fields(o.Key, o.Fields)
	case board.OpPushLeft, board.OpPushRight, board.OpAppend:
		o.Items, err = s.items(o.Key, o.Items)
	case board.OpDrop:
		if layout.EncryptedList(o.Key) {
			err = domain.Invalidf("items of %q cannot be looked for: context %d is encrypted", o.Key, s.c.Tenant)
		}
	}
	return err
}

func (s *sealer) fields(key string, fields []board.Field) ([]board.Field, error) {
	secret, all, ok := layout.Encrypted(key)
	if !ok {
		return fields, nil
	}
	cloned := false
	for i, f := range fields {
		if !all && !slices.Contains(secret, f.Name) {
			continue
		}
		value, err := s.value(key, f.Name, f.Value)
		if err != nil {
			return nil, err
		}
		if !cloned {
			fields, cloned = slices.Clone(fields), true
		}
		fields[i].Value = value
	}
	return fields, nil
}

func (s *sealer) items(list string, items []string) ([]string, error) {
	if !layout.EncryptedList(list) {
		return items, nil
	}
	sealed := make([]string, len(items))
	for i, item := range items {
		var err error
		if sealed[i], err = s.value(list, "", item); err != nil {
			return nil, err
		}
	}
	return sealed, nil
}

// guard makes a guard by a plain value one by what stands on the board, if that
// is this value encrypted: no two encryptions of a value are alike.
func (s *sealer) guard(ctx context.Context, g *board.Guard) error {
	if g.Value == "" {
		return nil
	}
	raw, field, err := "", g.Field, error(nil)
	switch g.Kind {
	case board.GuardEqual:
		secret, all, ok := layout.Encrypted(g.Key)
		if !ok || !all && !slices.Contains(secret, g.Field) {
			return nil
		}
		var recs []board.Record
		if recs, err = s.b.Board.GetFields(ctx, s.space, []string{g.Field}, g.Key); err == nil {
			raw = recs[0].Get(g.Field)
		}
	case board.GuardItem:
		if !layout.EncryptedList(g.Key) {
			return nil
		}
		var items []string
		if items, err = s.b.Board.List(ctx, s.space, g.Key, int(g.N), 1); len(items) > 0 {
			raw = items[0]
		}
		field = ""
	default:
		return nil
	}
	if err != nil || !encryption.Sealed(raw) {
		return err
	}
	plain, err := s.b.keys.OpenValue(ctx, s.c.Tenant, g.Key, field, raw)
	if err != nil {
		return err
	}
	if plain == g.Value {
		g.Value = raw
	}
	return nil
}
