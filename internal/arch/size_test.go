package arch

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line that is longer than a screen is wide is read by nobody, and a difference in it is seen by nobody.
const longestLine = 160 // columns; a tab is one

// What does not fit on two screens is more than one thing.
const longestFunction = 80 // lines, from `func` to its last brace

// longFunctions are those that may be longer, and why.
var longFunctions = map[string]string{
	"rhai/assignchain.go quickAssign":      "closures of the hottest forms, which share what stands above them",
	"rhai/quickchain.go quickChain":        "closures of the hottest forms, which share what stands above them",
	"rhai/branch.go switchNode":            "what it makes is one closure, over all that it has found",
	"rhai/lib/operator.go Binary":          "a table of two types and what is done with them",
	"rhai/syntax/symbol.go scanSymbol":     "a table of signs",
	"rhai/value/error.go Text":             "a table of errors and their texts",
	"script/scripttest/durable.go Durable": "a table of scripts, which all languages have, and what becomes of them",
}

// TestNothingIsTooLongToRead holds lines of all Go files, and functions outside of tests, to what can be read at once.
// A table is no function: it may have as many rows as it needs.
func TestNothingIsTooLongToRead(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if generated.Match(text) {
			return // what it was made of is read
		}
		for n, line := range bytes.Split(text, []byte("\n")) {
			if columns := utf8.RuneCount(line); columns > longestLine {
				t.Errorf("%s:%d: the line has %d columns, want at most %d", path, n+1, columns, longestLine)
			}
		}
		if strings.HasSuffix(path, "_test.go") {
			return
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			f, is := d.(*ast.FuncDecl)
			if !is {
				continue
			}
			from, to := set.Position(f.Pos()).Line, set.Position(f.End()).Line
			if lines := to - from + 1; lines > longestFunction && longFunctions[path+" "+f.Name.Name] == "" {
				t.Errorf("%s:%d: function %s has %d lines, want at most %d: branches in the parent, work in the leaves", path, from, f.Name.Name,
					lines, longestFunction)
			}
		}
	})
}

// generated is the mark by which Go's tools know a file that a program wrote.
var generated = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)

// sources calls do for each Go file of the house, with its path from the root.
func sources(t *testing.T, do func(path string, text []byte)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || path != root && strings.ContainsAny(d.Name()[:1], "._") || d.Name() == "testdata"): // as Go does
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		do(filepath.ToSlash(rel), text)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
