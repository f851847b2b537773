//go:build unix

package natslink

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramet-run/ramet/domain"
)

// FolderLock keeps a second process out of the server's folder, which NATS
// itself does not. It ends with the process.
type FolderLock struct{ f *os.File }

// LockFolder makes the folder and takes it for this process.
//
// Errors: [domain.ErrConflict] while another has it; [domain.ErrUnavailable].
func LockFolder(dir string) (*FolderLock, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, domain.Unavailablef("make folder %q: %v", dir, err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, domain.Unavailablef("open folder %q: %v", dir, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, domain.Conflictf("folder %q is in use by another NATS server: stop that node, or use another data folder", dir)
		}
		return nil, domain.Unavailablef("lock folder %q: %v", dir, err)
	}
	return &FolderLock{f}, nil
}

func (l *FolderLock) Release() {
	if l != nil {
		l.f.Close()
	}
}
