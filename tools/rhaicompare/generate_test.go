package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func testGenerator(t *testing.T) *generator {
	t.Helper()
	functions, err := parseLibrary(libraryText)
	if err != nil {
		t.Fatal(err)
	}
	return newGenerator(functions)
}

func source(number int) *rand.Rand { return rand.New(rand.NewPCG(7, uint64(number))) }

func TestTheSameSeedGivesTheSameProgram(t *testing.T) {
	one, other := testGenerator(t), testGenerator(t)
	other.program(source(99)) // what went before must not matter
	for i := range 50 {
		a, b := source(i), source(i)
		if diff := cmp.Diff(one.program(a), other.program(b)); diff != "" {
			t.Fatalf("program %d differs (-one +other):\n%s", i, diff)
		}
		whole := one.program(source(i))
		if diff := cmp.Diff(breakProgram(a, whole), breakProgram(b, whole)); diff != "" {
			t.Fatalf("broken program %d differs (-one +other):\n%s", i, diff)
		}
	}
	if one.program(source(1)) == one.program(source(2)) {
		t.Error("two seeds give one program")
	}
}

func TestProgramsAreCutIntoBalancedTokens(t *testing.T) {
	g := testGenerator(t)
	for i := range 200 {
		src := g.program(source(i))
		list := tokens(src)
		if got := strings.Join(list, ""); got != src {
			t.Fatalf("program %d joined from its tokens is another:\n%s", i, cmp.Diff(src, got))
		}
		for at := range list {
			if closers[strings.TrimSpace(list[at])] != "" && partner(list, at) < 0 {
				t.Fatalf("program %d: nothing closes %q, token %d of\n%s", i, list[at], at, src)
			}
		}
	}
}

// Every function of the library should turn up: what is never called is never compared.
func TestProgramsCallTheWholeLibrary(t *testing.T) {
	g := testGenerator(t)
	called := map[string]bool{}
	for i := range 4000 {
		list := tokens(g.program(source(i)))
		for at, token := range list[:len(list)-1] {
			if list[at+1] == "(" || list[at+1] == "()" {
				called[strings.TrimSpace(token)] = true
			}
		}
	}
	for line := range strings.Lines(libraryText) {
		if name, _, _ := strings.Cut(line, ":"); !called[name] {
			t.Errorf("no program calls %s", name)
		}
	}
}

// The reference says what is a valid program; without it there is nobody to ask.
func TestProgramsParseInTheReference(t *testing.T) {
	binary := filepath.Join("..", "rhai-reference", "target", "release", "rhai-reference")
	if _, err := os.Stat(binary); err != nil {
		t.Skip("the reference is not built: make rhai-compare builds it")
	}
	g, reference := testGenerator(t), NewEngine([]string{binary})
	defer reference.Close()
	const programs = 300
	wrong := 0
	for i := range programs {
		c := Case{ID: fmt.Sprint(i), Src: g.program(source(i)), Mode: "compile", Opts: json.RawMessage(options)}
		answer, err := reference.Ask(c)
		if err != nil {
			t.Fatal(err)
		}
		if answer.Error != "" {
			wrong++
			t.Logf("program %d: %s", i, answer.Message)
		}
	}
	if wrong*20 > programs {
		t.Errorf("%d of %d programs do not parse, want at most 5 %%", wrong, programs)
	}
}

func TestSignaturesAreRead(t *testing.T) {
	got, err := parseLibrary("PI: () -> float\nclear: (array) (map)\nadd: (int, int) -> int; (()) (range, any) -> string\n")
	want := []Function{
		{Name: "PI", Result: "float"},
		{Name: "clear", Params: []Type{"array"}, Result: "()"},
		{Name: "clear", Params: []Type{"map"}, Result: "()"},
		{Name: "add", Params: []Type{"int", "int"}, Result: "int"},
		{Name: "add", Params: []Type{"()"}, Result: "string"},
		{Name: "add", Params: []Type{"range", "any"}, Result: "string"},
	}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("got error %v, (-want +got):\n%s", err, diff)
	}
	for _, bad := range []string{"f", "f: ", "f: (int", "f: int)"} {
		if got, err := parseLibrary(bad); err == nil {
			t.Errorf("%q: got %v, want an error", bad, got)
		}
	}
}
