//go:build !unix

package natsbus

import (
	"os"

	"github.com/ramet-run/ramet/domain"
)

// folderLock does nothing here: two nodes must be given two data folders.
type folderLock struct{}

func lockFolder(dir string) (*folderLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, domain.Unavailablef("make folder %q: %v", dir, err)
	}
	return nil, nil
}

func (l *folderLock) release() {}
