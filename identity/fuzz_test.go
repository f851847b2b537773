package identity_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/identity"
)

// Key files come from people and their backups: what is none is refused, and
// what is read is written and read as the same key.
func FuzzLoadKey(f *testing.F) {
	key, err := identity.NewKey()
	if err != nil {
		f.Fatal(err)
	}
	path := filepath.Join(f.TempDir(), "a.key")
	if err := identity.SaveKey(path, key); err != nil {
		f.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{text, text[:len(text)/2], append(text, text...), nil, []byte("{}"), []byte("\x00")} {
		f.Add(seed)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "k")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := identity.LoadKey(path)
		if err != nil {
			return
		}
		copied := filepath.Join(dir, "c")
		if err := os.RemoveAll(copied); err != nil {
			t.Fatal(err)
		}
		if err := identity.SaveKey(copied, got); err != nil {
			t.Fatal(err)
		}
		if again, err := identity.LoadKey(copied); err != nil || again.Pubkey() != got.Pubkey() {
			t.Errorf("written and read again: %v, %v, want the key %v", again.Pubkey(), err, got.Pubkey())
		}
	})
}
