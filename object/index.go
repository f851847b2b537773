package object

import (
	"context"
	"errors"
	"regexp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Index makes finds by a field read an index. It costs a pass over the model
// once; of an index that is there already it costs one read.
//
// Errors: also [domain.ErrLimit] for more than [MaxIndexes].
func (s *Store) Index(ctx context.Context, in domain.Model, field string) error {
	if err := validateIndex(field); err != nil {
		return err
	}
	if err := s.may(ctx, in, domain.VerbWrite); err != nil {
		return err
	}
	done, err := s.declare(ctx, in, field, layout.IndexBuilding)
	if err != nil || done {
		return err
	}
	if err := s.build(ctx, in, field); err != nil {
		return err
	}
	_, err = s.declare(ctx, in, field, layout.IndexReady)
	return err
}

// declare puts an index into a state, unless it is ready already.
func (s *Store) declare(ctx context.Context, in domain.Model, field, state string) (ready bool, err error) {
	err = s.try(ctx, in, func() error {
		m, err := s.model(ctx, in)
		if err != nil {
			return err
		}
		if ready = m.ready(field); ready || m.indexes[field] == state {
			return nil
		}
		if len(m.indexes) >= MaxIndexes && m.indexes[field] == "" {
			return domain.Limitf("model %q has %d indexes, which is the limit", in.Name, MaxIndexes)
		}
		indexes := map[string]string{field: state}
		for other, its := range m.indexes {
			if other != field {
				indexes[other] = its
			}
		}
		b := m.batch(in)
		b.Set(layout.Model(in.Name), board.Field{Name: layout.ModelIndexes, Value: layout.EncodeIndexes(indexes)})
		return s.board.Commit(ctx, b)
	})
	return ready, err
}

// build adds the objects that were there before the index. One that changes
// meanwhile is added by who changes it: that is what its lost guard says.
func (s *Store) build(ctx context.Context, in domain.Model, field string) error {
	m := model{indexes: map[string]string{field: layout.IndexBuilding}}
	all := s.all(in)
	for after := domain.ObjectID(0); ; {
		ids, err := all(ctx, after, minChunk)
		if err != nil || len(ids) == 0 {
			return err
		}
		objects, _, err := s.read(ctx, in, ids)
		if err != nil {
			return err
		}
		batches := make([]board.Batch, len(objects))
		for i, o := range objects {
			fields, err := o.Fields()
			if err != nil {
				return err
			}
			batches[i].Space = space(in)
			m.guard(&batches[i], in, o)
			if err := m.reindex(&batches[i], in, o.ID, nil, fields); err != nil {
				return err
			}
		}
		for _, err := range s.board.CommitEach(ctx, batches) {
			if err := unlessLost(err); err != nil {
				return err
			}
		}
		after = ids[len(ids)-1]
	}
}

// unlessLost leaves out the error of a guard.
func unlessLost(err error) error {
	var lost *board.GuardError
	if errors.As(err, &lost) {
		return nil
	}
	return err
}

// fieldPattern keeps names safe inside keys, where ':' ends them.
var fieldPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]{0,63}$`)

// validateIndex checks the name of a field that shall have an index.
//
// Errors: [domain.ErrInvalid].
func validateIndex(field string) error {
	if field == domain.ObjectIDField {
		return domain.Invalidf("index %q: objects are found by their id without one", field)
	}
	if !fieldPattern.MatchString(field) {
		return domain.Invalidf("index %q: want a letter or '_', then up to 63 letters, digits, '_', '-' or '.'", domain.PlainText(field, 64))
	}
	return nil
}
