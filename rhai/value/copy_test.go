package value_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

// doubled is a list of two of a list of two of ... , n levels deep.
func doubled(n int) value.Value {
	v := value.NewArray(nil)
	for range n {
		v = value.NewArray([]value.Value{v.Keep(), v})
	}
	return v
}

// nested is a list in a list in a list ..., n levels deep.
func nested(n int) value.Value {
	v := value.NewArray([]value.Value{value.Str("core")})
	for range n {
		v = value.NewArray([]value.Value{v})
	}
	return v
}

func TestCopySharesNothing(t *testing.T) {
	m := value.NewMap(1)
	m.AsMap().Set("list", value.NewArray([]value.Value{value.Int(1), value.Str("é"), value.NewBlob([]byte{7})}))
	cell := value.NewCell(value.NewArray([]value.Value{value.Int(5)}))
	v := value.NewArray([]value.Value{m, value.NewFn("f", []value.Value{cell, value.Int(2)}, nil, nil)}).WithTag(3)
	c := value.Copy(v)
	if diff := cmp.Diff(v.HostDebug(), c.HostDebug()); diff != "" || c.Tag() != 3 {
		t.Fatalf("the copy has tag %d and differs (-want +got):\n%s", c.Tag(), diff)
	}
	before := c.HostDebug()
	value.MutArray(m.AsMap().Ref("list")).Items[0] = value.Int(9)
	cell.AsCell().V.AsArray().Items[0] = value.Int(6)
	if diff := cmp.Diff(before, c.HostDebug()); diff != "" {
		t.Errorf("the copy changes with the original (-before +after):\n%s", diff)
	}
}

func TestCopyOfSharedStructureIsAsSmall(t *testing.T) {
	c := value.Copy(doubled(60))
	for range 60 {
		items := c.AsArray().Items
		if !items[0].Same(items[1]) || !items[0].Shared() {
			t.Fatal("what was one list in two places is not one shared list in the copy")
		}
		c = items[0]
	}
}

func TestCopyEndsWhereCellsLeadBack(t *testing.T) {
	cell := value.NewCell(value.Unit)
	f := value.NewFn("f", []value.Value{cell}, nil, nil)
	cell.AsCell().V = f
	c := value.Copy(f)
	if copied := c.AsFn().Curry[0]; copied.Same(cell) || !copied.AsCell().V.Same(c) {
		t.Error("the copied cell does not lead back to the copied function pointer")
	}
}

func TestCopyOfDeepValuesIsWhole(t *testing.T) {
	const levels = 100_000
	c := value.Copy(nested(levels))
	for range levels {
		c = c.AsArray().Items[0]
	}
	if got := c.Debug(); got != `["core"]` {
		t.Errorf("in the middle there is %s", got)
	}
}

func TestFreezeMarksAll(t *testing.T) {
	inner := value.NewArray([]value.Value{value.Str("é")})
	m := value.NewMap(2)
	m.AsMap().Set("b", inner)
	m.AsMap().Set("a", doubled(60))
	value.Freeze(m)
	for name, v := range map[string]value.Value{"map": m, "list": inner, "text": inner.AsArray().Items[0]} {
		if !v.Shared() {
			t.Errorf("the %s would be changed in place", name)
		}
	}
	if key := m.AsMap().At(0).Key; key != "a" {
		t.Errorf("the first entry is %q: who reads the keys would sort them", key)
	}
}

func TestLargeTextsAreMadeAtAPace(t *testing.T) {
	v, sizes := doubled(60), []int(nil)
	stopAtThird := func(size, room int) bool {
		if room < size {
			t.Errorf("asked for %d bytes of room for a text of %d", room, size)
		}
		sizes = append(sizes, size>>10)
		return len(sizes) < 3
	}
	if _, ok := value.RenderDebug(v, stopAtThird); ok || len(sizes) != 3 {
		t.Errorf("debug: went on (%v) after asking at %v KiB", ok, sizes)
	}
	sizes = nil
	if _, err := value.RenderJSON(v, stopAtThird); err == nil || len(sizes) != 3 {
		t.Errorf("JSON: went on (%v) after asking at %v KiB", err, sizes)
	}
}
