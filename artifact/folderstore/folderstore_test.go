package folderstore_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/artifact/artifacttest"
	"github.com/ramet-run/ramet/artifact/folderstore"
	"github.com/ramet-run/ramet/domain"
)

func open(t *testing.T, dir string) *folderstore.Store {
	t.Helper()
	s, err := folderstore.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	artifacttest.Run(t, func(t *testing.T) artifact.Store { return open(t, filepath.Join(t.TempDir(), "artifacts")) })
}

func TestChangedFile(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	b, err := s.Put(t.Context(), 7, bytes.NewReader([]byte("as it was")))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "7", b.Sum[:2], b.Sum)
	os.Chmod(path, 0o600)
	if err := os.WriteFile(path, []byte("as it is"), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := artifact.Read(t.Context(), s, 7, b.Sum)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v, want it said that the file was changed", err)
	}
}

func TestFolderAway(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	s := open(t, dir)
	b, err := s.Put(t.Context(), 7, bytes.NewReader([]byte("x")))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".away"); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Open(t.Context(), 7, b.Sum, 0); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("open: got %v", err)
	}
	if err := s.Check(t.Context()); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("check: got %v", err)
	}
	for _, err := range s.Blobs(t.Context(), 7) {
		if !errors.Is(err, domain.ErrUnavailable) {
			t.Errorf("blobs: got %v", err)
		}
	}
	if _, err := s.Put(t.Context(), 7, bytes.NewReader(nil)); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("put: got %v", err)
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("what is not mounted was made anew")
	}
	if _, err := folderstore.Open(filepath.Join(dir, "deep", "deeper")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("open: got %v", err)
	}
}
