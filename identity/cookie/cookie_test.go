package cookie_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity/cookie"
)

func TestCookie(t *testing.T) {
	dir := t.TempDir()
	first, second := cookie.New(), cookie.New()
	for _, c := range []cookie.Cookie{first, second} { // the second in place of the first
		if err := c.Save(dir); err != nil {
			t.Fatal(err)
		}
	}
	path := filepath.Join(dir, cookie.File)
	got, err := cookie.Load(path)
	if err != nil || got != second || len(got.Text()) != 64 {
		t.Fatalf("got %q, %v, want %q", got.Text(), err, second.Text())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v, want mode 0600", info, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("got %v beside it", entries)
	}
	if err := second.Verify(second.Text()); err != nil {
		t.Errorf("itself: got %v", err)
	}
	for _, shown := range []string{"", first.Text(), second.Text()[1:], second.Text() + "0", strings.ToUpper(second.Text()), " " + second.Text()} {
		if err := second.Verify(shown); !errors.Is(err, domain.ErrUnauthenticated) {
			t.Errorf("%q: got %v", shown, err)
		}
	}
	if err := (cookie.Cookie{}).Verify(""); !errors.Is(err, domain.ErrUnauthenticated) {
		t.Errorf("nothing matches no cookie: got %v", err)
	}
}

// TestNotEverythingIsACookieFile holds what is sent as a cookie to be one: root
// reads files that another user laid there.
func TestNotEverythingIsACookieFile(t *testing.T) {
	dir := t.TempDir()
	if err := cookie.New().Save(dir); err != nil {
		t.Fatal(err)
	}
	whole := filepath.Join(dir, cookie.File)
	for _, c := range []struct {
		name string
		make func(path string) error
		want error
		says string
	}{
		{"nothing", func(string) error { return nil }, domain.ErrNotFound, "which a running node writes"},
		{"a link to a cookie", func(p string) error { return os.Symlink(whole, p) }, domain.ErrInvalid, "is a link"},
		{"a pipe", func(p string) error { return syscall.Mkfifo(p, 0o600) }, domain.ErrInvalid, "is no file"},
		{"a folder", func(p string) error { return os.Mkdir(p, 0o700) }, domain.ErrInvalid, "is no file"},
		{"a file for all", func(p string) error {
			return errors.Join(os.WriteFile(p, []byte(strings.Repeat("ab", 32)+"\n"), 0o600), os.Chmod(p, 0o644))
		}, domain.ErrForbidden, "mode 0644"},
		{"an empty file", func(p string) error { return os.WriteFile(p, nil, 0o600) }, domain.ErrInvalid, "is damaged"},
		{"another secret", func(p string) error { return os.WriteFile(p, []byte("root:$6$abc:1::::::\n"), 0o600) }, domain.ErrInvalid, "is damaged"},
		{"a long file", func(p string) error { return os.WriteFile(p, []byte(strings.Repeat("ab", 9000)), 0o600) }, domain.ErrInvalid, "is damaged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "c")
			if err := c.make(path); err != nil {
				t.Fatal(err)
			}
			if got, err := cookie.Load(path); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) || got.Text() != "" {
				t.Errorf("got %q, %v, want %v: %s", got.Text(), err, c.want, c.says)
			}
		})
	}
}
