package work_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/ramet-run/ramet/work"
)

// TestReopen has a data folder with modes that a script of the same user gave it.
func TestReopen(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	modes := []struct {
		path      string
		dir       bool
		was, want fs.FileMode
	}{
		{".", true, 0, 0o700},
		{"board", true, 0o500, 0o700},
		{"board/000001.log", false, 0o400, 0o600},
		{"contexts", true, 0, 0o700},
		{"contexts/1", true, 0, 0o700},
		{"contexts/1/jobs", true, 0, 0o700},
		{"contexts/1/jobs/1-1-1", true, 0, 0},       // a job's own
		{"contexts/1/given", false, 0o400, 0o400},   // a file of the context
		{"operator.key", false, 0, 0o400},           // but no more than it needs
		{"node.key", false, 0o440, 0o440},           // open to others: told elsewhere
		{"archive.db-wal", false, 0o400, 0o600},     // SQLite writes there
		{"somebody's", true, 0o500, 0o500},          // not the node's
		{"somebody's/file", false, 0o400, 0o400},    // nor what is in it
		{"streams/S_1/msgs/1.blk", false, 0, 0o600}, // by the embedded server
	}
	for _, m := range modes {
		path := filepath.Join(data, m.path)
		if m.dir {
			if err := os.MkdirAll(path, 0o700); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/", filepath.Join(data, "board", "link")); err != nil {
		t.Fatal(err)
	}
	for _, m := range slices.Backward(modes) {
		if err := os.Chmod(filepath.Join(data, m.path), m.was); err != nil {
			t.Fatal(err)
		}
	}
	mended := work.Reopen(data)
	for _, m := range modes {
		info, err := os.Stat(filepath.Join(data, m.path))
		if err != nil {
			t.Errorf("%s: %v", m.path, err)
			continue
		}
		if got := info.Mode().Perm(); got != m.want {
			t.Errorf("%s: got mode %o, want %o", m.path, got, m.want)
		}
		if got := slices.Contains(mended, m.path); got != (m.was != m.want) {
			t.Errorf("%s: told that it was mended: %v", m.path, got)
		}
	}
	if again := work.Reopen(data); len(again) > 0 {
		t.Errorf("the second time: got %v mended", again)
	}
}
