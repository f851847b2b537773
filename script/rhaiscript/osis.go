package rhaiscript

import (
	"context"
	"errors"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file makes the scripts of type osis: those of type rhai, with the
// objects of their context.

// Objects is the object store as scripts need it; package object has one. What
// a model's caller may not do is a [domain.ErrForbidden].
type Objects interface {
	Create(ctx context.Context, in domain.Model, data string) (domain.Object, error)
	Get(ctx context.Context, in domain.Model, id domain.ObjectID) (domain.Object, error)
	// Change calls change again when others were faster.
	Change(ctx context.Context, in domain.Model, id domain.ObjectID, change func(domain.Object) (data string, err error)) (domain.Object, error)
	Delete(ctx context.Context, in domain.Model, id domain.ObjectID) (bool, error)
	Scan(ctx context.Context, in domain.Model, q domain.ObjectQuery, visit func(domain.Object) (more bool, err error)) error
	Count(ctx context.Context, in domain.Model, q domain.ObjectQuery) (int64, error)
	Index(ctx context.Context, in domain.Model, field string) error
}

// What a call of the store counts as, in operations: it waits for a disk or a
// network, and a script that does nothing else must come to an end too.
const (
	opsPerCall   = 1000
	opsPerObject = 100
)

// The types of what osis_model gives, and of the constant osiris.
var (
	modelType = &value.Type{Name: "Model",
		Display: func(data any) string { return "model " + data.(string) },
		Debug:   func(data any) string { return "model " + data.(string) }}
	osirisType = &value.Type{Name: "Osiris"}
)

// withOsiris adds the constant osiris where there are objects.
func (c Config) withOsiris(s *rhai.Scope) *rhai.Scope {
	if c.Objects != nil {
		s.SetConst("osiris", value.NewCustom(osirisType, nil))
	}
	return s
}

// session is what one run has to do with objects.
type session struct {
	ctx     context.Context
	objects Objects
	// wrote are the versions that this run itself has made of objects, as far
	// as nobody else came between.
	wrote map[written]versions
}

type written struct {
	model string
	id    domain.ObjectID
}

// versions are those from the one that was written over to the last.
type versions struct{ first, last int64 }

// maxWrote bounds what is remembered of own writes. Who writes more objects
// than that in one run may be told of a conflict with itself.
const maxWrote = 10_000

// tag marks an object's map with its version.
func tag(version int64) int32 { return int32(version & 0x7fffffff) }

// objectValue is an object as scripts see it: its data with the id. It carries
// the version, so that a map that is written back is known to be old or not.
func objectValue(o domain.Object) (value.Value, error) {
	v, err := value.ReadJSON(o.Data)
	if err == nil && !v.Is(value.MapKind) {
		err = errors.New("it is no JSON object")
	}
	if err != nil {
		return v, domain.Invalidf("object %d: its data: %v", o.ID, err)
	}
	v.AsMap().Set(domain.ObjectIDField, value.Int(int64(o.ID)))
	return v.WithTag(tag(o.Version)), nil
}

// objectData is a map as the store takes it: JSON without the id.
//
// Errors: [domain.ErrInvalid] for what cannot be kept.
func objectData(v value.Value) (string, error) {
	if err := storable(v, "", 0); err != nil {
		return "", err
	}
	v.Keep() // so that the copy is changed, not the script's map
	m := value.MutMap(&v)
	m.Remove(domain.ObjectIDField)
	text, err := value.AppendJSON(nil, v)
	return string(text), err
}

// maxObjectDepth is how deep objects may nest; JSON is read up to 127.
const maxObjectDepth = 100

// storable refuses what would not come back as it was.
func storable(v value.Value, path string, depth int) error {
	if depth > maxObjectDepth {
		return domain.Invalidf("field %s is nested deeper than %d", path, maxObjectDepth)
	}
	switch v = v.Flatten(); v.Kind() {
	case value.UnitKind, value.BoolKind, value.IntKind, value.StringKind, value.CharKind, value.BlobKind:
		return nil
	case value.FloatKind:
		if f := v.AsFloat(); f-f != 0 {
			return domain.Invalidf("field %s is %s, which cannot be kept", path, v.Display())
		}
		return nil
	case value.ArrayKind:
		for _, item := range v.AsArray().Items {
			if err := storable(item, path, depth+1); err != nil {
				return err
			}
		}
		return nil
	case value.MapKind:
		for _, e := range v.AsMap().Entries() {
			name := e.Key
			if depth > 0 {
				name = path + "." + e.Key
			}
			if err := storable(e.Value, name, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return domain.Invalidf("field %s is of type %s, which cannot be kept", path, v.TypeName())
}

// seenBy gives the tag of a map that is to be written as object id; 0 where it
// does not say what it came from.
//
// Errors: [domain.ErrInvalid] when it is another object.
func seenBy(v value.Value, id domain.ObjectID) (int32, error) {
	own := v.AsMap().Get(domain.ObjectIDField)
	if own.IsNone() {
		return 0, nil // made by the script: nothing was seen
	}
	if own = own.Flatten(); !own.Is(value.IntKind) || own.AsInt() != int64(id) {
		return 0, domain.Invalidf("the map has the id %s: remove it, or write to that object", own.Display())
	}
	return v.Tag(), nil
}

// fresh refuses to write over what the script has not seen. Versions that the
// run has made itself count as seen.
//
// Errors: [domain.ErrConflict].
func (s *session) fresh(model string, old domain.Object, was int32) error {
	if was == 0 || was == tag(old.Version) {
		return nil
	}
	own := s.wrote[written{model, old.ID}]
	if own.last == old.Version && was >= tag(own.first) && was < tag(own.last) {
		return nil
	}
	return domain.Conflictf("%s %d was changed by somebody else since it was read: read it again, or use update(id, |o| ...)", model, old.ID)
}

// remember notes an own write.
func (s *session) remember(model string, o domain.Object) {
	k := written{model, o.ID}
	own, known := s.wrote[k]
	if known && own.last == o.Version-1 {
		own.last = o.Version
	} else {
		own = versions{o.Version - 1, o.Version}
	}
	if s.wrote == nil || !known && len(s.wrote) >= maxWrote {
		s.wrote = map[written]versions{}
	}
	s.wrote[k] = own
}

// failed is the end of a call with an error: what the script did wrong or may
// not do can be caught; the end of the run cannot.
func (s *session) failed(c *value.Ctx, what string, err error) value.Value {
	switch {
	case errors.Is(err, errPassed):
		return value.Value{} // the evaluator knows already
	case s.ctx.Err() != nil:
		return c.Fail(&value.Error{Kind: value.ErrorTerminated, Value: value.Unit, Cause: err})
	}
	for _, kind := range []error{domain.ErrForbidden, domain.ErrInvalid, domain.ErrConflict, domain.ErrNotFound, domain.ErrExhausted, domain.ErrLimit} {
		if errors.Is(err, kind) {
			return c.Fail(&value.Error{Kind: value.ErrorRuntime, Value: value.Str(what + ": " + err.Error()), Cause: err})
		}
	}
	return c.Fail(&value.Error{Kind: value.ErrorSystem, Name: what + ": " + err.Error(), Cause: err})
}

// errPassed says that a function of the script has failed, or limits have come:
// the error is in Ctx.Err.
var errPassed = errors.New("already reported")
