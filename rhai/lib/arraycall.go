package lib

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has the functions of arrays that call back. Each callback may also
// be given by the name of a function, which is an old habit of scripts.

var arrayCalls = slices.Concat(
	byPointerOrName(reads, changes, "map", arrayMap),
	byPointerOrName(reads, changes, "filter", arrayFilter),
	byPointerOrName(reads, reads, "some", arraySome),
	byPointerOrName(reads, reads, "all", arrayAll),
	byPointerOrName(reads, reads, "reduce", arrayReduce),
	byPointerOrName(reads, reads, "reduce", arrayReduce, anything),
	byPointerOrName(reads, reads, "reduce_rev", arrayReduceRev),
	byPointerOrName(reads, reads, "reduce_rev", arrayReduceRev, anything),
	byPointerOrName(changes, changes, "drain", arrayDrainBy),
	byPointerOrName(changes, changes, "retain", arrayRetainBy),
	byPointerOrName(changes, changes, "dedup", arrayDedupBy),
	[]*value.Native{
		changes("for_each", arrayForEach, anArray, aFn),
		reads("find", arrayFind, anArray, aFn),
		reads("find", arrayFind, anArray, aFn, anInt),
		reads("find_map", arrayFindMap, anArray, aFn),
		reads("find_map", arrayFindMap, anArray, aFn, anInt),
		reads("index_of", arrayIndexBy, anArray, aFn),
		reads("index_of", arrayIndexBy, anArray, aFn, anInt),
		reads("index_of", arrayIndexOfText, anArray, aString),
		reads("index_of", arrayIndexOfText, anArray, aString, anInt),
		reads("zip", arrayZip, anArray, anArray, aFn),
	},
)

// byPointerOrName declares a function whose first argument is a callback.
func byPointerOrName(byPointer, byName declare, name string, f value.Func, rest ...value.Kinds) []*value.Native {
	named := func(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
		fn := c.Host.Named(c, args[0].AsString())
		if fn.IsNone() {
			return fn
		}
		return f(c, this, append([]value.Value{fn}, args[1:]...))
	}
	return []*value.Native{
		byPointer(name, f, append([]value.Kinds{anArray, aFn}, rest...)...),
		byName(name, named, append([]value.Kinds{anArray, aString}, rest...)...),
	}
}

// walk calls back for the items of an array.
type walk struct {
	c    *value.Ctx
	this *value.Value
	fn   value.Value
	back value.Callback
	name string // of the library function, for errors
	// fixed and at are those of the callback; index is its extra argument.
	fixed []value.Value
	at    int
	index [1]value.Value
	// item is where the callback changes the item of a shared array.
	item value.Value
}

func newWalk(c *value.Ctx, this *value.Value, name string, fn value.Value) *walk {
	return &walk{c: c, this: this, fn: fn, back: c.Host.Callback(c, fn), name: name}
}

// len is asked for anew at each turn: nobody else may change the array, but a
// mistake in that must not end the process.
func (w *walk) len() int { return len(w.this.AsArray().Items) }

// call calls back for item i; None means that the walk is over.
func (w *walk) call(i int) value.Value {
	w.index[0].SetInt(int64(i))
	a := w.this.AsArray()
	var out value.Value
	if !w.this.Shared() {
		out = w.back.Call(w.c, &a.Items[i], w.fixed, w.at, w.index[:])
	} else {
		// Copied only when the callback does change an item.
		w.item = a.Items[i].Keep()
		out = w.back.Call(w.c, &w.item, w.fixed, w.at, w.index[:])
		if !w.item.Same(a.Items[i]) {
			value.MutArray(w.this).Items[i] = w.item
		}
	}
	if out.IsNone() {
		return w.c.FailIn(w.name)
	}
	return out
}

// holds reports that a callback has answered true; other answers are not errors.
func holds(v value.Value) bool { return v.Is(value.BoolKind) && v.AsBool() }

func arrayForEach(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w := newWalk(c, this, "for_each", args[0])
	w.at = -1
	for i := 0; i < w.len(); i++ {
		if w.call(i).IsNone() {
			return value.Value{}
		}
	}
	// Items may have become arrays.
	if !settled(c, *this, 0, w.len()) {
		return value.Value{}
	}
	return value.Unit
}

func arrayMap(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w := newWalk(c, this, "map", args[0])
	n := w.len()
	if !room(c, n, itemBytes) {
		return value.Value{}
	}
	out, nested := make([]value.Value, 0, n), false
	for i := 0; i < w.len(); i++ {
		v := w.call(i)
		if v.IsNone() {
			return v
		}
		nested = nested || nests(v)
		out = append(out, v)
	}
	list := value.NewArray(out)
	if nested && !settled(c, list, 0, n) {
		return value.Value{}
	}
	return list
}

func arrayFilter(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w := newWalk(c, this, "filter", args[0])
	// First who is chosen, then one list of the right size.
	chosen, count := make([]bool, w.len()), 0
	for i := range chosen {
		v := w.call(i)
		if v.IsNone() {
			return v
		}
		if holds(v) {
			chosen[i] = true
			count++
		}
	}
	if !room(c, count, itemBytes) {
		return value.Value{}
	}
	out := make([]value.Value, 0, count)
	for i, item := range this.AsArray().Items {
		if chosen[i] {
			out = append(out, item.Keep())
		}
	}
	return value.NewArray(out)
}

func arraySome(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return arrayAny(newWalk(c, this, "some", args[0]), true)
}

func arrayAll(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return arrayAny(newWalk(c, this, "all", args[0]), false)
}

// arrayAny gives yes as soon as the callback does, else its opposite.
func arrayAny(w *walk, yes bool) value.Value {
	for i := 0; i < w.len(); i++ {
		v := w.call(i)
		if v.IsNone() {
			return v
		}
		if holds(v) == yes {
			return value.Bool(yes)
		}
	}
	return value.Bool(!yes)
}

// find gives the index from which on a callback has answered what stop
// asks for, and that answer; -1 at the end, and -1 with None for an error.
func (w *walk) find(args []value.Value, stop func(value.Value) bool) (int, value.Value) {
	from := 0
	if len(args) > 1 {
		from, _ = clip(w.len(), args[1].AsInt(), 0)
	}
	for i := from; i < w.len(); i++ {
		v := w.call(i)
		if v.IsNone() {
			return -1, v
		}
		if stop(v) {
			return i, v
		}
	}
	return -1, value.Unit
}

func arrayIndexBy(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, v := newWalk(c, this, "index_of", args[0]).find(args, holds)
	if v.IsNone() {
		return v
	}
	return value.Int(int64(at))
}

// arrayIndexOfText takes a string for the name of a callback, and where there
// is no such function for the item to look for.
func arrayIndexOfText(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if fn := c.Host.Named(c, args[0].AsString()); !fn.IsNone() {
		at := arrayIndexBy(c, this, append([]value.Value{fn}, args[1:]...))
		if !at.IsNone() || c.Err == nil || !unknown(c.Err, args[0].AsString()) {
			return at
		}
	}
	c.Err = nil
	return arrayIndexOf(c, this, args)
}

// unknown reports that an error of a callback says that there is no function name.
func unknown(e *value.Error, name string) bool {
	if e.Kind == value.ErrorInFunctionCall {
		e = e.Inner
	}
	return e.Kind == value.ErrorFunctionNotFound && strings.HasPrefix(e.Name, name)
}

func arrayFind(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	// The reference calls it index_of in errors, too.
	at, v := newWalk(c, this, "index_of", args[0]).find(args, holds)
	if v.IsNone() || at < 0 {
		return v
	}
	return this.AsArray().Items[at].Keep()
}

func arrayFindMap(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	_, v := newWalk(c, this, "find_map", args[0]).find(args, func(v value.Value) bool { return !v.IsUnit() })
	return v
}

func arrayReduce(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w, sum := newReduction(c, this, "reduce", args)
	for i := 0; i < w.len() && !sum.IsNone(); i++ {
		w.fixed[0] = sum
		sum = w.call(i)
	}
	return sum
}

func arrayReduceRev(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	w, sum := newReduction(c, this, "reduce_rev", args)
	for i := w.len() - 1; i >= 0 && !sum.IsNone(); i-- {
		w.fixed[0] = sum
		sum = w.call(i)
	}
	return sum
}

// newReduction gives the walk of a reduction and what it begins with.
func newReduction(c *value.Ctx, this *value.Value, name string, args []value.Value) (*walk, value.Value) {
	w := newWalk(c, this, name, args[0])
	w.fixed, w.at = make([]value.Value, 1), 1
	if len(args) > 1 {
		return w, args[1].Keep()
	}
	return w, value.Unit
}

func arrayDrainBy(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return arraySift(newWalk(c, this, "drain", args[0]), false)
}

func arrayRetainBy(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return arraySift(newWalk(c, this, "retain", args[0]), true)
}

// arraySift leaves in the array the items for which the callback gives keep,
// and returns the others. After an error the array has all items that were
// not yet taken out.
func arraySift(w *walk, keep bool) value.Value {
	if w.len() == 0 {
		return value.NewArray(nil)
	}
	value.MutArray(w.this)
	var out []value.Value
	kept, i := 0, 0
	for ; i < w.len(); i++ {
		v := w.call(i)
		if v.IsNone() {
			closeGap(w.this, kept, i)
			return v
		}
		items := value.MutArray(w.this).Items
		if holds(v) == keep {
			items[kept] = items[i]
			kept++
		} else {
			out = append(out, items[i])
		}
	}
	closeGap(w.this, kept, i)
	return value.NewArray(out)
}

// closeGap takes items from..to out, which have found another place.
func closeGap(this *value.Value, from, to int) {
	a := value.MutArray(this)
	a.Items = slices.Delete(a.Items, from, to)
}

func arrayDedupBy(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	same := c.Host.Callback(c, args[0])
	pair := make([]value.Value, 2)
	return dedup(c, this, func(kept, item value.Value) (bool, bool) {
		pair[0], pair[1] = kept.Keep(), item.Keep()
		v := same.Call(c, nil, pair, -1, nil)
		return holds(v), !v.IsNone()
	})
}

// dedup takes out the items that are the same as the last one kept. Errors of
// same that a script could catch mean that they are not.
func dedup(c *value.Ctx, this *value.Value, same func(kept, item value.Value) (same, ok bool)) value.Value {
	if len(this.AsArray().Items) < 2 {
		return value.Unit
	}
	if !c.Host.Alive(c, len(this.AsArray().Items)) {
		return value.Value{}
	}
	items := value.MutArray(this).Items
	kept, i := 1, 1
	for ; i < len(items); i++ {
		repeated, ok := same(items[kept-1], items[i])
		if !ok && !forgive(c) {
			closeGap(this, kept, i)
			return value.Value{}
		}
		if !repeated {
			items[kept] = items[i]
			kept++
		}
	}
	closeGap(this, kept, i)
	return value.Unit
}

// forgive clears the error of a callback when a script might have caught it,
// and reports whether it did. Limits end the script all the same, as does exit.
func forgive(c *value.Ctx) bool {
	if c.Err == nil || !c.Err.Innermost().Kind.Catchable() {
		return false
	}
	c.Err = nil
	return true
}

func arrayZip(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	back := c.Host.Callback(c, args[1])
	pair, index := make([]value.Value, 2), make([]value.Value, 1)
	left, right := this.AsArray().Items, args[0].AsArray().Items
	n := min(len(left), len(right))
	if !room(c, n, itemBytes) {
		return value.Value{}
	}
	out, nested := make([]value.Value, n), false
	for i := range out {
		pair[0], pair[1], index[0] = left[i].Keep(), right[i].Keep(), value.Int(int64(i))
		v := back.Call(c, nil, pair, -1, index)
		if v.IsNone() {
			return c.FailIn("zip")
		}
		nested = nested || nests(v)
		out[i] = v
	}
	list := value.NewArray(out)
	if nested && !settled(c, list, 0, n) {
		return value.Value{}
	}
	return list
}
