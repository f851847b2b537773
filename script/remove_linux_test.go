package script_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ramet-run/ramet/script"
)

func TestRemoveFolder(t *testing.T) {
	root := t.TempDir()
	dir, kept := filepath.Join(root, "work"), filepath.Join(root, "kept")
	for _, path := range []string{"a/b/c", "a/d", ".removed-1/x", "closed/in"} {
		if err := os.MkdirAll(filepath.Join(dir, path), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{kept, dir + "/file", dir + "/.removed-2", dir + "/a/b/file"} {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(kept+"-dir", 0o500); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(kept+"-dir", dir+"/a/link"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir+"/closed", 0); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time there is nothing
		if err := script.RemoveFolder(dir); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
	}
	if info, err := os.Lstat(kept + "-dir"); err != nil || info.Mode().Perm() != 0o500 {
		t.Errorf("what a link stood for was changed: %v %v", info, err)
	}
}

// TestRemoveFolderDeeperThanPaths has one deeper than a process may have descriptors, too.
func TestRemoveFolderDeeperThanPaths(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	for range 2_100 {
		if err != nil {
			t.Fatal(err)
		}
		var next int
		if err = unix.Mkdirat(at, "d", 0o700); err == nil {
			next, err = unix.Openat(at, "d", unix.O_RDONLY|unix.O_DIRECTORY, 0)
		}
		unix.Close(at)
		at = next
	}
	unix.Close(at)
	if err := script.RemoveFolder(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}
