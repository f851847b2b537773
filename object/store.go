package object

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

// Bounds of a write that meets others.
const (
	maxTries   = 200
	shortPause = time.Millisecond
	longPause  = 20 * time.Millisecond
)

// Store keeps the objects of all contexts on a board. It is safe for
// concurrent use.
//
// Errors of every method: [domain.ErrForbidden] for who may not,
// [domain.ErrInvalid] for names and data that break a limit, those of the
// board, and the context's own.
type Store struct {
	board  board.Board
	access *identity.Access
}

// New returns a store on b, with the rights that access knows.
func New(b board.Board, access *identity.Access) *Store { return &Store{board: b, access: access} }

// Create adds an object, a JSON object without id.
//
// Errors: also [domain.ErrLimit] when the model has had all ids.
func (s *Store) Create(ctx context.Context, in domain.Model, data string) (domain.Object, error) {
	if err := s.may(ctx, in, domain.VerbWrite); err != nil {
		return domain.Object{}, err
	}
	now := domain.At(time.Now())
	o := domain.Object{Data: data, Version: 1, CreatedBy: in.Caller, UpdatedBy: in.Caller, CreatedAt: now, UpdatedAt: now}
	err := s.try(ctx, in, func() error {
		id, err := s.board.Next(ctx, space(in), layout.ObjectSeq(in.Name), 1)
		if err != nil {
			return err
		}
		if o.ID = domain.ObjectID(id); int64(o.ID) != id {
			return domain.Limitf("model %q has given all its ids", in.Name)
		}
		m, err := s.model(ctx, in)
		if err != nil {
			return err
		}
		fields, err := check(o)
		if err != nil {
			return err
		}
		b := m.batch(in)
		b.Absent(layout.Object(in.Name, o.ID)) // a counter may be older than the board it was restored to
		b.Set(layout.Object(in.Name, o.ID), layout.EncodeObject(o)...)
		b.Include(layout.ModelPages(in.Name), layout.ObjectMember(layout.PageOf(o.ID)))
		b.Include(layout.ModelPage(in.Name, layout.PageOf(o.ID)), layout.ObjectMember(o.ID))
		b.Add(layout.Model(in.Name), layout.ModelCount, 1)
		if err := m.reindex(&b, in, o.ID, nil, fields); err != nil {
			return err
		}
		return s.board.Commit(ctx, b)
	})
	return o, err
}

// Get reads an object.
//
// Errors: also [domain.ErrNotFound].
func (s *Store) Get(ctx context.Context, in domain.Model, id domain.ObjectID) (domain.Object, error) {
	if err := s.may(ctx, in, domain.VerbRead); err != nil {
		return domain.Object{}, err
	}
	_, o, err := s.load(ctx, in, id)
	return o, err
}

// Change replaces an object's data by what change makes of it. When others
// change the object meanwhile, change is called again with what they left.
// An error of change ends it and is returned as it is.
//
// Errors: also [domain.ErrNotFound]; [domain.ErrConflict] when others were
// faster too often.
func (s *Store) Change(ctx context.Context, in domain.Model, id domain.ObjectID, change func(domain.Object) (data string, err error)) (domain.Object, error) {
	if err := s.may(ctx, in, domain.VerbWrite); err != nil {
		return domain.Object{}, err
	}
	var o domain.Object
	err := s.try(ctx, in, func() error {
		m, old, err := s.load(ctx, in, id)
		if err != nil {
			return err
		}
		o = old
		if o.Data, err = change(old); err != nil {
			return err
		}
		o.Version++
		o.UpdatedBy, o.UpdatedAt = in.Caller, domain.At(time.Now())
		after, err := check(o)
		if err != nil {
			return err
		}
		before, err := old.Fields()
		if err != nil {
			return err
		}
		b := m.batch(in)
		m.guard(&b, in, old)
		b.Set(layout.Object(in.Name, id), layout.EncodeObject(o)...)
		if err := m.reindex(&b, in, id, before, after); err != nil {
			return err
		}
		return s.board.Commit(ctx, b)
	})
	return o, err
}

// Delete removes an object; false: there was none.
//
// Errors: also [domain.ErrConflict] as Change.
func (s *Store) Delete(ctx context.Context, in domain.Model, id domain.ObjectID) (bool, error) {
	if err := s.may(ctx, in, domain.VerbWrite); err != nil {
		return false, err
	}
	err := s.try(ctx, in, func() error {
		m, old, err := s.load(ctx, in, id)
		if err != nil {
			return err
		}
		before, err := old.Fields()
		if err != nil {
			return err
		}
		b := m.batch(in)
		m.guard(&b, in, old)
		b.Delete(layout.Object(in.Name, id))
		b.Exclude(layout.ModelPage(in.Name, layout.PageOf(id)), layout.ObjectMember(id))
		b.Add(layout.Model(in.Name), layout.ModelCount, -1)
		if err := m.reindex(&b, in, id, before, nil); err != nil {
			return err
		}
		return s.board.Commit(ctx, b)
	})
	if errors.Is(err, domain.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// may asks for the caller's right, after the model's name.
func (s *Store) may(ctx context.Context, in domain.Model, verb domain.Verb) error {
	if err := in.Validate(); err != nil {
		return err
	}
	return s.access.Check(ctx, identity.Ask{Actor: in.Caller, Verb: verb, Tenant: in.Tenant, Object: "object:" + in.Name})
}

// try does a guarded write again while others are faster. The pauses are by
// chance, so that writers do not meet again and again.
func (s *Store) try(ctx context.Context, in domain.Model, write func() error) error {
	for n := range maxTries {
		err := write()
		var lost *board.GuardError
		if !errors.As(err, &lost) {
			return err
		}
		if err := pause.For(ctx, rand.N(pause.Doubled(shortPause, longPause, n))); err != nil {
			return err
		}
	}
	return domain.Conflictf("model %q: others were faster %d times; try again later", in.Name, maxTries)
}

// load reads an object with its model.
func (s *Store) load(ctx context.Context, in domain.Model, id domain.ObjectID) (model, domain.Object, error) {
	recs, err := s.board.Get(ctx, space(in), layout.Model(in.Name), layout.Object(in.Name, id))
	if err != nil {
		return model{}, domain.Object{}, err
	}
	if recs[1] == nil {
		return model{}, domain.Object{}, domain.NotFoundf("%s %d does not exist", in.Name, id)
	}
	m, err := decodeModel(in, recs[0])
	if err != nil {
		return model{}, domain.Object{}, err
	}
	o, err := layout.DecodeObject(in.Name, id, recs[1])
	return m, o, err
}

func space(in domain.Model) board.Space { return layout.SpaceOf(in.Tenant) }
