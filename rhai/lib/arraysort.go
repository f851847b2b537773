package lib

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file sorts arrays: sort changes the array, order gives a sorted copy.
// Sorting is stable and ends with any comparer, however inconsistent.

var arraySorts = slices.Concat(
	byPointerOrName(changes, changes, "sort", arraySortBy),
	[]*value.Native{
		changes("sort_by", arraySortBy, anArray, aFn),
		changes("sort", arraySort, anArray),
		changes("sort_desc", arraySortDesc, anArray),
		changes("order", orderBy, anArray, aFn),
		changes("order_by", orderBy, anArray, aFn),
		changes("order", order, anArray),
		changes("order_desc", orderDesc, anArray),
	},
)

func arraySort(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return sortItems(c, this, false)
}

func arraySortDesc(c *value.Ctx, this *value.Value, _ []value.Value) value.Value {
	return sortItems(c, this, true)
}

func arraySortBy(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	if len(this.AsArray().Items) < 2 {
		return value.Unit
	}
	by := comparer{c: c, fn: c.Host.Callback(c, args[0])}
	mergeSort(value.MutArray(this).Items, by.less)
	if by.stopped {
		return value.Value{}
	}
	return value.Unit
}

func order(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return ordered(c, this, args, arraySort)
}

func orderDesc(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return ordered(c, this, args, arraySortDesc)
}

func orderBy(c *value.Ctx, this *value.Value, args []value.Value) value.Value {
	return ordered(c, this, args, arraySortBy)
}

// ordered gives a sorted copy.
func ordered(c *value.Ctx, this *value.Value, args []value.Value, sort value.Func) value.Value {
	list := copied(c, this.AsArray().Items)
	if list.IsNone() || sort(c, &list, args).IsNone() {
		return value.Value{}
	}
	return list
}

// comparer asks a callback for the order of two items.
type comparer struct {
	c       *value.Ctx
	fn      value.Callback
	pair    [2]value.Value
	stopped bool // the script ends: nothing more is asked
}

// less reports whether a comes before b: the callback gives a negative number
// or true. Where it fails or gives something else, the order of types decides.
func (by *comparer) less(a, b value.Value) bool {
	if by.stopped {
		return false
	}
	by.pair[0], by.pair[1] = a.Keep(), b.Keep()
	v := by.fn.Call(by.c, nil, by.pair[:], -1, nil)
	switch {
	case v.Is(value.IntKind):
		return v.AsInt() < 0
	case v.Is(value.BoolKind):
		return v.AsBool()
	case v.IsNone() && !forgive(by.c):
		by.stopped = true
		return false
	}
	return typeRank[a.Kind()] < typeRank[b.Kind()]
}

// typeRank orders types: as arbitrarily as the reference does.
var typeRank = [...]int8{
	value.IntKind: 1, value.FloatKind: 2, value.RangeKind: 3, value.IterKind: 4, value.ArrayKind: 5, value.RangeInclKind: 6,
	value.CharKind: 7, value.UnitKind: 8, value.BoolKind: 9, value.StringKind: 10, value.BlobKind: 11, value.MapKind: 12,
	value.FnKind: 13, value.TimeKind: 14, value.CustomKind: 15, value.CellKind: 16,
}

// sortItems sorts by the natural order of the items, which must be of one
// type that has one.
func sortItems(c *value.Ctx, this *value.Value, descending bool) value.Value {
	items := this.AsArray().Items
	if len(items) < 2 {
		return value.Unit
	}
	kind, tagged := items[0].Kind(), false
	for _, item := range items {
		if item.Kind() != kind || kind == value.CustomKind && item.AsCustom().Type != items[0].AsCustom().Type {
			return unsortable(c, "elements of different types cannot be sorted")
		}
		tagged = tagged || item.Tag() != 0
	}
	if !c.Host.Alive(c, len(items)) {
		return value.Value{}
	}
	switch kind {
	case value.UnitKind:
	case value.IntKind, value.CharKind, value.BoolKind:
		items = value.MutArray(this).Items
		if tagged {
			mergeSort(items, inOrder(value.Value.AsInt, descending))
		} else {
			sortScalars(items, kind, descending)
		}
	case value.FloatKind:
		items = value.MutArray(this).Items
		if tagged || !sortFloats(items, descending) {
			mergeSort(items, inOrder(value.Value.AsFloat, descending))
		}
	case value.StringKind:
		if !mayCompare(c, items) {
			return value.Value{}
		}
		mergeSort(value.MutArray(this).Items, inOrder(value.Value.AsString, descending))
	default:
		return unsortable(c, "elements of "+rustName(items[0])+" cannot be sorted")
	}
	return value.Unit
}

// mayCompare counts the work of comparing texts: each some times, as far as
// long texts may be alike.
func mayCompare(c *value.Ctx, texts []value.Value) bool {
	n := 0
	for _, v := range texts {
		if size := len(v.AsString()); size >= chargedFrom {
			n += size / 128
		}
	}
	return c.Host.Alive(c, n*bits.Len(uint(len(texts))))
}

func unsortable(c *value.Ctx, text string) value.Value {
	return c.Fail(&value.Error{Kind: value.ErrorFunctionNotFound, Name: text})
}

// rustName is the name that the reference gives the type of v in this error:
// for some types its own inner one.
func rustName(v value.Value) string {
	switch v.Kind() {
	case value.RangeKind:
		return "core::ops::range::Range<i64>"
	case value.RangeInclKind:
		return "core::ops::range::RangeInclusive<i64>"
	case value.IterKind:
		return v.AsIter().Name
	}
	return v.TypeName()
}

// inOrder gives a less function for items by a key.
func inOrder[K cmp.Ordered](key func(value.Value) K, descending bool) func(a, b value.Value) bool {
	if descending {
		return func(a, b value.Value) bool { return key(a) > key(b) }
	}
	return func(a, b value.Value) bool { return key(a) < key(b) }
}

// sortScalars sorts items whose bits are their order and that have no tags, so
// that equal ones cannot be told apart.
func sortScalars(items []value.Value, kind value.Kind, descending bool) {
	keys := make([]int64, len(items))
	for i, item := range items {
		keys[i] = item.AsInt()
	}
	sortKeys(keys, descending)
	for i, key := range keys {
		switch kind {
		case value.IntKind:
			items[i].SetInt(key)
		case value.CharKind:
			items[i] = value.Char(rune(key))
		default:
			items[i] = value.Bool(key != 0)
		}
	}
}

// sortFloats is sortScalars for floats. It does nothing, and reports so, where
// equal ones can be told apart (0.0 and -0.0) or are not ordered (NaN).
func sortFloats(items []value.Value, descending bool) bool {
	keys := make([]float64, len(items))
	for i, item := range items {
		f := item.AsFloat()
		if f != f || f == 0 && math.Signbit(f) {
			return false
		}
		keys[i] = f
	}
	sortKeys(keys, descending)
	for i, key := range keys {
		items[i].SetFloat(key)
	}
	return true
}

func sortKeys[K cmp.Ordered](keys []K, descending bool) {
	slices.Sort(keys)
	if descending {
		slices.Reverse(keys)
	}
}

const (
	fewToSort = 20 // up to here insertion alone is best, and asks what the reference asks
	sortBlock = 8
)

// mergeSort sorts stably. It asks less only whether a later item comes before
// an earlier one, and whatever the answers: afterwards the same items are there.
//
// Not slices.SortStableFunc, which needs no memory but asks more often: what
// asking costs here is the call of a script.
func mergeSort(items []value.Value, less func(a, b value.Value) bool) {
	n := len(items)
	if n <= fewToSort {
		insertionSort(items, less)
		return
	}
	for at := 0; at < n; at += sortBlock {
		insertionSort(items[at:min(at+sortBlock, n)], less)
	}
	left := make([]value.Value, n)
	for width := sortBlock; width < n; width *= 2 {
		for at := 0; at+width < n; at += 2 * width {
			merge(items[at:min(at+2*width, n)], width, left, less)
		}
	}
}

// merge merges the sorted items[:width] and items[width:].
func merge(items []value.Value, width int, left []value.Value, less func(a, b value.Value) bool) {
	if !less(items[width], items[width-1]) {
		return // in order already
	}
	left = left[:copy(left, items[:width])]
	to, l, r := 0, 0, width
	for l < len(left) && r < len(items) {
		if less(items[r], left[l]) {
			items[to] = items[r]
			r++
		} else {
			items[to] = left[l]
			l++
		}
		to++
	}
	copy(items[to:], left[l:])
}

func insertionSort(items []value.Value, less func(a, b value.Value) bool) {
	for i := 1; i < len(items); i++ {
		item, to := items[i], i
		for to > 0 && less(item, items[to-1]) {
			items[to] = items[to-1]
			to--
		}
		items[to] = item
	}
}
