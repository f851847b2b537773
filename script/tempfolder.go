package script

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// ProbePrefix begins the names of the folders in which a node tries how it can hold
// scripts in.
const ProbePrefix = "ramet-probe-"

// TempFolder is a folder for what this process needs for a while. It is locked: so
// one that a killed process has left is known from one that somebody works in.
type TempFolder struct {
	Path string
	held *os.File
}

// NewTempFolder makes one in dir, in the system's folder for temporary files where
// dir is empty. Its name begins with prefix.
func NewTempFolder(dir, prefix string) (*TempFolder, error) {
	for {
		path, err := os.MkdirTemp(dir, prefix)
		if err != nil {
			return nil, err
		}
		held, err := lock(path)
		if err != nil {
			return nil, err
		}
		if held != nil {
			return &TempFolder{path, held}, nil
		} // a sweep came before the lock, and is about to remove it
	}
}

// Remove removes the folder with all that is in it.
func (f *TempFolder) Remove() error {
	err := RemoveFolder(f.Path)
	f.held.Close()
	return err
}

// SweepTempFolders removes the folders of NewTempFolder whose process, of the same
// user, was killed. What cannot be looked at, or removed, stays.
func SweepTempFolders(dir, prefix string) {
	if dir == "" {
		dir = os.TempDir()
	}
	folder, err := os.Open(dir)
	if err != nil {
		return
	}
	names, _ := folder.Readdirnames(-1)
	folder.Close()
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		path := filepath.Join(dir, name)
		if held, err := lock(path); err == nil && held != nil {
			_ = RemoveFolder(path)
			held.Close()
		}
	}
}

// lock locks a folder of this user for as long as it is held open; nil where somebody
// else has locked it, or removed it meanwhile.
func lock(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	switch err {
	case nil:
	case unix.ENOENT:
		return nil, nil
	default:
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var here, there unix.Stat_t
	switch {
	case unix.Fstat(fd, &here) != nil, int(here.Uid) != os.Geteuid(),
		unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB) != nil,
		unix.Lstat(path, &there) != nil, here.Ino != there.Ino || here.Dev != there.Dev:
		unix.Close(fd)
		return nil, nil
	}
	return os.NewFile(uintptr(fd), path), nil
}
