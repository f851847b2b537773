//go:build unix

package node

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ramet-run/ramet/domain"
)

// lockFolder makes the data folder this process's own until the file is
// closed or the process ends.
//
// Errors: [domain.ErrConflict] while another process has it.
func lockFolder(dir string) (*os.File, error) {
	path := filepath.Join(dir, "node.lock")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, domain.Unavailablef("lock the data folder: %v", err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, nil
	}
	f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, domain.Conflictf("another node runs on the data folder %s; stop it, or choose another folder", dir)
	}
	return nil, domain.Unavailablef("lock the data folder: %v", err)
}
