//go:build unix

package pebbleboard_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/internal/testwait"
)

// TestAFolderOfTheDeadIsTaken: what a process had forked when it was killed has its
// lock for a moment longer.
func TestAFolderOfTheDeadIsTaken(t *testing.T) {
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "owner")
	if err := os.WriteFile(name, []byte(strconv.Itoa(dead.Process.Pid)+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	heir, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Flock(int(heir.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	opened := make(chan error, 1)
	go func() {
		b, err := pebbleboard.Open(dir, pebbleboard.Config{})
		if err == nil {
			err = b.Close()
		}
		opened <- err
	}()
	testwait.Until(t, "the folder is being opened", func() bool { return holders(t, name) == 2 || len(opened) > 0 })
	heir.Close()
	if err := <-opened; err != nil {
		t.Error(err)
	}
}

// holders is how many descriptors of this process are of a file.
func holders(t *testing.T, name string) (n int) {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("descriptors cannot be listed here: ", err)
	}
	for _, e := range list {
		if to, err := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); err == nil && to == name {
			n++
		}
	}
	return n
}
