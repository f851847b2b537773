package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// spelt finds texts that begin the name of a queue, or go on with one. Texts with a
// space are for people.
var spelt = regexp.MustCompile(`^(max:)?(queue:|rhai_tasks:|rhai_task_details:|ramet:queue:)[^ ]*$` +
	`|^(msg_out|msg_out_coordinator|msg_in)$|^:(at:|runner|p%)[^ ]*$`)

// TestQueuesAreSpeltInOnePlace wants the names of queues to be made and read by
// package queue alone.
func TestQueuesAreSpeltInOnePlace(t *testing.T) {
	for _, p := range packages(t) {
		dir := strings.TrimPrefix(p.ImportPath, module)
		if dir == "queue" || strings.HasSuffix(dir, "test") || strings.HasPrefix(dir, "test/") || strings.HasPrefix(dir, "bench") {
			continue
		}
		for _, name := range p.GoFiles {
			file := filepath.ToSlash(filepath.Join(dir, name))
			for _, text := range texts(t, filepath.Join("..", "..", file)) {
				if spelt.MatchString(text) {
					t.Errorf("%s spells a queue's name, %q: ask package queue", file, text)
				}
			}
		}
	}
}

// texts are the string constants of a file.
func texts(t *testing.T, path string) (all []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}
