//go:build !unix

package natslink

import (
	"os"

	"github.com/ramet-run/ramet/domain"
)

// FolderLock does nothing here: two nodes must be given two data folders.
type FolderLock struct{}

func LockFolder(dir string) (*FolderLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, domain.Unavailablef("make folder %q: %v", dir, err)
	}
	return nil, nil
}

func (l *FolderLock) Release() {}
