package sqlitearchive_test

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/archivetest"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/domain"
)

func TestArchive(t *testing.T) {
	var files sync.Map // by archive
	open := func(t *testing.T, file string) archive.Archive {
		a, err := sqlitearchive.Open(t.Context(), file)
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
	a, err := sqlitearchive.Open(t.Context(), file)
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
	_, err = sqlitearchive.Open(t.Context(), filepath.Join(filepath.Dir(file), "x.db"))
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
		a, err := sqlitearchive.Open(t.Context(), file)
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
	if _, err := sqlitearchive.Open(t.Context(), file); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), file) {
		t.Errorf("got %v, want one that names the file", err)
	}
}

func BenchmarkPut(b *testing.B) {
	a, err := sqlitearchive.Open(b.Context(), filepath.Join(b.TempDir(), "archive.db"))
	if err != nil {
		b.Fatal(err)
	}
	defer a.Close()
	archivetest.Bench(b, a)
}
