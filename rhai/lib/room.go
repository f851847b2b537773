package lib

import (
	"math/bits"
	"unsafe"

	"github.com/ramet-run/ramet/rhai/value"
)

// This file keeps containers within the limits of their script.

const (
	// mostItems bounds the arrays and blobs of scripts without limits: a length
	// that cannot be meant must not end the process.
	mostItems = 1 << 30
	// chargedFrom is the size in bytes from which memory is charged when it is
	// taken; smaller amounts are bounded by the operations that ask for them.
	chargedFrom = 1 << 10
	itemBytes   = int(unsafe.Sizeof(value.Value{}))
	// glance is how many nested values are counted where counting all of them
	// again and again would cost too much.
	glance = 256
	// few items can always be looked through.
	few = 16
)

// room reports whether an array (or blob) of n items of size bytes each may be
// allocated; when not, c has failed.
func room(c *value.Ctx, n, size int) bool {
	if !c.FitsArray(n) {
		return false
	}
	if n > mostItems {
		c.Fail(&value.Error{Kind: value.ErrorDataTooLarge, Name: "Size of array/BLOB"})
		return false
	}
	return n*size < chargedFrom || worth(c, n*size) && c.Host.Charge(c, n*size)
}

// worth counts the work of going through so many bytes, and reports whether
// the script may go on. What is small costs nothing but the call.
func worth(c *value.Ctx, bytes int) bool {
	return bytes < chargedFrom || c.Host.Alive(c, bytes/128)
}

// extend makes room in a for n more items.
func extend(c *value.Ctx, a *value.Array, n int) (ok bool) {
	a.Items, ok = grown(c, a.Items, n, itemBytes)
	return ok
}

// extendBlob makes room in b for n more bytes.
func extendBlob(c *value.Ctx, b *value.Blob, n int) (ok bool) {
	b.Bytes, ok = grown(c, b.Bytes, n, 1)
	return ok
}

// grown gives list with room for n more items of size bytes.
func grown[T any](c *value.Ctx, list []T, n, size int) ([]T, bool) {
	need := len(list) + n
	if !c.FitsArray(need) {
		return list, false
	}
	if !worth(c, n*size) {
		return list, false
	}
	if need <= cap(list) {
		return list, true
	}
	// Half as much again keeps adding one by one cheap.
	have := max(need, len(list)+len(list)/2, 4)
	if have*size >= chargedFrom && (need > mostItems && !room(c, need, size) || !c.Host.Charge(c, have*size)) {
		return list, false
	}
	return append(make([]T, 0, have), list...), true
}

// nests reports that v has values in it.
func nests(v value.Value) bool {
	k := v.Kind()
	return k == value.ArrayKind || k == value.MapKind || k == value.BlobKind
}

// settled reports whether the container v fits the limits with all that is
// nested in it, after it has grown from before items to after; when not, c has failed.
//
// All is counted each time that the container has grown by a quarter, so that
// filling one stays linear, and only a glance taken in between.
func settled(c *value.Ctx, v value.Value, before, after int) bool {
	if c.Limits.MaxArray <= 0 && c.Limits.MaxMap <= 0 {
		return true
	}
	t := tally{left: glance, limits: c.Limits}
	if quarter(before, after) {
		t.left = mostCounted + c.Limits.MaxArray + c.Limits.MaxMap
	}
	had := t.left
	t.add(v)
	if seen := had - t.left; seen > glance && !c.Host.Alive(c, seen) {
		return false
	}
	return c.FitsArray(t.items) && c.FitsMap(t.entries)
}

// settledWith is settled after one item has been put into v.
func settledWith(c *value.Ctx, item, v value.Value, before, after int) bool {
	// An item with nothing in it adds so little that no glance is needed.
	return after > few && !nests(item) && !quarter(before, after) || settled(c, v, before, after)
}

// quarter reports that growing from before to after has passed about a quarter.
func quarter(before, after int) bool {
	stride := 1 << max(bits.Len(uint(after))-3, 0)
	return before/stride != after/stride
}

// tally counts the items of arrays and blobs and the entries of maps.
// It goes no further when a limit is exceeded: shared structure can be small
// and yet have no end of places.
type tally struct {
	items, entries, left, depth int
	limits                      value.Limits
}

const (
	// mostNested bounds the recursion of a tally: deeper data is taken for too large.
	mostNested = 10_000
	// mostCounted bounds a tally, beyond its limits, where only one kind of container has one.
	mostCounted = 1_000_000
)

// over reports that the limits are exceeded already.
func (t *tally) over() bool {
	return t.limits.MaxArray > 0 && t.items > t.limits.MaxArray || t.limits.MaxMap > 0 && t.entries > t.limits.MaxMap
}

func (t *tally) add(v value.Value) {
	switch v.Kind() {
	case value.ArrayKind:
		items := v.AsArray().Items
		t.items += len(items)
		for i := 0; i < len(items) && t.left > 0 && !t.over(); i++ {
			t.nested(items[i])
		}
	case value.BlobKind:
		t.items += len(v.AsBlob().Bytes)
	case value.MapKind:
		m := v.AsMap()
		t.entries += m.Len()
		for i := 0; i < m.Len() && t.left > 0 && !t.over(); i++ {
			t.nested(m.At(i).Value)
		}
	}
}

func (t *tally) nested(v value.Value) {
	t.left--
	if v.Is(value.BlobKind) {
		t.items++ // the reference counts a blob in a container once more than an array
	}
	if t.depth++; t.depth > mostNested {
		t.items, t.entries, t.left = mostItems+1, mostItems+1, 0
	} else {
		t.add(v)
	}
	t.depth--
}
