package sqlitearchive_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/archivetest"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

func TestArchive(t *testing.T) {
	var files sync.Map // by archive
	open := func(t *testing.T, file string) archive.Archive {
		a, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{})
		if err != nil {
			t.Fatal(err)
		}
		files.Store(a, file)
		return a
	}
	archivetest.Run(t, archivetest.Factory{
		Open: func(t *testing.T) archive.Archive { return open(t, filepath.Join(t.TempDir(), "archive.db")) },
		Reopen: func(t *testing.T, a archive.Archive) archive.Archive {
			file, _ := files.Load(a)
			return open(t, file.(string))
		},
		Durability: "disk",
	})
}

func TestAFileOfANewerProgramIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b?#%.db")
	a, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	a.Close()
	if _, err := os.Stat(file); err != nil {
		t.Fatalf("the file's name was not taken as it is: %v", err)
	}
	db, err := sql.Open("sqlite", filepath.Join(filepath.Dir(file), "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("PRAGMA user_version = 999"); err != nil {
		t.Fatal(err)
	}
	_, err = sqlitearchive.Open(t.Context(), filepath.Join(filepath.Dir(file), "x.db"), sqlitearchive.Config{})
	if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "newer") {
		t.Errorf("got %v, want one that says that a newer Ramet wrote it", err)
	}
}

// TestOthersMayNotReadIt looks at a new file and one of an earlier version, with
// their side files.
func TestOthersMayNotReadIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "archive.db")
	open := func() {
		t.Helper()
		a, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{})
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) < 2 {
			t.Fatalf("got %v, %v, want the file and its side files", entries, err)
		}
		for _, e := range entries {
			if info, err := e.Info(); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: got %v, %v, want mode 0600", e.Name(), info.Mode(), err)
			}
		}
	}
	open()
	if err := os.Chmod(file, 0o644); err != nil {
		t.Fatal(err)
	}
	open()
}

func TestAFileThatIsNoArchiveIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "archive.db")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{}); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want one that names the file", err)
	}
}

func BenchmarkPut(b *testing.B) {
	a, err := sqlitearchive.Open(b.Context(), filepath.Join(b.TempDir(), "archive.db"), sqlitearchive.Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	archivetest.Bench(b, a)
}

// TestADamagedLogIsNotMissed changes a byte of the log behind each of many commits.
func TestADamagedLogIsNotMissed(t *testing.T) {
	const records = 40
	file := filepath.Join(t.TempDir(), "archive.db")
	a, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range records {
		r := archive.Record{Context: 7, Kind: domain.ArchiveFlow, Key: fmt.Sprint("flow:", i+1), EndMs: 5, BeginMs: 1, Status: "finished", Caller: 1,
			Body: json.RawMessage(`{}`)}
		if err := a.Put(t.Context(), []archive.Record{r}); err != nil {
			t.Fatal(err)
		}
	}
	whole := t.TempDir() // as after a kill: closing would empty the log
	if err := os.CopyFS(whole, os.DirFS(filepath.Dir(file))); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(whole, "archive.db-wal"))
	if err != nil {
		t.Fatal(err)
	}
	open := func(text []byte, cfg sqlitearchive.Config) (n int, err error) {
		t.Helper()
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "archive.db-shm")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "archive.db-wal"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		a, err := sqlitearchive.Open(t.Context(), filepath.Join(dir, "archive.db"), cfg)
		if err != nil {
			return 0, err
		}
		defer a.Close()
		page, err := a.Search(t.Context(), archive.Query{Context: 7, Limit: records + 1})
		return len(page.Records), err
	}
	if n, err := open(log, sqlitearchive.Config{}); err != nil || n != records {
		t.Fatalf("untouched: %d records, %v", n, err)
	}
	lost := 0
	for at := 3; at < len(log); at += len(log) / 60 {
		changed := slices.Clone(log)
		changed[at] ^= 0x10
		n, err := open(changed, sqlitearchive.Config{})
		switch {
		case errors.Is(err, domain.ErrUnavailable) && strings.Contains(err.Error(), "--accept-loss"):
			if n, err = open(changed, sqlitearchive.Config{AcceptLoss: true}); err != nil || n == records {
				t.Errorf("byte %d of %d, loss accepted: %d records, %v", at, len(log), n, err)
			}
		case err != nil:
			t.Errorf("byte %d of %d: got %v", at, len(log), err)
		default:
			lost = max(lost, records-n)
		}
	}
	if lost > 2 { // of the last commits nothing says that they were whole
		t.Errorf("%d records were missed in silence", lost)
	}
	for at := 0; at < len(log); at += len(log) / 60 {
		if _, err := open(log[:at], sqlitearchive.Config{}); err != nil {
			t.Errorf("cut short at %d: got %v", at, err)
		}
	}
}

// fill puts n records of 4 KiB that end at 1, 2, ...
func fill(t *testing.T, a archive.Archive, n int) {
	t.Helper()
	var batch []archive.Record
	for i := range n {
		batch = append(batch, archive.Record{Context: 7, Kind: domain.ArchiveJob, Key: fmt.Sprint("job:1:", i+1), EndMs: int64(i + 1), BeginMs: 1, Status: "finished",
			ScriptType: "shell", Caller: 1, Body: json.RawMessage(`{"script":"` + strings.Repeat("x", 4000) + `"}`)})
		if len(batch) == archive.MaxBatch || i == n-1 {
			if err := a.Put(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
			batch = nil
		}
	}
}

// TestTheFileShrinks removes most of a file's records, of a new file and of one as
// earlier versions made it: without the later indexes, and unable to shrink.
func TestTheFileShrinks(t *testing.T) {
	watched.Large(t)
	const records = 3000
	for name, old := range map[string]bool{"a new file": false, "an old file": true} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "archive.db")
			open := func() *sqlitearchive.Archive {
				t.Helper()
				a, err := sqlitearchive.Open(t.Context(), file, sqlitearchive.Config{})
				if err != nil {
					t.Fatal(err)
				}
				return a
			}
			a := open()
			fill(t, a, records)
			a.Close()
			if old {
				db, err := sql.Open("sqlite", file)
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range []string{"DROP INDEX records_type", "DROP INDEX records_caller", "DROP INDEX records_kind", "DROP INDEX records_reason",
					"DROP INDEX records_trigger", "PRAGMA user_version = 2", "PRAGMA journal_mode = delete", "PRAGMA auto_vacuum = none", "VACUUM"} {
					if _, err := db.Exec(s); err != nil {
						t.Fatal(s, err)
					}
				}
				db.Close()
			}
			size := func() int64 {
				info, err := os.Stat(file)
				if err != nil {
					t.Fatal(err)
				}
				return info.Size()
			}
			before := size()
			a = open()
			if n, err := a.Delete(t.Context(), time.UnixMilli(records-99), 10_000); n != records-100 || err != nil {
				t.Fatalf("got %d, %v", n, err)
			}
			page, err := a.Search(t.Context(), archive.Query{Context: 7, ScriptType: "shell", Limit: 500})
			if err != nil || len(page.Records) != 100 {
				t.Errorf("got %d records, %v, want 100", len(page.Records), err)
			}
			a.Close() // what is in the log goes to the file
			if after := size(); after > before/4 {
				t.Errorf("of %d bytes %d are left, want less than a quarter", before, after)
			}
			a = open()
			defer a.Close()
			fill(t, a, records)
		})
	}
}
