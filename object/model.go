package object

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Limits of a model.
const (
	// MaxBytes bounds an object as JSON text: it lies in one field of a
	// record, and a page of them in a script's memory.
	MaxBytes = 256 << 10
	// MaxFields bounds the fields of an object, nested ones not counted.
	MaxFields = 1024
	// MaxIndexes bounds the indexes of a model: each costs two operations of
	// the commit that changes an object.
	MaxIndexes = 16
)

// model is a model's record as it was read.
type model struct {
	count   int64
	text    string            // of indexes, for guards
	indexes map[string]string // field to state
}

func (s *Store) model(ctx context.Context, in domain.Model) (model, error) {
	recs, err := s.board.Get(ctx, space(in), layout.Model(in.Name))
	if err != nil {
		return model{}, err
	}
	return decodeModel(in, recs[0])
}

func decodeModel(in domain.Model, r board.Record) (model, error) {
	m := model{text: r.Get(layout.ModelIndexes)}
	m.count, _ = strconv.ParseInt(r.Get(layout.ModelCount), 10, 64)
	var err error
	m.indexes, err = layout.DecodeIndexes(in.Name, m.text)
	return m, err
}

// batch is one that fails when the model's indexes have changed.
func (m model) batch(in domain.Model) board.Batch {
	b := board.Batch{Space: space(in)}
	b.Equal(layout.Model(in.Name), layout.ModelIndexes, m.text)
	return b
}

// guard makes the batch fail when the object has changed.
func (model) guard(b *board.Batch, in domain.Model, o domain.Object) {
	b.Equal(layout.Object(in.Name, o.ID), layout.ObjectVersion, strconv.FormatInt(o.Version, 10))
}

// ready reports whether the field has an index that can be asked.
func (m model) ready(field string) bool { return m.indexes[field] == layout.IndexReady }

// reindex moves an object in all indexes from the values it had to those it
// has. Nil: it was not there, or is no more.
func (m model) reindex(b *board.Batch, in domain.Model, id domain.ObjectID, before, after map[string]json.RawMessage) error {
	for _, field := range slices.Sorted(maps.Keys(m.indexes)) {
		from, err := indexKey(in, field, before)
		if err != nil {
			return err
		}
		to, err := indexKey(in, field, after)
		if err != nil {
			return err
		}
		if from == to {
			continue
		}
		if from != "" {
			b.Exclude(from, layout.ObjectMember(id))
		}
		if to != "" {
			b.Include(to, layout.ObjectMember(id))
		}
	}
	return nil
}

// indexKey is the set that an object with these fields is in; "" for none.
func indexKey(in domain.Model, field string, fields map[string]json.RawMessage) (string, error) {
	if fields == nil {
		return "", nil
	}
	value, err := canonical(fields[field])
	if err != nil {
		return "", err
	}
	return layout.ModelIndex(in.Name, field, value), nil
}

// check holds an object that is to be written to its limits.
func check(o domain.Object) (map[string]json.RawMessage, error) {
	if len(o.Data) > MaxBytes {
		return nil, domain.Invalidf("the object has %d bytes as JSON, the limit is %d", len(o.Data), MaxBytes)
	}
	fields, err := o.Fields()
	if err != nil {
		return nil, err
	}
	if n := len(fields) - 1; n > MaxFields {
		return nil, domain.Invalidf("the object has %d fields, the limit is %d", n, MaxFields)
	}
	return fields, nil
}
