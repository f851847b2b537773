package rhai_test

import (
	"slices"
	"testing"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// What a script has is its own, what Go has is Go's: whether by value or by
// pointer, alone or inside of something.
func TestObjectsAreCopiedBetweenGoAndScripts(t *testing.T) {
	type pair struct {
		Left  point  `json:"left"`
		Right *point `json:"right"`
	}
	var kept []*point // what Go holds
	const list, table, whole = "[p, p]", "#{a: p}", "#{left: p, right: p}"
	for name, x := range map[string]struct {
		take  any    // changes what it gets, and keeps it
		given string // what the script gives for it
	}{
		"a T":                   {take: func(p point) { p.X = 9; kept = append(kept, &p) }, given: "p"},
		"a *T":                  {take: func(p *point) { p.X = 9; kept = append(kept, p) }, given: "p"},
		"[]T":                   {take: func(p []point) { p[0].X = 9; kept = append(kept, &p[0]) }, given: list},
		"[]*T":                  {take: func(p []*point) { p[0].X = 9; kept = append(kept, p[0]) }, given: list},
		"[2]*T":                 {take: func(p [2]*point) { p[0].X = 9; kept = append(kept, p[0]) }, given: list},
		"map of T":              {take: func(p map[string]point) { q := p["a"]; q.X = 9; kept = append(kept, &q) }, given: table},
		"map of *T":             {take: func(p map[string]*point) { p["a"].X = 9; kept = append(kept, p["a"]) }, given: table},
		"a struct":              {take: func(p pair) { p.Left.X, p.Right.X = 9, 9; kept = append(kept, p.Right) }, given: whole},
		"**T":                   {take: func(p **point) { (*p).X = 9; kept = append(kept, *p) }, given: "p"},
		"any":                   {take: func(p any) { p.(*point).X = 9; kept = append(kept, p.(*point)) }, given: "p"},
		"[]any":                 {take: func(p []any) { p[0].(*point).X = 9; kept = append(kept, p[0].(*point)) }, given: list},
		"an any that is a list": {take: func(p any) { p.([]any)[0].(*point).X = 9; kept = append(kept, p.([]any)[0].(*point)) }, given: list},
		"variadic":              {take: func(p ...*point) { p[0].X = 9; kept = append(kept, p[0]) }, given: "p, p"},
	} {
		e := rhai.NewEngine()
		points := rhai.RegisterType[point](e, "Point")
		rhai.Property(points, "x", func(p *point) int64 { return p.X }, func(p *point, x int64) { p.X = x })
		rhai.Fn2(e, "point", func(x, y int64) (*point, error) { return &point{x, y}, nil })
		kept = nil
		must(t, e, x.take)
		if got := answer(t.Context(), e, "let p = point(1, 2); f("+x.given+"); let q = p; p.x += 1; [p.x, q.x]"); got != "[2, 1]" || kept[0].X != 9 {
			t.Errorf("%s as a parameter: got %s, want [2, 1]; Go has %d, want 9", name, got, kept[0].X)
		}
	}
	for name, x := range map[string]struct {
		give func(p *point) any
		path string
	}{
		"a T": {func(p *point) any { return *p }, "r"}, "a *T": {func(p *point) any { return p }, "r"}, "**T": {func(p *point) any { return &p }, "r"},
		"[]T": {func(p *point) any { return []point{*p} }, "r[0]"}, "[]*T": {func(p *point) any { return []*point{p} }, "r[0]"},
		"[]any": {func(p *point) any { return []any{p} }, "r[0]"}, "map of *T": {func(p *point) any { return map[string]*point{"a": p} }, "r.a"},
		"a struct's T":  {func(p *point) any { return pair{Left: *p} }, "r.left"},
		"a struct's *T": {func(p *point) any { return &pair{Right: p} }, "r.right"},
	} {
		e := rhai.NewEngine()
		points := rhai.RegisterType[point](e, "Point")
		rhai.Property(points, "x", func(p *point) int64 { return p.X }, func(p *point, x int64) { p.X = x })
		mine := &point{7, 0}
		must(t, e, func() any { return x.give(mine) })
		script := "let r = f(); " + x.path + ".x += 1; [type_of(" + x.path + "), " + x.path + ".x]"
		if got := answer(t.Context(), e, script); got != `["Point", 8]` || mine.X != 7 {
			t.Errorf("%s as a result: got %s, want [\"Point\", 8]; Go has %d, want 7", name, got, mine.X)
		}
		// The same by way of a variable.
		v, err := e.FromGo(x.give(mine))
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.EvalWith(t.Context(), x.path+".x += 1; "+x.path+".x", rhai.NewScope().Set("r", v))
		if err != nil || got.String() != "8" || mine.X != 7 {
			t.Errorf("%s as a variable: got %s, %v; Go has %d, want 7", name, got, err, mine.X)
		}
	}
}

func TestObjectsAreCopiedAsTheTypeSays(t *testing.T) {
	e := rhai.NewEngine()
	bags := rhai.RegisterType[bag](e, "Bag").CopyWith(func(b *bag) bag { return bag{slices.Clone(b.items)} })
	mine := bag{items: []int64{1}}
	for _, err := range []error{
		e.RegisterFunc("mine", func() bag { return mine }),
		e.RegisterFunc("spoil", func(b bag, p *bag, all []bag) { b.items[0], p.items[0], all[0].items[0] = 9, 9, 9 }),
		bags.RegisterMethod("set", func(b *bag, x int64) { b.items[0] = x }),
		bags.RegisterProperty("first", func(b *bag) int64 { return b.items[0] }, nil),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	script := "let b = mine(); spoil(b, b, [b]); let c = b.first; b.set(5); [c, b.first]"
	if got := answer(t.Context(), e, script); got != "[1, 5]" || mine.items[0] != 1 {
		t.Errorf("got %s, want [1, 5]; Go has %d, want 1", got, mine.items[0])
	}
	v := bags.Value(mine)
	first, _ := bags.Of(v)
	first.items[0] = 9
	second, _ := value.To[*bag](v)
	second.items[0] = 9
	value.ToGo(v).(*bag).items[0] = 9
	if third, ok := bags.Of(v); !ok || third.items[0] != 1 || mine.items[0] != 1 {
		t.Errorf("got %v, %t; Go has %v", third, ok, mine)
	}
	if _, ok := bags.Of(value.Int(1)); ok {
		t.Error("an int is a bag")
	}
}

// A shared type is one object, whoever has it.
func TestSharedObjects(t *testing.T) {
	e := rhai.NewEngine()
	points := rhai.RegisterType[point](e, "Point").Shared()
	rhai.Property(points, "x", func(p *point) int64 { return p.X }, func(p *point, x int64) { p.X = x })
	mine := &point{1, 0}
	var seen []*point
	for _, err := range []error{
		e.RegisterFunc("mine", func() *point { return mine }),
		e.RegisterFunc("all", func() []*point { return []*point{mine} }),
		e.RegisterFunc("see", func(p *point, ps []*point, x any, v rhai.Value) {
			of, _ := points.Of(v)
			seen = append(seen, p, ps[0], x.(*point), of)
		}),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	rhai.Fn1(e, "see1", func(p *point) (rhai.Nothing, error) { seen = append(seen, p); return rhai.Nothing{}, nil })
	v, err := e.Eval(t.Context(), "let a = mine(); let b = a; b.x += 1; let c = all(); c[0].x += 1; see(a, [a], a, a); see1(b); a")
	if err != nil {
		t.Fatal(err)
	}
	to, _ := value.To[*point](v)
	for i, p := range append(seen, to) {
		if p != mine {
			t.Errorf("%d: another object", i)
		}
	}
	if mine.X != 3 || len(seen) != 5 {
		t.Errorf("got %d and %d looks, want 3 and 5", mine.X, len(seen))
	}
}

// () is no object: functions need not look for nil.
func TestUnitIsNoObject(t *testing.T) {
	e := rhai.NewEngine()
	rhai.RegisterType[point](e, "Point")
	must(t, e, func(p *point) int64 { return p.X })
	if got := answer(t.Context(), e, "f(())"); got != "ErrorFunctionNotFound" {
		t.Errorf("got %s", got)
	}
}
