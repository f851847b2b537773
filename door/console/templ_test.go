package console

import (
	"bytes"
	"flag"
	"go/format"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/a-h/templ/generator"
	"github.com/a-h/templ/parser/v2"

	"github.com/ramet-run/ramet/internal/watched"
)

var update = flag.Bool("update", false, "make the Go code of the templates anew")

// TestTheCodeIsThatOfTheTemplates makes the code of each template as `templ generate` would, of the version
// that go.mod names, and wants the file beside it to be that; and the template to have the form of `templ fmt`.
func TestTheCodeIsThatOfTheTemplates(t *testing.T) {
	watched.Alone(t)
	made := map[string]bool{}
	for _, name := range templates(t) {
		file, err := parser.Parse(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var form, code bytes.Buffer
		if err := file.Write(&form); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		keep(t, name, form.Bytes())
		if file, err = parser.ParseString(form.String()); err != nil { // so that -update needs no second run
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := generator.Generate(file, &code, generator.WithFileName(name)); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text, err := format.Source(code.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		goName := strings.TrimSuffix(name, ".templ") + "_templ.go"
		made[goName] = true
		keep(t, goName, text)
	}
	code, err := filepath.Glob("*_templ.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range code {
		if !made[name] {
			t.Errorf("%s is of no template", name)
		}
	}
}

// keep wants a file to be what was made.
func keep(t *testing.T, file string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the template makes (%v); go test ./door/console -run Templates -update writes it", file, err)
	}
}

// addressed is an attribute that leads somewhere, with what it is made of; those of data- are read by our scripts.
var addressed = regexp.MustCompile(`\b(?:href|src|srcset|action|formaction|poster|data-search)=\{ *([^}]*)`)

// TestEveryAddressGoesThroughLink holds templates to the one place where addresses are looked at.
func TestEveryAddressGoesThroughLink(t *testing.T) {
	seen := 0
	for _, name := range templates(t) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range addressed.FindAllSubmatch(text, -1) {
			seen++
			if !bytes.HasPrefix(m[1], []byte("link(")) && !bytes.HasPrefix(m[1], []byte("string(link(")) {
				t.Errorf("%s: %s: the address does not go through link", name, m[0])
			}
		}
		for _, past := range []string{"templ.Raw", "templ.SafeURL", "templ.JSFuncCall", "templ.JSUnsafeFuncCall", "templ.SafeScript", "onclick", "<script>",
			"style="} {
			if bytes.Contains(text, []byte(past)) {
				t.Errorf("%s has %s: markup past the escaping is made in markup.go alone, and a page has no script or style of its own", name, past)
			}
		}
	}
	if seen < 50 {
		t.Errorf("saw %d addresses, want those of all templates", seen)
	}
}

// TestALinkRunsNothing: an address is one of our own, or of the web.
func TestALinkRunsNothing(t *testing.T) {
	for to, want := range map[string]string{"/console/c/7/flows?name=a:b": "", "#L3": "", "?tab=logs": "", "": "", "https://example.org/a": "", "HTTP://a": "",
		"flows/1:2": "", "javascript:alert(1)": "bad", "JavaScript:alert(1)": "bad", " javascript:alert(1)": "bad", "java\tscript:alert(1)": "bad",
		"\x00javascript:1": "bad", "data:text/html,<script>": "bad",
		"vbscript:x": "bad", "tel:1": "bad", "ftp://a": "bad", "mailto:a@b": "bad", "javascript&colon;a:b": "bad"} {
		got := string(link(to))
		if want == "" && got != to || want == "bad" && got != "about:invalid#TemplFailedSanitizationURL" {
			t.Errorf("link(%q) is %q", to, got)
		}
	}
}

func templates(t *testing.T) []string {
	t.Helper()
	names, err := filepath.Glob("*.templ")
	if err != nil || len(names) < 15 {
		t.Fatalf("templates: %v, %v", names, err)
	}
	return names
}

// TestRowsStandOnLines: what changes is sent by lines.
func TestRowsStandOnLines(t *testing.T) {
	for page, want := range map[string]string{"": "", "a": "a",
		"<table><tr><td>1</td></tr><tr class=\"x\"><td>&lt;tr></td></tr></table>": "<table>\n<tr>\n<td>1</td></tr>\n" +
			"<tr class=\"x\">\n<td>&lt;tr></td></tr></table>", "<pre>1\n</pre><p>a <b>b</b></p><": "<pre>1\n</pre>\n<p>a <b>b</b></p><", "<ol><li>": "<ol>\n<li>"} {
		var b bytes.Buffer
		if inLines(&b, []byte(page)); b.String() != want {
			t.Errorf("%q: got %q, want %q", page, b.String(), want)
		}
	}
}
