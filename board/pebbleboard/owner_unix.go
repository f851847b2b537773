//go:build unix

package pebbleboard

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// ownerFile names the process that uses a data folder and is locked by it, so
// that a second one is told whom to stop. The lock ends with the process.
type ownerFile struct{ f *os.File }

// own takes the folder for this process.
//
// Errors: [domain.ErrConflict] while another has it; [domain.ErrUnavailable].
func own(dir string) (*ownerFile, error) {
	f, err := os.OpenFile(filepath.Join(dir, "owner"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, domain.Unavailablef("open data folder %q: %v", dir, err)
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	for end := time.Now().Add(heirs); errors.Is(err, syscall.EWOULDBLOCK) && left(f) && time.Now().Before(end); {
		time.Sleep(5 * time.Millisecond)
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	}
	if err != nil {
		defer f.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, domain.Unavailablef("lock data folder %q: %v", dir, err)
		}
		return nil, inUse(dir, f)
	}
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0) // only for people
	}
	return &ownerFile{f}, nil
}

// heirs is how long a lock is waited for whose process is dead. What it had just
// forked has the lock, too, until that has become another program or ends.
const heirs = 5 * time.Second

// left reports whether the process that a folder names is no more.
func left(f *os.File) bool {
	pid, err := strconv.Atoi(owner(f))
	return err == nil && errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// owner is the process that a folder names, "" for none.
func owner(f *os.File) string {
	text := make([]byte, 20)
	n, _ := f.ReadAt(text, 0)
	return strings.TrimSpace(string(text[:n]))
}

// inUse says who has the folder.
func inUse(dir string, f *os.File) error {
	pid := owner(f)
	switch pid {
	case "":
		return domain.Conflictf("data folder %q is in use by another ramet process: stop that one, or use another folder", dir)
	case strconv.Itoa(os.Getpid()):
		return domain.Unavailablef("data folder %q is open in this process already; after a disk error, start the process again", dir)
	}
	return domain.Conflictf("data folder %q is in use by another ramet process (pid %s): stop that one, or use another folder", dir, pid)
}

func (o *ownerFile) release() {
	if o != nil {
		o.f.Close()
	}
}
