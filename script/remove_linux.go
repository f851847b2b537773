package script

import (
	"errors"
	"io"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// RemoveFolder removes a script's work folder with all that is in it, whatever
// the script did to keep it: folders that nobody may enter are opened first, and
// trees deeper than any path is long are taken apart with one descriptor, going
// down by names and up by "..". Links are removed, never followed. A folder that
// is not there is no error.
func RemoveFolder(dir string) error {
	top, err := enter(unix.AT_FDCWD, dir)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return os.RemoveAll(dir) // a file or a link
	}
	if err := empty(top); err != nil {
		return &os.PathError{Op: "remove", Path: dir, Err: err}
	}
	return os.Remove(dir)
}

// level is a folder on the way down to the one that is being emptied.
type level struct {
	name   string
	parent unix.Stat_t // what ".." must be
	rest   []string    // of the parent, read and not looked at yet
}

// empty removes all that is in a folder, and closes it.
func empty(at *os.File) (err error) {
	defer func() { at.Close() }()
	var way []level
	var names []string
	for {
		down, rest, err := clear(at, names)
		if err != nil {
			return err
		}
		switch {
		case down != "":
			next := level{name: down, rest: rest}
			if err := unix.Fstat(int(at.Fd()), &next.parent); err != nil {
				return err
			}
			inner, err := enter(int(at.Fd()), down)
			if err != nil {
				return err
			}
			at.Close()
			at, way, names = inner, append(way, next), nil
		case len(way) > 0:
			last := way[len(way)-1]
			way = way[:len(way)-1]
			outer, err := enter(int(at.Fd()), "..")
			if err != nil {
				return err
			}
			at.Close()
			at, names = outer, last.rest
			var stat unix.Stat_t
			if err := unix.Fstat(int(at.Fd()), &stat); err != nil {
				return err
			}
			if stat.Dev != last.parent.Dev || stat.Ino != last.parent.Ino {
				return errors.New("somebody is moving its folders")
			}
			if err := unix.Unlinkat(int(at.Fd()), last.name, unix.AT_REMOVEDIR); err != nil {
				return err
			}
		default:
			return nil
		}
	}
}

// namesAtOnce is how much of a folder is read at once. Each time that it is read
// again, the kernel goes through the room of all that was removed before.
const namesAtOnce = 4096

// clear removes what is no folder, and folders that are empty: first of those
// names, which were read before, then of all that is there, until there is nothing
// left, or a folder to be emptied. It returns its name and those behind it.
func clear(at *os.File, names []string) (down string, rest []string, err error) {
	for {
		for i, name := range names {
			err := unix.Unlinkat(int(at.Fd()), name, 0)
			if errors.Is(err, unix.EISDIR) || errors.Is(err, unix.EPERM) {
				err = unix.Unlinkat(int(at.Fd()), name, unix.AT_REMOVEDIR)
			}
			switch {
			case errors.Is(err, unix.ENOTEMPTY):
				return name, names[i+1:], nil
			case err != nil && !errors.Is(err, unix.ENOENT):
				return "", nil, err
			}
		}
		if _, err := at.Seek(0, io.SeekStart); err != nil {
			return "", nil, err
		}
		if names, err = at.Readdirnames(namesAtOnce); errors.Is(err, io.EOF) {
			return "", nil, nil
		} else if err != nil {
			return "", nil, err
		}
	}
}

// enter opens a folder, and lets it be read and changed before. By a descriptor:
// its name might stand for another between the two.
func enter(at int, name string) (*os.File, error) {
	path, err := unix.Openat(at, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(path)
	if err := unix.Chmod("/proc/self/fd/"+strconv.Itoa(path), 0o700); err != nil {
		return nil, err
	}
	fd, err := unix.Openat(path, ".", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "folder"), nil
}
