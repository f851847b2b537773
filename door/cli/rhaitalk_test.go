package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/value"
)

// newTalk is a conversation that nobody types in; what is shown is in out.
func newTalk(out io.Writer) *talk {
	e := (&rhaiFlags{}).engine(Streams{Out: out, Err: out})
	return &talk{engine: e, scope: rhai.NewScope(), out: out, run: func(do func(context.Context)) { do(context.Background()) }}
}

func TestTalk(t *testing.T) {
	for _, tt := range []struct {
		name  string
		typed []string
		want  string
	}{
		{"a value is shown as the language writes it", []string{`"a" + 1`, "()"}, "=> \"a1\"\n"},
		{"variables stay", []string{"let x = 40;", "x + 2"}, "=> 42\n"},
		{"functions stay, the newest counts", []string{"fn f() { 1 }", "fn f() { 2 }", "fn f(a) { a }", "f() + f(5)"}, "=> 7\n"},
		{"functions of earlier inputs may call each other", []string{"fn a() { b() + 1 }", "fn b() { 1 }", "a()"}, "=> 2\n"},
		{"an error leaves what was there", []string{"let x = 1;", "let x = 1 + nope;", "x"},
			"Variable not found: nope\n1 | let x = 1 + nope;\n  |             ^\n=> 1\n"},
		{"input goes on until it is complete", []string{"let x = [", "1,", "2];", "x.len()"}, "=> 2\n"},
		{"so does text in back-ticks", []string{"`a", "b`"}, "=> \"a\\nb\"\n"},
		{"an empty line ends it", []string{"let x = ", "", "5"}, "Syntax error: Script is incomplete\n3 | \n  | ^\n=> 5\n"},
		{"what is wrong does not go on", []string{"let = 5", "1"}, "Syntax error: Expecting name of a variable\n1 | let = 5\n  |     ^\n=> 1\n"},
		{"the scope", []string{"let x = 1; const Y = [2];", "let x = 3;", "fn f(a, b) { a }", ":scope"}, "let x = 3\nconst Y = [2]\nfn f(a, b)\n"},
		{"no such command", []string{":nope"}, "no such command; :help shows all\n"},
		{"nothing after the end", []string{"1", ":quit", "2"}, "=> 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			talk := newTalk(&out)
			keys := struct {
				io.Reader
				io.Writer
			}{strings.NewReader(strings.Join(tt.typed, "\r") + "\r"), io.Discard}
			if err := talk.loop(talk.terminal(keys)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, out.String()); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTalkCompletes(t *testing.T) {
	talk := newTalk(io.Discard)
	talk.scope.Set("customer_name", value.Unit).Set("customer_nr", value.Unit)
	for line, want := range map[string]string{
		"cust":      "customer_n",
		"let x = c": "let x = c",
		"timest":    "timestamp",
		"retur":     "return",
		"zzz":       "zzz",
		"":          "",
		"(":         "(",
	} {
		if got, pos, _ := talk.complete(line, len(line)); got != want || pos != len(want) {
			t.Errorf("%q: got %q at %d, want %q", line, got, pos, want)
		}
	}
	if got, pos, _ := talk.complete("x + timest + 1", 10); got != "x + timestamp + 1" || pos != 13 {
		t.Errorf("in the middle: got %q at %d", got, pos)
	}
}

func TestHistory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "history")
	h := openHistory(path)
	for _, line := range []string{"one", " ", "two", "two", "three"} {
		h.Add(line)
	}
	again := openHistory(path)
	var got []string
	for i := range again.Len() {
		got = append(got, again.At(i))
	}
	if diff := cmp.Diff([]string{"three", "two", "one"}, got); diff != "" {
		t.Errorf("history (-want +got):\n%s", diff)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", st, err)
	}

	if err := os.WriteFile(path, []byte(strings.Repeat("x\ny\n", maxHistory)), 0o600); err != nil {
		t.Fatal(err)
	}
	if n := openHistory(path).Len(); n != maxHistory {
		t.Errorf("kept %d lines", n)
	}
	if text, err := os.ReadFile(path); err != nil || strings.Count(string(text), "\n") != maxHistory {
		t.Errorf("the file has %d lines, %v", strings.Count(string(text), "\n"), err)
	}
	nowhere := openHistory("")
	nowhere.Add("x")
	if nowhere.Len() != 1 || nowhere.At(0) != "x" {
		t.Errorf("without a file: got %q", nowhere.lines)
	}
}

func TestByteCount(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "17": 17, "2k": 2048, "64M": 64 << 20, "1G": 1 << 30} {
		var b byteCount
		if err := b.Set(text); err != nil || int64(b) != want {
			t.Errorf("%q: got %d, %v", text, b, err)
		}
	}
	for _, text := range []string{"", "M", "-1", "1KK", "1T", "1.5M", "9999999999G"} {
		var b byteCount
		if err := b.Set(text); err == nil {
			t.Errorf("%q: got %d", text, b)
		}
	}
}

func TestPlainComment(t *testing.T) {
	for text, want := range map[string]string{
		"let x = 1;":                       "",
		"//! file\n/// doc\nfn f() { 1 }":  "",
		"/** doc */ fn f() { 1 }":          "",
		"let x = \"// no\"; // yes":        "// yes",
		"/* a */ 1":                        "/* a */",
		"//// not documentation\nlet x=1;": "//// not documentation",
	} {
		if got := plainComment(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

func TestErrorsInModules(t *testing.T) {
	src := &rhaiSource{label: "main.rhai", dir: "lib", text: "main", modules: map[string]rhai.Source{},
		Resolver: rhai.MemoryResolver{"m": "fn f() { nope() }", "bad": "let = 1"}}
	for text, want := range map[string]string{
		"nope()":                               "main.rhai",
		`import "m" as m; m::f()`:              "lib/m",
		`import "bad" as m;`:                   "lib/bad",
		`import "m" as m; fn g() { no() } g()`: "main.rhai",
	} {
		e := rhai.NewEngine()
		e.Resolver = src
		_, err := e.Eval(t.Context(), text)
		var failed *rhai.Error
		if !errors.As(err, &failed) {
			t.Fatalf("%s: got %v", text, err)
		}
		if got, _ := src.of(failed); got != want {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}
