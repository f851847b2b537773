package rhaiscript

import (
	"math"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file holds the methods of a model.

var (
	modelParam  = value.Param{Type: modelType}
	osirisParam = value.Param{Type: osirisType}
	intParam    = value.Param{Kinds: value.Of(value.IntKind)}
	mapParam    = value.Param{Kinds: value.Of(value.MapKind)}
	fnParam     = value.Param{Kinds: value.Of(value.FnKind)}
)

// call is one call of a method.
type call struct {
	*session
	c    *value.Ctx
	in   domain.Model
	args []value.Value
}

// id is the first argument as an object's id.
func (k *call) id() (domain.ObjectID, error) {
	n := k.args[0].AsInt()
	if n < 1 || n > math.MaxUint32 {
		return 0, domain.Invalidf("id %d: ids are numbers from 1", n)
	}
	return domain.ObjectID(n), nil
}

// alive counts operations.
func (k *call) alive(ops int) error {
	if !k.c.Host.Alive(k.c, ops) {
		return errPassed
	}
	return nil
}

// valueGrowth is how many times larger than its text a value is, at the most
// in ordinary objects.
const valueGrowth = 8

// charge counts the memory of values that are about to be made of a text.
func (k *call) charge(bytes int) error {
	if !k.c.Host.Charge(k.c, valueGrowth*bytes) {
		return errPassed
	}
	return nil
}

// give makes the script's map of an object, within the script's memory.
func (k *call) give(o domain.Object) (value.Value, error) {
	if err := k.charge(len(o.Data)); err != nil {
		return value.Value{}, err
	}
	return objectValue(o)
}

// objectFunctions are the functions that scripts of type osis have besides.
func objectFunctions(p *program) []*value.Native {
	method := func(name, signature, doc string, f func(*call) (value.Value, error), params ...value.Param) *value.Native {
		return &value.Native{Name: name, Params: append([]value.Param{modelParam}, params...), Volatile: true, Signature: signature, Doc: doc,
			Call: func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
				t := p.job.task
				k := &call{session: &p.job.session, c: c, args: args,
					in: domain.Model{Tenant: t.Context, Caller: t.Caller, Name: this.AsCustom().Data.(string)}}
				err := k.alive(opsPerCall)
				var v value.Value
				if err == nil {
					v, err = f(k)
				}
				if err != nil {
					return k.failed(c, k.in.Name+"."+name, err)
				}
				return v
			}}
	}
	return []*value.Native{
		{Name: "osis_model", Params: []value.Param{textParam}, Signature: "osis_model(name: string) -> Model",
			Doc:  "The objects of a kind in the job's context.",
			Call: func(c *value.Ctx, name *value.Value, _ []value.Value) value.Value { return openModel(c, *name) }},
		{Name: "model", Params: []value.Param{osirisParam, textParam}, Signature: "model(osiris: Osiris, name: string) -> Model",
			Doc:  "The same as osis_model(name).",
			Call: func(c *value.Ctx, _ *value.Value, args []value.Value) value.Value { return openModel(c, args[0]) }},
		method("create", "create(m: Model, object: map) -> int", "Adds an object and gives its id.", (*call).create, mapParam),
		method("get", "get(m: Model, id: int) -> map", "The object with its id, () when there is none.", (*call).get, intParam),
		method("set", "set(m: Model, id: int, object: map) -> map", "Replaces an object.", (*call).set, intParam, mapParam),
		method("update", "update(m: Model, id: int, fields: map) -> map", "Changes some fields of an object.", (*call).merge, intParam, mapParam),
		method("update", "update(m: Model, id: int, change: Fn) -> map", "Replaces an object by what change makes of it.", (*call).change, intParam, fnParam),
		method("delete", "delete(m: Model, id: int) -> bool", "Removes an object; false when there was none.", (*call).delete, intParam),
		method("exists", "exists(m: Model, id: int) -> bool", "Whether there is such an object.", (*call).exists, intParam),
		method("list", "list(m: Model) -> array", "All objects, by id.", (*call).list),
		method("list", "list(m: Model, limit: int) -> array", "The first objects.", (*call).list, intParam),
		method("list", "list(m: Model, limit: int, offset: int) -> array", "Objects after the first offset.", (*call).list, intParam, intParam),
		method("list", "list(m: Model, options: map) -> array", "Options are limit, offset and after (an id).", (*call).list, mapParam),
		method("find", "find(m: Model, fields: map) -> array", "The objects whose fields have these values.", (*call).find, mapParam),
		method("find", "find(m: Model, fields: map, options: map) -> array", "Options are those of list and matches_all.", (*call).find, mapParam, mapParam),
		method("find", "find(m: Model, test: Fn) -> array", "The objects for which test gives true.", (*call).find, fnParam),
		method("find", "find(m: Model, test: Fn, options: map) -> array", "Options are those of list.", (*call).find, fnParam, mapParam),
		method("index", "index(m: Model, field: string)", "Keeps an index, for find and count by this field.", (*call).index, textParam),
		method("count", "count(m: Model) -> int", "The number of objects.", (*call).count),
		method("count", "count(m: Model, fields: map) -> int", "The number of objects that find would give.", (*call).count, mapParam),
		method("count", "count(m: Model, test: Fn) -> int", "The number of objects that find would give.", (*call).count, fnParam),
	}
}

func openModel(c *value.Ctx, name value.Value) value.Value {
	if err := (domain.Model{Name: name.AsString()}).Validate(); err != nil {
		return c.Throw("%v", err)
	}
	return value.NewCustom(modelType, name.AsString())
}

func (k *call) create() (value.Value, error) {
	data, err := objectData(k.args[0])
	if err != nil {
		return value.Value{}, err
	}
	o, err := k.objects.Create(k.ctx, k.in, data)
	return value.Int(int64(o.ID)), err
}

func (k *call) get() (value.Value, error) {
	id, err := k.id()
	if err != nil {
		return value.Value{}, err
	}
	o, err := k.objects.Get(k.ctx, k.in, id)
	if missing(err) {
		return value.Unit, nil
	}
	if err != nil {
		return value.Value{}, err
	}
	return k.give(o)
}

// set, merge and change differ in what they make of the old object.

func (k *call) set() (value.Value, error) {
	data, err := objectData(k.args[1])
	if err != nil {
		return value.Value{}, err
	}
	was, err := k.was()
	if err != nil {
		return value.Value{}, err
	}
	return k.write(func(old domain.Object) (string, error) { return data, k.fresh(k.in.Name, old, was) })
}

func (k *call) merge() (value.Value, error) {
	fields := k.args[1].AsMap()
	if err := storable(k.args[1], "", 0); err != nil {
		return value.Value{}, err
	}
	was, err := k.was()
	if err != nil {
		return value.Value{}, err
	}
	return k.write(func(old domain.Object) (string, error) {
		if err := k.fresh(k.in.Name, old, was); err != nil {
			return "", err
		}
		v, err := k.give(old)
		if err != nil {
			return "", err
		}
		for _, e := range fields.Entries() {
			v.AsMap().Set(e.Key, e.Value.Keep())
		}
		return objectData(v)
	})
}

func (k *call) change() (value.Value, error) {
	return k.write(func(old domain.Object) (string, error) {
		if err := k.alive(opsPerCall); err != nil {
			return "", err
		}
		o, err := k.give(old)
		if err != nil {
			return "", err
		}
		v := k.c.Host.CallFn(k.c, k.args[1], nil, []value.Value{o})
		if v.IsNone() {
			return "", errPassed
		}
		if v = v.Flatten(); !v.Is(value.MapKind) {
			return "", domain.Invalidf("the function gave %s: it has to give the changed object, as in |o| { o.n += 1; o }", v.TypeName())
		}
		if _, err := seenBy(v, old.ID); err != nil {
			return "", err
		}
		return objectData(v)
	})
}

// was is what the map in the second argument says about where it came from.
func (k *call) was() (int32, error) {
	id, err := k.id()
	if err != nil {
		return 0, err
	}
	return seenBy(k.args[1], id)
}

// write changes the object and gives what it is now.
func (k *call) write(change func(old domain.Object) (string, error)) (value.Value, error) {
	id, err := k.id()
	if err != nil {
		return value.Value{}, err
	}
	o, err := k.objects.Change(k.ctx, k.in, id, change)
	if err != nil {
		return value.Value{}, err
	}
	k.remember(k.in.Name, o)
	return k.give(o)
}

func (k *call) delete() (value.Value, error) {
	id, err := k.id()
	if err != nil {
		return value.Value{}, err
	}
	found, err := k.objects.Delete(k.ctx, k.in, id)
	return value.Bool(found), err
}

func (k *call) exists() (value.Value, error) {
	id, err := k.id()
	if err != nil {
		return value.Value{}, err
	}
	_, err = k.objects.Get(k.ctx, k.in, id)
	if missing(err) {
		return value.False, nil
	}
	return value.True, err
}

func (k *call) index() (value.Value, error) {
	return value.Unit, k.objects.Index(k.ctx, k.in, k.args[0].AsString())
}
