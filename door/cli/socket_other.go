//go:build !unix

package cli

import (
	"os"
	"path/filepath"

	"github.com/ramet-run/ramet/domain"
)

// makeSocketDir makes the folder of a socket path.
func makeSocketDir(socket string) error {
	if err := os.MkdirAll(filepath.Dir(socket), 0o700); err != nil {
		return domain.Unavailablef("make the socket's folder: %v", err)
	}
	return nil
}

func ownDir(string) error { return nil }
