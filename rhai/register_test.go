package rhai_test

import (
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

type point struct{ X, Y int64 }

type bag struct{ items []int64 }

// hostEngine has a function of each way to register one, and two types.
func hostEngine(t *testing.T) *rhai.Engine {
	e := rhai.NewEngine()
	points := rhai.RegisterType[point](e, "Point").ShowAs(func(p *point) string { return fmt.Sprintf("(%d, %d)", p.X, p.Y) })
	rhai.Fn2(e, "point", func(x, y int64) (point, error) { return point{x, y}, nil })
	rhai.Property(points, "x", func(p *point) int64 { return p.X }, func(p *point, x int64) { p.X = x })
	rhai.Property(points, "y", func(p *point) int64 { return p.Y }, nil)
	rhai.Method1(points, "shift", func(p *point, by int64) (rhai.Nothing, error) {
		p.X += by
		return rhai.Nothing{}, nil
	})
	rhai.Fn2(e, "+", func(a, b point) (point, error) { return point{a.X + b.X, a.Y + b.Y}, nil })
	rhai.Fn2(e, "==", func(a, b point) (bool, error) { return a == b, nil })

	bags := rhai.RegisterType[bag](e, "Bag").
		CopyWith(func(b *bag) bag { return bag{append([]int64(nil), b.items...)} }).
		IterateBy(func(b *bag) iter.Seq[rhai.Value] {
			return func(yield func(rhai.Value) bool) {
				for _, i := range b.items {
					if !yield(value.Int(i)) {
						return
					}
				}
			}
		})
	rhai.Fn0(e, "bag", func() (bag, error) { return bag{}, nil })
	rhai.Method1(bags, "add", func(b *bag, i int64) (rhai.Nothing, error) {
		b.items = append(b.items, i)
		return rhai.Nothing{}, nil
	})
	rhai.Indexer(bags, func(b *bag, i int64) (int64, error) {
		if i < 0 || i >= int64(len(b.items)) {
			return 0, fmt.Errorf("the bag has no item %d", i)
		}
		return b.items[i], nil
	}, func(b *bag, i, x int64) error {
		b.items[i] = x
		return nil
	})
	rhai.Fn1(e, "check", func(n int64) (string, error) {
		if n > 9 {
			return "", errors.New("too many")
		}
		return "fine", nil
	})
	for name, f := range map[string]any{
		"total": func(list []int) int {
			n := 0
			for _, i := range list {
				n += i
			}
			return n
		},
		"named":  func(m map[string]any) string { return fmt.Sprint(m["name"]) },
		"nobody": func() {},
		"whole":  func(p struct{ X, Y int64 }) int64 { return p.X + p.Y },
		"length": func(p *point) float64 { return float64(p.X) },
		"refuse": func() error { return errors.New("no") },
	} {
		if err := e.RegisterFunc(name, f); err != nil {
			t.Fatal(err)
		}
	}
	return e
}

func TestRegisteredFunctionsAndTypes(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"a type has its name", "type_of(point(1, 2))", `"Point"`},
		{"a property is read and set", "let p = point(1, 2); p.x = 5; [p.x, p.y]", "[5, 2]"},
		{"a copy is another one", "let p = point(1, 2); let q = p; q.x = 9; q.shift(1); [p.x, q.x]", "[1, 10]"},
		{"inside a container it is changed in place", "let m = #{p: point(1, 2)}; m.p.x = 4; m.p.shift(3); m.p.x", "7"},
		{"inside a list too", "let a = [point(1, 2)]; a[0].shift(3); a[0].x += 1; a[0].x", "5"},
		{"operators", "let p = point(1, 2) + point(3, 4); [p.x, p == point(4, 6), p == point(0, 0)]", "[4, true, false]"},
		{"printed as the host says", "`${point(1, 2)}`", `"(1, 2)"`},
		{"a constant is not changed", "const P = point(1, 2); try { P.shift(1) } catch (e) { e.error }; P.x", "1"},
		{"looped over", "let b = bag(); b.add(3); b.add(4); let n = 0; for x in b { n += x } n", "7"},
		{"indexed", "let b = bag(); b.add(3); b[0] = 8; b[0] += 1; b[0]", "9"},
		{"a copy made as the host says", "let b = bag(); b.add(3); let c = b; c[0] = 1; [b[0], c[0]]", "[3, 1]"},
		{"an error can be caught", "try { bag()[5] } catch (e) { return e } ", `"the bag has no item 5"`},
		{"a function that may fail", "[check(1), try_check(10)]", `["fine", "too many"]`},
		{"a list is converted", "total([1, 2, 3])", "6"},
		{"a map is converted", `named(#{name: "x"})`, `"x"`},
		{"nothing is ()", "nobody()", "()"},
		{"a struct is filled from a map", "whole(#{X: 2, Y: 3})", "5"},
		{"a registered type goes to any function", "length(point(3, 0))", "3.0"},
		{"an error alone", "try { refuse() } catch (e) { return e }", `"no"`},
		{"an argument that does not fit", `try { total(["a"]) } catch (e) { return e.error }`, `"ErrorMismatchDataType"`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			script := "fn try_check(n) { try { return check(n) } catch (e) { return e } } " + test.script
			v, err := hostEngine(t).Eval(t.Context(), script)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, v.HostDebug()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
