package script

import (
	"os"
	"path/filepath"
	"testing"
)

// TestAFolderIsNotReadAgainForEachOfItsFolders: with 50,000 of them that took the
// node four minutes of processor time.
func TestAFolderIsNotReadAgainForEachOfItsFolders(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a", "b", "c"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "full"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	at, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	down, rest, err := clear(at, nil)
	if err != nil || down == "" || len(rest) != 2 {
		t.Errorf("got %q, and behind it %q, %v, want the two others", down, rest, err)
	}
}
