package value_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai/value"
)

type base struct {
	ID int `json:"id"`
}

type sample struct {
	base
	Name   string           `json:"name"`
	Ratio  float64          `json:"ratio,omitempty"`
	Tags   []string         `json:"tags"`
	Counts map[string]uint8 `json:"counts"`
	Next   *sample          `json:"next"`
	When   time.Time        `json:"when,omitzero"`
	Raw    []byte           `json:"raw"`
	Any    any              `json:"any"`
	Hidden int              `json:"-"`
}

func TestStructsGoThereAndBack(t *testing.T) {
	in := sample{
		base: base{7}, Name: "x", Ratio: 0.5, Tags: []string{"a", "b"}, Counts: map[string]uint8{"n": 255},
		Next: &sample{Name: "y"}, When: time.Unix(1e9, 0), Raw: []byte{1, 2}, Any: []any{int64(1), "z"},
	}
	v, err := value.From(in)
	if err != nil {
		t.Fatal(err)
	}
	want := `#{"any": [1, "z"], "counts": #{"n": 255}, "id": 7, "name": "x", ` +
		`"next": #{"any": (), "counts": #{}, "id": 0, "name": "y", "next": (), "raw": [], "tags": []}, ` +
		`"ratio": 0.5, "raw": [0102], "tags": ["a", "b"], "when": <timestamp>}`
	if got := v.Debug(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	out, err := value.To[sample](v)
	if err != nil {
		t.Fatal(err)
	}
	in.Next.Tags, in.Next.Raw, in.Next.Counts = []string{}, []byte{}, map[string]uint8{}
	if diff := cmp.Diff(in, out, cmp.AllowUnexported(sample{}, base{})); diff != "" {
		t.Errorf("what came back (-want +got):\n%s", diff)
	}
}

func TestFromGo(t *testing.T) {
	var nothing *int
	for _, tt := range []struct {
		in   any
		want string
	}{
		{nil, "()"}, {nothing, "()"}, {true, "true"}, {int8(-3), "-3"}, {uint64(math.MaxUint64), "1.8446744073709552e19"},
		{float32(0.5), "0.5"}, {'a', "97"}, {"é", `"é"`}, {[]byte("a"), "[61]"}, {[2]int{1, 2}, "[1, 2]"},
		{map[string]any{"b": 1, "a": nil}, `#{"a": (), "b": 1}`}, {json.Number("1.0"), "1.0"}, {json.Number("12"), "12"},
		{value.Char('x'), "'x'"}, {map[int]int{1: 1}, "error"}, {make(chan int), "error"},
	} {
		v, err := value.FromGo(tt.in)
		got := v.HostDebug()
		if err != nil {
			got = "error"
		}
		if got != tt.want {
			t.Errorf("%T %v: got %s, want %s", tt.in, tt.in, got, tt.want)
		}
	}
	cycle := []any{nil}
	cycle[0] = cycle
	if _, err := value.FromGo(cycle); err == nil {
		t.Error("a cycle: got no error")
	}
}

func TestToGo(t *testing.T) {
	v, err := value.ReadJSON(`{"a": [1, 2.5, "x", null, true], "m": {}}`)
	if err != nil {
		t.Fatal(err)
	}
	v.AsMap().Set("c", value.Char('c'))
	v.AsMap().Set("f", value.NewFn("f", nil, nil, nil))
	want := map[string]any{"a": []any{int64(1), 2.5, "x", nil, true}, "m": map[string]any{}, "c": "c", "f": "f"}
	if diff := cmp.Diff(any(want), value.ToGo(v)); diff != "" {
		t.Errorf("ToGo (-want +got):\n%s", diff)
	}
}

func TestNumbersConvertWhereNothingIsLost(t *testing.T) {
	if n, err := value.To[int](value.Float(3)); n != 3 || err != nil {
		t.Errorf("3.0 to int: got %d, %v", n, err)
	}
	if f, err := value.To[float64](value.Int(3)); f != 3 || err != nil {
		t.Errorf("3 to float64: got %g, %v", f, err)
	}
	if r, err := value.To[rune](value.Char('é')); r != 'é' || err != nil {
		t.Errorf("char to rune: got %c, %v", r, err)
	}
	for name, err := range map[string]error{
		"3.5 to int":       second(value.To[int](value.Float(3.5))),
		"300 to uint8":     second(value.To[uint8](value.Int(300))),
		"-1 to uint":       second(value.To[uint](value.Int(-1))),
		"2^53+1 to float":  second(value.To[float64](value.Int(1<<53 + 1))),
		"string to int":    second(value.To[int](value.Str("1"))),
		"NaN to int":       second(value.To[int](value.Float(math.NaN()))),
		"two items to [3]": second(value.To[[3]int](value.NewArray(make([]value.Value, 2)))),
	} {
		var mismatch *value.ConvertError
		if !errors.As(err, &mismatch) {
			t.Errorf("%s: got %v, want a ConvertError", name, err)
		}
	}
	v, _ := value.ReadJSON(`{"tags": ["a", 1]}`)
	_, err := value.To[sample](v)
	if want := "convert value at .tags[1]: i64 does not fit string"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func second[T any](_ T, err error) error { return err }
