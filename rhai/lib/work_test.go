package lib_test

import (
	"strings"
	"testing"
	"unsafe"

	"github.com/ramet-run/ramet/rhai/value"
)

// TestLargeWorkIsCounted asks for work that takes one call and much time.
func TestLargeWorkIsCounted(t *testing.T) {
	long := func() value.Value { return value.Str(strings.Repeat("é", 100_000)) }
	list := func() value.Value { return value.NewArray(make([]value.Value, 100_000)) }
	deep := value.NewArray(nil)
	for range 20 {
		deep = value.NewArray([]value.Value{deep.Keep(), deep})
	}
	texts := make([]value.Value, 100)
	for i := range texts {
		texts[i] = value.Str(strings.Repeat("a", 10_000))
	}
	for _, tt := range []struct {
		name, fn string
		this     value.Value
		args     []value.Value
	}{
		{"a character in the middle", "get", long(), []value.Value{value.Int(50_000)}},
		{"a character set", "set", long(), []value.Value{value.Int(50_000), value.Char('x')}},
		{"many characters taken", "pop", long(), []value.Value{value.Int(5)}},
		{"the characters from the middle", "chars", long(), []value.Value{value.Int(50_000)}},
		{"a text added", "append", value.Str(""), []value.Value{long()}},
		{"a text copied because it grows", "append", long(), []value.Value{value.Str("x")}},
		{"a list added", "append", value.NewArray(nil), []value.Value{list()}},
		{"padding", "pad", value.NewArray(nil), []value.Value{value.Int(100_000), value.Unit}},
		{"a text of shared structure", "to_debug", deep, nil},
		{"long texts sorted", "sort", value.NewArray(texts), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, h := newCtx()
			if out := run(t, c, tt.fn, &tt.this, tt.args...); out.IsNone() {
				t.Fatal(c.Err)
			}
			if h.steps < 1000 {
				t.Errorf("counted as %d steps", h.steps)
			}
		})
	}
}

func TestSmallWorkCostsNothing(t *testing.T) {
	c, h := newCtx()
	s, list := value.Str("Ramet"), ints(1, 2, 3)
	run(t, c, "pop", &s)
	run(t, c, "get", &s, value.Int(1))
	run(t, c, "push", &list, value.Int(4))
	run(t, c, "shift", &list)
	if h.steps != 0 {
		t.Errorf("counted as %d steps", h.steps)
	}
}

func TestSmallPartsLetGoOfLargeTexts(t *testing.T) {
	whole := strings.Repeat("word ", 2000) + strings.Repeat(" ", 40_000)
	start := uintptr(unsafe.Pointer(unsafe.StringData(whole)))
	pins := func(s string) bool {
		at := uintptr(unsafe.Pointer(unsafe.StringData(s)))
		return start <= at && at < start+uintptr(len(whole))
	}
	c, _ := newCtx()
	for name, get := range map[string]func(this *value.Value) string{
		"sub_string": func(this *value.Value) string {
			return run(t, c, "sub_string", this, value.Int(3), value.Int(9)).AsString()
		},
		"split": func(this *value.Value) string { return run(t, c, "split", this).AsArray().Items[7].AsString() },
		"split by a text": func(this *value.Value) string {
			return run(t, c, "split", this, value.Str(" ")).AsArray().Items[7].AsString()
		},
		"trim": func(this *value.Value) string { run(t, c, "trim", this); return this.AsString() },
		"crop": func(this *value.Value) string {
			run(t, c, "crop", this, value.Int(1), value.Int(3))
			return this.AsString()
		},
	} {
		this := value.Str(whole)
		if got := get(&this); got == "" || pins(got) {
			t.Errorf("%s: the part %.20q keeps the whole alive", name, got)
		}
	}
}

func TestTalliesOfSharedStructureEnd(t *testing.T) {
	for name, limits := range map[string]value.Limits{
		"a limit of lists": {MaxArray: 1000}, "a limit of maps": {MaxMap: 1000},
	} {
		c, _ := newCtx()
		c.Limits = limits
		v := ints(1)
		for range 40 { // 2^40 places
			list := value.NewArray(nil)
			for range 2 {
				if run(t, c, "push", &list, v.Keep()).IsNone() && limits.MaxArray == 0 {
					t.Fatalf("%s: %v", name, c.Err)
				}
			}
			v = list
		}
		if limits.MaxArray > 0 && !run(t, c, "push", &v, v.Keep()).IsNone() {
			t.Errorf("%s: all has been let through", name)
		}
	}
}
