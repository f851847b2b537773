package sqlitearchive_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/domain"
)

// TestWhatConnectionsKeepInMemoryIsGivenBack: they are opened again when they are needed,
// and a file that is gone is not begun anew by that.
func TestWhatConnectionsKeepInMemoryIsGivenBack(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.db")
	a, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	put := func(key string) error {
		return a.Put(t.Context(), []archive.Record{{Context: 1, Kind: domain.ArchiveJob, Key: key, EndMs: 1, BeginMs: 1, Status: "finished",
			Body: json.RawMessage(`{}`)}})
	}
	if err := put("job:1:1"); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Count(t.Context(), archive.Query{Context: 1}); n != 1 || err != nil || sqlitearchive.Connections(a) != 2 {
		t.Fatalf("got %d records, %v, %d connections", n, err, sqlitearchive.Connections(a))
	}
	a.GiveBack()
	if n := sqlitearchive.Connections(a); n != 0 {
		t.Errorf("%d connections are kept after they were given back", n)
	}
	if err := put("job:1:2"); err != nil {
		t.Fatal(err)
	}
	if n, err := a.Count(t.Context(), archive.Query{Context: 1}); n != 2 || err != nil {
		t.Errorf("got %d records, %v", n, err)
	}
	a.GiveBack()
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if err := put("job:1:3"); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("where the file is gone, got %v", err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it was begun anew: %v", err)
	}
}
