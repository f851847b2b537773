package lib

import (
	"slices"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file has what arrays do without callbacks.

var arrayFns = slices.Concat(
	property("len", arrayLen, anArray),
	property("is_empty", arrayIsEmpty, anArray),
	[]*value.Native{
		changes("get", arrayGet, anArray, anInt),
		changes("set", arraySet, anArray, anInt, anything),
		changes("push", arrayPush, anArray, anything),
		changes("append", arrayAppend, anArray, anArray),
		changes("insert", arrayInsert, anArray, anInt, anything),
		changes("pad", arrayPad, anArray, anInt, anything),
		changes("pop", arrayPop, anArray),
		changes("shift", arrayShift, anArray),
		changes("remove", arrayRemove, anArray, anInt),
		changes("clear", arrayClear, anArray),
		changes("truncate", arrayTruncate, anArray, anInt),
		changes("chop", arrayChop, anArray, anInt),
		changes("reverse", arrayReverse, anArray),
		changes("split", arraySplit, anArray, anInt),
		changes("extract", arrayTail, anArray, anInt),
		reads("contains", arrayContains, anArray, anything),
		reads("index_of", arrayIndexOf, anArray, anything),
		reads("index_of", arrayIndexOf, anArray, anything, anInt),
		changes("dedup", arrayDedup, anArray),
	},
	parts(changes, "extract", arrayExtract, anArray),
	parts(changes, "splice", arraySplice, anArray, anArray),
	parts(changes, "drain", arrayDrain, anArray),
	parts(changes, "retain", arrayRetain, anArray),
	arrayCalls,
	arraySorts,
)

// put stores a value in the place of another, whose tag stays.
func put(p *value.Value, v value.Value) { *p = v.WithTag(p.Tag()) }

// copied makes an array of items that have a place already.
func copied(c *value.Ctx, items []value.Value) value.Value {
	if !room(c, len(items), itemBytes) {
		return value.Value{}
	}
	out := make([]value.Value, len(items))
	for i, item := range items {
		out[i] = item.Keep()
	}
	return value.NewArray(out)
}

func arrayLen(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Int(int64(len(this.AsArray().Items)))
}

func arrayIsEmpty(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return value.Bool(len(this.AsArray().Items) == 0)
}

func arrayGet(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	items := this.AsArray().Items
	if at, ok := place(len(items), args[0].AsInt()); ok {
		return items[at].Keep()
	}
	return value.Unit
}

func arraySet(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	n := len(this.AsArray().Items)
	at, ok := place(n, args[0].AsInt())
	if !ok {
		return value.Unit
	}
	item := args[1].Keep() // before the array is looked at: it may be the array itself
	value.MutArray(this).Items[at] = item
	return settledUnit(c, this, n, item)
}

// settledUnit is what a function returns that has put item into the array at
// this, which had before items.
func settledUnit(c *value.Ctx, this *value.Value, before int, item value.Value) value.Value {
	if !settledWith(c, item, *this, before, len(this.AsArray().Items)) {
		return value.Value{}
	}
	return value.Unit
}

func arrayPush(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	item := args[0].Keep()
	a := value.MutArray(this)
	if !extend(c, a, 1) {
		return value.Value{}
	}
	a.Items = append(a.Items, item)
	return settledUnit(c, this, len(a.Items)-1, item)
}

func arrayAppend(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	more := args[0].AsArray().Items // taken first: it may be the array itself
	if len(more) == 0 {
		return value.Unit
	}
	for _, item := range more {
		item.Keep() // before the array is taken for changing: it may be one of them
	}
	a := value.MutArray(this)
	before := len(a.Items)
	if !extend(c, a, len(more)) {
		return value.Value{}
	}
	a.Items = append(a.Items, more...)
	if !settled(c, *this, before, len(a.Items)) {
		return value.Value{}
	}
	return value.Unit
}

func arrayInsert(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	item := args[1].Keep()
	a := value.MutArray(this)
	if !extend(c, a, 1) {
		return value.Value{}
	}
	at, _ := place(len(a.Items), args[0].AsInt())
	a.Items = slices.Insert(a.Items, at, item)
	return settledUnit(c, this, len(a.Items)-1, item)
}

func arrayPad(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	have := len(this.AsArray().Items)
	want := args[0].AsInt()
	if want <= int64(have) {
		return value.Unit
	}
	item := args[1].Keep()
	n := int(min(want, mostItems+1)) - have
	// What is nested in the item comes as often as the item.
	if limit := c.Limits.MaxArray; limit > 0 && nests(item) {
		t := tally{left: limit}
		t.add(item)
		if t.items > 0 && !c.FitsArray(have+n*(1+min(t.items, limit))) {
			return value.Value{}
		}
	}
	if !room(c, have+n, itemBytes) {
		return value.Value{}
	}
	a := value.MutArray(this)
	a.Items = slices.Grow(a.Items, n)
	for range n {
		a.Items = append(a.Items, item)
	}
	return settledUnit(c, this, have, item)
}

func arrayPop(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	last := len(this.AsArray().Items) - 1
	if last < 0 {
		return value.Unit
	}
	a := value.MutArray(this)
	item := a.Items[last]
	a.Items[last] = value.Value{}
	a.Items = a.Items[:last]
	return item
}

func arrayShift(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	if len(this.AsArray().Items) == 0 {
		return value.Unit
	}
	// Moving the start makes a queue of an array: nothing is copied.
	a := value.MutArray(this)
	item := a.Items[0]
	a.Items[0] = value.Value{}
	a.Items = a.Items[1:]
	return item
}

func arrayRemove(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, ok := strictPlace(len(this.AsArray().Items), args[0].AsInt())
	if !ok {
		return value.Unit
	}
	a := value.MutArray(this)
	item := a.Items[at]
	a.Items = slices.Delete(a.Items, at, at+1)
	return item
}

func arrayClear(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	put(this, value.NewArray(nil))
	return value.Unit
}

func arrayTruncate(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	keep := max(args[0].AsInt(), 0)
	if n := len(this.AsArray().Items); keep < int64(n) {
		a := value.MutArray(this)
		a.Items = slices.Delete(a.Items, int(keep), n)
	}
	return value.Unit
}

func arrayChop(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	keep := max(args[0].AsInt(), 0)
	if n := len(this.AsArray().Items); keep < int64(n) {
		a := value.MutArray(this)
		a.Items = slices.Delete(a.Items, 0, n-int(keep))
	}
	return value.Unit
}

func arrayReverse(_ *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	slices.Reverse(value.MutArray(this).Items)
	return value.Unit
}

func arraySplit(_ *value.Ctx, this *value.Value, args []value.Value) value.Value {
	n := len(this.AsArray().Items)
	at, ok := place(n, args[0].AsInt())
	if !ok {
		return value.NewArray(nil)
	}
	return cut(this, at, n)
}

// cut takes items from..to out of the array at this.
func cut(this *value.Value, from, to int) value.Value {
	a := value.MutArray(this)
	out := slices.Clone(a.Items[from:to])
	a.Items = slices.Delete(a.Items, from, to)
	return value.NewArray(out)
}

func arrayTail(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	items := this.AsArray().Items
	from, _ := clip(len(items), args[0].AsInt(), 0)
	return copied(c, items[from:])
}

func arrayExtract(c *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	items := this.AsArray().Items
	from, n := clip(len(items), start, length)
	return copied(c, items[from:from+n])
}

func arraySplice(c *value.Ctx, this *value.Value, start, length int64, rest []value.Value) value.Value {
	list := copied(c, rest[0].AsArray().Items) // a copy: it may be the array itself
	if list.IsNone() {
		return list
	}
	instead := list.AsArray().Items
	a := value.MutArray(this)
	before := len(a.Items)
	from, n := clip(before, start, length)
	if more := len(instead) - n; more > 0 && !extend(c, a, more) {
		return value.Value{}
	}
	a.Items = slices.Replace(a.Items, from, from+n, instead...)
	if !settled(c, *this, before, len(a.Items)) {
		return value.Value{}
	}
	return value.Unit
}

func arrayDrain(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	from, n := clip(len(this.AsArray().Items), start, length)
	if n == 0 {
		return value.NewArray(nil)
	}
	return cut(this, from, from+n)
}

func arrayRetain(_ *value.Ctx, this *value.Value, start, length int64, _ []value.Value) value.Value {
	from, n := clip(len(this.AsArray().Items), start, length)
	if n == 0 {
		return value.NewArray(nil) // and all is retained
	}
	a := value.MutArray(this)
	out := slices.Concat(a.Items[:from], a.Items[from+n:])
	a.Items = slices.Delete(a.Items, from+n, len(a.Items))
	a.Items = slices.Delete(a.Items, 0, from)
	return value.NewArray(out)
}

// sameItem is == as it is used to look for items: values of different types
// that have no == are not equal. When ok is false, c has failed.
func sameItem(c *value.Ctx, item, v value.Value) (same, ok bool) {
	out := Equal(c, item, v)
	if out.IsNone() && missing(c.Err) && item.TypeName() != v.TypeName() {
		c.Err = nil
		return false, true
	}
	return holds(out), !out.IsNone()
}

// find gives the index of the first item that equals v, from index from on, -1
// when there is none. When ok is false, c has failed.
func find(c *value.Ctx, items []value.Value, from int, v value.Value) (at int, ok bool) {
	if !c.Host.Alive(c, len(items)-from) {
		return 0, false
	}
	for i := from; i < len(items); i++ {
		same, ok := sameItem(c, items[i], v)
		if same || !ok {
			return i, ok
		}
	}
	return -1, true
}

func arrayContains(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	at, ok := find(c, this.AsArray().Items, 0, args[0])
	if !ok {
		return value.Value{}
	}
	return value.Bool(at >= 0)
}

func arrayIndexOf(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	items, from := this.AsArray().Items, 0
	if len(args) > 1 {
		from, _ = clip(len(items), args[1].AsInt(), 0)
	}
	at, ok := find(c, items, from, args[0])
	if !ok {
		return value.Value{}
	}
	return value.Int(int64(at))
}

// arrayDedup takes out items that equal the one before. What cannot be
// compared differs.
func arrayDedup(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return dedup(c, this, func(kept, item value.Value) (same, ok bool) { return sameItem(c, kept, item) })
}
