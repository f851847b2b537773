package setting_test

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/setting"
)

var update = flag.Bool("update", false, "write docs/config.md")

func TestPage(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "config.md")
	want := setting.Page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docs/config.md is not what the table says: go test ./internal/setting -update")
	}
}

// What is said of settings is said in one way, and nothing stands twice.
func TestTable(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range setting.All() {
		for _, name := range []string{s.Key, "--" + s.Flag, "$" + s.Variable()} {
			if len(name) > 2 && seen[name] {
				t.Errorf("%s stands twice", name)
			}
			seen[name] = true
		}
		if s.Help == "" || strings.HasSuffix(s.Help, ".") || strings.Count(s.Help, "`")%2 != 0 {
			t.Errorf("%s%s: help %q, want a phrase without a full stop", s.Key, s.Flag, s.Help)
		}
		if len(s.Words) > 0 && s.Default != "" && !slices.Contains(s.Words, s.Default) && s.Key == "isolation" {
			t.Errorf("%s: its default is none of its words", s.Key)
		}
	}
}
