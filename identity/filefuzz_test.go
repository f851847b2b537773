package identity_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/identity"
)

// Link keys come from people and their backups, as other keys do.
func FuzzLoadLinkKey(f *testing.F) {
	dir := f.TempDir()
	bus, _, err := identity.RenewLinks(dir)
	if err != nil {
		f.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		f.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		f.Add(text[:len(text)/2])
	}
	f.Add([]byte("{}"))
	f.Add([]byte("link_seed: " + bus.Pubkey() + "\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "link.fuzz")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := identity.LoadLinkKey(path)
		if err != nil {
			return
		}
		if again, err := identity.LoadLinkKey(path); err != nil || again.Pubkey() != got.Pubkey() || len(got.Pubkey()) != 64 {
			t.Errorf("read again: %q, %v, want %q", again.Pubkey(), err, got.Pubkey())
		}
	})
}
