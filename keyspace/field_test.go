package keyspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestEveryFieldOfTheLayoutIsSomebodys holds the tables to the golden records of
// the layout: a field that is new there must be given to somebody here.
func TestEveryFieldOfTheLayoutIsSomebodys(t *testing.T) {
	for file, f := range map[string]*fields{"job": &jobFields, "flow": &flowFields, "message": &messageFields, "runner": &runnerFields, "task": &taskFields} {
		text, err := os.ReadFile(filepath.Join("..", "layout", "testdata", file+".golden"))
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		if len(lines) < 5 {
			t.Fatalf("%s.golden has %d lines", file, len(lines))
		}
		for _, line := range lines[1:] {
			name, _, ok := strings.Cut(line, "=")
			if ok && !slices.Contains(slices.Concat(f.definition, f.progress, f.ours, boardFields), name) {
				t.Errorf("%s: field %s is in no list of field.go", file, name)
			}
		}
	}
}
