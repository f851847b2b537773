package readme

import (
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// elsewhere are the pages for who comes from another program.
const elsewhere = "../../docs/from/*.md"

// fromAside are the blocks of ours that no page's test runs: each by its page and first line, with the reason.
var fromAside = []struct{ page, first, why string }{
	{"celery.md", "ramet serve", "the tests of sdk/python, which run the page, have a node of their own"},
}

// theirs are the kinds of blocks that another program reads, each with what is held of them.
var theirs = map[string]func(t *testing.T, page, text string){
	"golang": func(t *testing.T, _, text string) { isGo(t, text) },
	"py":     func(t *testing.T, _, text string) { isPython(t, text) },
	"yml": func(t *testing.T, page, text string) {
		isYAML(t, text)
		isImported(t, strings.TrimSuffix(page, ".md"), text)
	},
	"crontab": func(t *testing.T, _, text string) { isImported(t, "crontab", text) },
}

// TestEachBlockOfThoseFromElsewhereIsRunOrRead: what is ours on these pages is run as it is printed, and what is
// theirs is at least something that their program could read.
func TestEachBlockOfThoseFromElsewhereIsRunOrRead(t *testing.T) {
	pages, err := filepath.Glob(elsewhere)
	if err != nil || len(pages) == 0 {
		t.Fatalf("got %q, %v", pages, err)
	}
	python, err := os.ReadFile("../../sdk/python/tests/test_docs.py")
	if err != nil {
		t.Fatal(err)
	}
	used := make([]bool, len(fromAside))
	for _, path := range pages {
		page := filepath.Base(path)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		inPython := strings.Contains(string(python), `"docs/from/`+page+`"`)
		blocks := fence.FindAllStringSubmatch(string(text), -1)
		for i, b := range blocks {
			if held, is := theirs[b[1]]; is {
				t.Run(page+"/"+b[1], func(t *testing.T) { held(t, page, b[2]) })
				continue
			}
			set := slices.IndexFunc(fromAside, func(a struct{ page, first, why string }) bool {
				return a.page == page && strings.HasPrefix(b[2], a.first)
			})
			if set >= 0 {
				used[set] = true
				continue
			}
			runs := slices.Contains(fromPages, strings.TrimSuffix(page, ".md")) && isRun(blocks, i)
			if !runs && !(inPython && isRunInPython(blocks, i)) {
				t.Errorf("%s: this block is not run: make it one of kind sh, or set it aside with a reason:\n%s", page, b[0])
			}
		}
	}
	for n, a := range fromAside {
		if !used[n] {
			t.Errorf("%s has no block that begins with %q", a.page, a.first)
		}
	}
}

// isRunInPython reports whether the tests of sdk/python run a block: a program, a command, or what the command right before prints.
func isRunInPython(blocks [][]string, i int) bool {
	switch kind := blocks[i][1]; kind {
	case "python", "sh", "sh worker":
		return true
	case "":
		return i > 0 && blocks[i-1][1] == "sh"
	}
	return false
}

// isGo wants each paragraph of a text to be declarations or statements of Go: what a page shows of a
// program is no whole file.
func isGo(t *testing.T, text string) {
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		_, asFile := parser.ParseFile(token.NewFileSet(), "", "package p\n"+paragraph, parser.SkipObjectResolution)
		_, asBody := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+paragraph+"\n}", parser.SkipObjectResolution)
		if asFile != nil && asBody != nil {
			t.Errorf("neither declarations (%v) nor statements (%v):\n%s", asFile, asBody, paragraph)
		}
	}
}

func isPython(t *testing.T, text string) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not installed")
	}
	file := filepath.Join(t.TempDir(), "theirs.py")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("python3", "-m", "py_compile", file).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// isImported has `ramet import` read what the other program reads, and wants what comes out to be right here. Only
// what the importer leaves out with a note is lost; the page says that of its own example, or has none.
func isImported(t *testing.T, kind, text string) {
	dir := t.TempDir()
	file := filepath.Join(dir, "theirs.yml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ramet := func(args ...string) {
		t.Helper()
		if out, err := exec.Command(filepath.Join(bin, "ramet"), args...).CombinedOutput(); err != nil {
			t.Errorf("ramet %q: %v\n%s", args, err, out)
		}
	}
	ramet("import", kind, file, "--write", filepath.Join(dir, "ours"))
	made, err := filepath.Glob(filepath.Join(dir, "ours", "*.yaml"))
	if err != nil || len(made) == 0 {
		t.Fatalf("nothing was made of it: %v", err)
	}
	for _, file := range made {
		if strings.HasSuffix(file, ".schedule.yaml") {
			ramet("schedule", "preview", file)
		} else {
			ramet("blueprint", "check", file)
		}
	}
}
