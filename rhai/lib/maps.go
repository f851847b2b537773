package lib

import (
	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what object maps do. Their keys come in the order of their
// bytes wherever an order shows.

var mapFns = []*value.Native{
	reads("len", mapLen, aMap),
	reads("is_empty", mapIsEmpty, aMap),
	reads("contains", mapContains, aMap, aString),
	reads("get", mapGet, aMap, aString),
	changes("set", mapSet, aMap, aString, anything),
	changes("clear", mapClear, aMap),
	changes("remove", mapRemove, aMap, aString),
	changes("mixin", mapMixin, aMap, aMap),
	changes("+=", mapMixin, aMap, aMap),
	reads("+", mapMerge, aMap, aMap),
	changes("fill_with", mapFillWith, aMap, aMap),
	reads("keys", mapKeys, aMap),
	reads("values", mapValues, aMap),
	reads("map", mapMap, aMap, aFn),
	reads("filter", mapFilter, aMap, aFn),
	changes("drain", mapDrain, aMap, aFn),
	changes("retain", mapRetain, aMap, aFn),
}

// entryBytes is about what an entry of a map takes.
const entryBytes = 48

func mapLen(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(this.AsMap().Len()))
}

func mapIsEmpty(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Bool(this.AsMap().Len() == 0)
}

func mapContains(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return value.Bool(this.AsMap().Find(args[0].AsString()) >= 0)
}

func mapGet(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if v := this.AsMap().Get(args[0].AsString()); !v.IsNone() {
		return v.Keep()
	}
	return value.Unit
}

func mapSet(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	v := args[1].Keep() // before the map is looked at: it may be the map itself
	m := value.MutMap(this)
	before := m.Len()
	if !add(c, m, args[0].AsString(), v) {
		return value.Value{}
	}
	if !settledWith(c, v, *this, before, m.Len()) {
		return value.Value{}
	}
	return value.Unit
}

// add puts a value that the map then owns, if the map has room for it.
func add(c *value.Ctx, m *value.Map, key string, v value.Value) bool {
	if p := m.Ref(key); p != nil {
		*p = v
		return true
	}
	n := m.Len() + 1
	if !c.FitsMap(n) {
		return false
	}
	// Maps double when they are full: that is when memory is taken.
	if n&(n-1) == 0 && n*entryBytes >= chargedFrom && !c.Host.Charge(c, n*entryBytes) {
		return false
	}
	m.Set(key, v)
	return true
}

func mapClear(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	put(this, value.NewMap(0))
	return value.Unit
}

func mapRemove(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	key := args[0].AsString()
	if this.AsMap().Find(key) < 0 {
		return value.Unit
	}
	return value.MutMap(this).Remove(key)
}

// mapMixin adds the entries of another map; they win.
func mapMixin(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return mapAdd(c, this, args[0].AsMap(), func(*value.Map, string) bool { return true })
}

// mapFillWith adds those entries of another map whose keys are missing.
func mapFillWith(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return mapAdd(c, this, args[0].AsMap(), func(m *value.Map, key string) bool { return m.Find(key) < 0 })
}

// mapAdd adds the wanted entries of another map to the one at this.
func mapAdd(c *value.Ctx, this *value.Value, more *value.Map, wanted func(*value.Map, string) bool) value.Value {
	if more.Len() == 0 || more == this.AsMap() {
		return value.Unit
	}
	if !worth(c, more.Len()*entryBytes) {
		return value.Value{}
	}
	if this.Shared() && !c.Host.Charge(c, this.AsMap().Bytes()) {
		return value.Value{}
	}
	m := value.MutMap(this)
	before := m.Len()
	for _, e := range more.Entries() {
		if wanted(m, e.Key) && !add(c, m, e.Key, e.Value.Keep()) {
			return value.Value{}
		}
	}
	if !settled(c, *this, before, m.Len()) {
		return value.Value{}
	}
	return value.Unit
}

// mapMerge makes a map of the entries of two; those of the second win.
func mapMerge(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	out := this.Keep() // shared, so that adding to it works on a copy
	if mapMixin(c, &out, args).IsNone() {
		return value.Value{}
	}
	return out
}

func mapKeys(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return mapList(c, this, func(e *value.Entry) value.Value { return value.Str(e.Key) })
}

func mapValues(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return mapList(c, this, func(e *value.Entry) value.Value { return e.Value.Keep() })
}

// mapList makes an array with an item of each entry.
func mapList(c *value.Ctx, this *value.Value, item func(*value.Entry) value.Value) value.Value {
	entries := this.AsMap().Entries()
	if !room(c, len(entries), itemBytes) {
		return value.Value{}
	}
	items := make([]value.Value, len(entries))
	for i := range entries {
		items[i] = item(&entries[i])
	}
	return value.NewArray(items)
}

// mapWalk calls back for the entries of a map: the key is the argument, the
// value is this or the second argument.
type mapWalk struct {
	c    *value.Ctx
	this *value.Value
	fn   value.Value
	back value.Callback
	name string // of the library function, for errors
	keys []string
	key  [1]value.Value
	item value.Value // where the callback changes a value of a shared map
}

func newMapWalk(c *value.Ctx, this *value.Value, name string, fn value.Value) *mapWalk {
	entries := this.AsMap().Entries()
	w := &mapWalk{c: c, this: this, fn: fn, back: c.Host.Callback(c, fn), name: name, keys: make([]string, len(entries))}
	for i := range entries {
		w.keys[i] = entries[i].Key
	}
	return w
}

// call calls back for an entry and gives its value, too; None means that the walk is over.
func (w *mapWalk) call(key string) (answer, entry value.Value) {
	w.key[0] = value.Str(key)
	p := w.this.AsMap().Ref(key)
	if !w.this.Shared() {
		answer = w.back.Call(w.c, p, w.key[:], 1, nil)
	} else {
		// Copied only when the callback does change a value.
		w.item = p.Keep()
		answer = w.back.Call(w.c, &w.item, w.key[:], 1, nil)
		if p = w.this.AsMap().Ref(key); !w.item.Same(*p) {
			value.MutMap(w.this).Set(key, w.item)
		}
	}
	if answer.IsNone() {
		return w.c.FailIn(w.name), value.Value{}
	}
	return answer, *w.this.AsMap().Ref(key)
}

func mapMap(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w := newMapWalk(c, this, "filter", args[0]) // so the reference calls it in errors
	out := value.NewMap(len(w.keys))
	for _, key := range w.keys {
		answer, _ := w.call(key)
		if answer.IsNone() || !add(c, out.AsMap(), key, answer) {
			return value.Value{}
		}
	}
	if !settled(c, out, 0, len(w.keys)) {
		return value.Value{}
	}
	return out
}

func mapFilter(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w := newMapWalk(c, this, "filter", args[0])
	out := value.NewMap(0)
	for _, key := range w.keys {
		answer, v := w.call(key)
		if answer.IsNone() || holds(answer) && !add(c, out.AsMap(), key, v.Keep()) {
			return value.Value{}
		}
	}
	return out
}

func mapDrain(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return mapSift(newMapWalk(c, this, "drain", args[0]), false)
}

func mapRetain(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return mapSift(newMapWalk(c, this, "retain", args[0]), true)
}

// mapSift leaves in the map the entries for which the callback gives keep, and
// returns the others. After an error the map lacks those that were already
// sorted out and, as in the reference, the one that the callback failed for.
func mapSift(w *mapWalk, keep bool) value.Value {
	if len(w.keys) == 0 {
		return value.NewMap(0)
	}
	value.MutMap(w.this)
	out := value.NewMap(0)
	var gone []string
	var failed bool
	for _, key := range w.keys {
		answer, v := w.call(key)
		if failed = answer.IsNone(); failed {
			gone = append(gone, key)
			break
		}
		if holds(answer) != keep {
			out.AsMap().Set(key, v)
			gone = append(gone, key)
		}
	}
	m := value.MutMap(w.this)
	for _, key := range gone {
		m.Remove(key)
	}
	if failed {
		return value.Value{}
	}
	return out
}
