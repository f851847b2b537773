package backup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTheMarkOfStreamsIsThereBeforeAnythingGoes: a restore that is killed while it empties the folder
// knows it as its own the next time.
func TestTheMarkOfStreamsIsThereBeforeAnythingGoes(t *testing.T) {
	folder := t.TempDir()
	r := restoring{Target: Target{StreamsFolder: folder}, load: &load{id: "mine"}}
	for _, name := range []string{"jetstream/x", "owner"} {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.makeStreams(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(folder)
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("the folder went, and with it the mark: %v", err)
	}
	has, err := os.ReadDir(folder)
	if mark, _ := os.ReadFile(filepath.Join(folder, RestoringFile)); err != nil || len(has) != 1 || string(mark) != "mine" {
		t.Errorf("got %v, marked %q, %v", has, mark, err)
	}
}
