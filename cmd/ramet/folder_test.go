package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// TestANodeNoticesThatItsFolderIsNotItsOwn moves and deletes parts of a data folder,
// and makes others in their places.
func TestANodeNoticesThatItsFolderIsNotItsOwn(t *testing.T) {
	for name, change := range map[string]func(dir string) (string, error){
		"nothing":           func(string) (string, error) { return "", nil },
		"a new file":        func(dir string) (string, error) { return "", os.WriteFile(filepath.Join(dir, "x"), nil, 0o600) },
		"the folder moved":  func(dir string) (string, error) { return dir, os.Rename(dir, dir+"2") },
		"the folder gone":   func(dir string) (string, error) { return dir, os.RemoveAll(dir) },
		"the board deleted": func(dir string) (string, error) { return boardFolder, os.RemoveAll(filepath.Join(dir, boardFolder)) },
		"another board": func(dir string) (string, error) {
			board := filepath.Join(dir, boardFolder)
			return boardFolder, errors.Join(os.Rename(board, board+".old"), os.Mkdir(board, 0o700))
		},
		"the streams deleted": func(dir string) (string, error) {
			return streamsFolder, os.RemoveAll(filepath.Join(dir, streamsFolder))
		},
		"the archive deleted": func(dir string) (string, error) { return archiveFile, os.Remove(filepath.Join(dir, archiveFile)) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			for _, folder := range []string{boardFolder, streamsFolder} {
				if err := os.MkdirAll(filepath.Join(dir, folder), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(filepath.Join(dir, archiveFile), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			mine, err := look([]string{dir, filepath.Join(dir, boardFolder), filepath.Join(dir, streamsFolder), filepath.Join(dir, archiveFile)})
			if err != nil {
				t.Fatal(err)
			}
			want, err := change(dir)
			if err != nil {
				t.Fatal(err)
			}
			err = mine.check()
			if want == "" && err != nil || want != "" && (!errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), want)) {
				t.Errorf("got %v, want an error that names %q", err, want)
			}
		})
	}
}

// testKeys are those of a node.
func testKeys(t *testing.T) *identity.Keyring {
	t.Helper()
	keys, err := identity.OpenKeyring(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
