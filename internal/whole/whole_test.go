package whole_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/internal/testmount"
	"github.com/ramet-run/ramet/internal/whole"
)

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alone fails where a folder has something else.
func alone(t *testing.T, dir string, names ...string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil || len(list) != len(names) {
		t.Errorf("the folder has %v, %v, want %q", list, err, names)
	}
}

func TestWhatIsReplacedKeepsItsModeAndItsLinks(t *testing.T) {
	dir := t.TempDir()
	path, link := filepath.Join(dir, "script"), filepath.Join(dir, "link")
	if err := errors.Join(os.WriteFile(path, []byte("before"), 0o600), os.Chmod(path, 0o757), os.Symlink("script", link)); err != nil {
		t.Fatal(err)
	}
	if err := whole.Write(link, []byte("after"), 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Lstat(path); err != nil || st.Mode() != 0o757 || read(t, path) != "after" {
		t.Errorf("got %v, %v, %q", st.Mode(), err, read(t, path))
	}
	if to, err := os.Readlink(link); err != nil || to != "script" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	alone(t, dir, "script", "link")
	if err := whole.Write(dir, nil, 0o600); err == nil {
		t.Error("a folder is written")
	}
	if os.Getuid() == 0 {
		return // may write what is closed to it
	}
	if err := os.Chmod(path, 0o400); err != nil {
		t.Fatal(err)
	}
	if err := whole.Write(path, nil, 0o600); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("what may not be written: got %v", err)
	}
}

func TestWhatIsMadeIsNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "new")
	if err := whole.Create(path, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := whole.Create(path, []byte("theirs"), 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v", err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode() != 0o600 || read(t, path) != "mine" {
		t.Errorf("got %v, %v, %q", st, err, read(t, path))
	}
	alone(t, dir, "new")
	nowhere := filepath.Join(dir, "nowhere")
	if err := os.Symlink(filepath.Join(dir, "gone"), nowhere); err != nil {
		t.Fatal(err)
	}
	if err := whole.Create(nowhere, nil, 0o600); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a link that leads nowhere: got %v", err)
	}
}

func TestOnAFullDiskAllIsAsItWas(t *testing.T) {
	if !testmount.Own(t) {
		return
	}
	dir := t.TempDir()
	testmount.Small(t, dir, "64k")
	path := filepath.Join(dir, "mine")
	if err := os.WriteFile(path, []byte("before"), 0o600); err != nil {
		t.Fatal(err)
	}
	large := bytes.Repeat([]byte("x"), 128<<10)
	for name, err := range map[string]error{
		"Write":  whole.Write(path, large, 0o600),
		"Create": whole.Create(filepath.Join(dir, "new"), large, 0o600),
	} {
		if !errors.Is(err, syscall.ENOSPC) || strings.Contains(err.Error(), "part") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if got := read(t, path); got != "before" {
		t.Errorf("the file has %d bytes", len(got))
	}
	alone(t, dir, "mine")
}
