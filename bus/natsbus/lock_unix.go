//go:build unix

package natsbus

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramet-run/ramet/domain"
)

// folderLock keeps a second process out of the server's folder, which NATS
// itself does not. It ends with the process.
type folderLock struct{ f *os.File }

// lockFolder makes the folder and takes it for this process.
//
// Errors: [domain.ErrConflict] while another has it; [domain.ErrUnavailable].
func lockFolder(dir string) (*folderLock, error) {
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
	return &folderLock{f}, nil
}

func (l *folderLock) release() {
	if l != nil {
		l.f.Close()
	}
}
