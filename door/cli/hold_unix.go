//go:build unix

package cli

import (
	"errors"
	"os"
	"syscall"
)

// hold has a file be this process's until it is closed or the process ends; false: another process has it. Where a
// file system has no locks, nobody is known to have it.
func hold(f *os.File) bool {
	return !errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// removeFree removes a file that nobody holds.
func removeFree(name string) bool {
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return hold(f) && os.Remove(name) == nil
}

// renameHeld gives a file that is held another name, and closes it then: until it has that name nobody may take it
// for one that was left.
func renameHeld(f *os.File, name string) error {
	return errors.Join(os.Rename(f.Name(), name), f.Close())
}
