package syntax_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ramet-run/ramet/rhai/syntax"
)

// stripPlaces clears what depends on where in the text a node stands.
func stripPlaces(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if !v.IsNil() {
			stripPlaces(v.Elem())
		}
	case reflect.Slice:
		for i := range v.Len() {
			stripPlaces(v.Index(i))
		}
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[syntax.Pos]() {
			v.SetZero()
			return
		}
		for i := range v.NumField() {
			if !v.Type().Field(i).IsExported() {
				continue
			}
			if f := v.Field(i); f.Kind() == reflect.String && strings.HasPrefix(f.String(), "anon$") {
				f.SetString("anon$")
			} else {
				stripPlaces(f)
			}
		}
	}
}

func sameTree(a, b *syntax.Program) bool {
	stripPlaces(reflect.ValueOf(a))
	stripPlaces(reflect.ValueOf(b))
	a.Text, b.Text = "", ""
	a.Size, b.Size = 0, 0 // of parentheses and layout, too
	return reflect.DeepEqual(a, b)
}

// checkPrint parses text, prints it and parses that.
func checkPrint(t *testing.T, text string, o *syntax.Options) {
	t.Helper()
	first, err := syntax.Parse(text, "", o)
	if err != nil {
		return
	}
	deep := *o
	deep.MaxExprDepth, deep.MaxFnExprDepth = -1, -1
	printed := syntax.Format(first)
	second, err := syntax.Parse(printed, "", &deep)
	if err != nil {
		t.Fatalf("printed text does not parse: %v\n%s\nprinted from\n%s", err, printed, text)
	}
	if again := syntax.Format(second); again != printed {
		t.Fatalf("printing twice gives\n%s\nthen\n%s", printed, again)
	}
	if !sameTree(first, second) {
		t.Fatalf("printed text parses to another tree:\n%s\n%s\nprinted from\n%s", cmp.Diff(first, second, cmpopts.IgnoreUnexported(syntax.Custom{})), printed, text)
	}
}

func TestPrintedTreesParseToTheSameTree(t *testing.T) {
	for _, c := range cases(t) {
		if strings.HasPrefix(c.Mode, "parse_json") {
			continue
		}
		t.Run(c.ID, func(t *testing.T) { checkPrint(t, c.Src, c.options()) })
	}
}
