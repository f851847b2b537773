package cookie_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/identity/cookie"
)

// A cookie file may be any text that a process is led to: what is read of it is a
// cookie, and nothing else is ever sent to a socket.
func FuzzLoad(f *testing.F) {
	whole := cookie.New().Text()
	for _, seed := range []string{whole + "\n", whole, whole + "\n\n", whole[1:] + "\n", " " + whole + "\n", "", "\x00\n"} {
		f.Add([]byte(seed))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "cookie")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := cookie.Load(path)
		if err != nil {
			return
		}
		if got.Text()+"\n" != string(text) || len(got.Text()) != len(whole) {
			t.Errorf("read %q as the cookie %q", text, got.Text())
		}
	})
}
