package folderstore_test

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testmount"
)

// A file that does not fit leaves nothing, also not of its beginning, and is put once there is room.
func TestFullDisk(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	disk := t.TempDir()
	resize := testmount.Small(t, disk, "1m")
	s := open(t, filepath.Join(disk, "artifacts"))
	small, err := s.Put(t.Context(), 7, strings.NewReader("fits"))
	if err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("0123456789abcdef"), 3<<20/16)
	for range 2 {
		if _, err := s.Put(t.Context(), 7, bytes.NewReader(large)); !errors.Is(err, domain.ErrExhausted) || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("got %v, want that there is no room", err)
		}
		var left []string
		_ = filepath.WalkDir(disk, func(path string, e fs.DirEntry, err error) error {
			if err == nil && !e.IsDir() {
				left = append(left, filepath.Base(path))
			}
			return err
		})
		if len(left) != 1 || left[0] != small.Sum {
			t.Fatalf("got %q, want the file that fits alone", left)
		}
	}
	resize("8m")
	if b, err := s.Put(t.Context(), 7, bytes.NewReader(large)); err != nil || b.Size != int64(len(large)) {
		t.Errorf("once there is room: got %+v, %v", b, err)
	}
}
