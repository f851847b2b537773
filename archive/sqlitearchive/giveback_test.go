package sqlitearchive_test

import (
	"encoding/json"
	"errors"
	"fmt"
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

// TestFullBatchesArePutAfterConnectionsWereGivenBack: what is prepared for them went with the connection. Half of the second
// is there already, so that fewer words than a full batch has are put.
func TestFullBatchesArePutAfterConnectionsWereGivenBack(t *testing.T) {
	a, err := sqlitearchive.Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"), sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	for round, first := range []int{0, archive.MaxBatch / 2, 3 * archive.MaxBatch / 2} {
		batch := make([]archive.Record, archive.MaxBatch)
		for i := range batch {
			n := first + i
			batch[i] = archive.Record{Context: 1, Kind: domain.ArchiveJob, Key: fmt.Sprint("job:1:", n+1), EndMs: int64(n + 1), BeginMs: 1, Status: "finished",
				Body: json.RawMessage(fmt.Sprintf(`{"script":"word%d all"}`, n))}
		}
		if err := a.Put(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
		want := int64(first + archive.MaxBatch)
		if n, err := a.Count(t.Context(), archive.Query{Context: 1, Text: "all"}); n != want || err != nil {
			t.Errorf("round %d: %d records are found by a word that all have, %v; want %d", round, n, err, want)
		}
		page, err := a.Search(t.Context(), archive.Query{Context: 1, Text: fmt.Sprint("word", want-1)})
		if err != nil || len(page.Records) != 1 || page.Records[0].EndMs != want {
			t.Errorf("round %d: got %v, %v; want the last", round, page.Records, err)
		}
		a.GiveBack()
	}
}
