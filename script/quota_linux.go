package script

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// heap is a folder on the way down to the one that is being counted, with what is
// still to be entered there.
type heap struct {
	dev, ino uint64
	down     []string
}

// count adds up what a folder holds, until that is over the limits: room on the disk,
// and the number of names. It goes down by names and up by "..", with one
// descriptor, follows no links and opens nothing but folders. What has several names
// takes room once. Folders that nobody may enter are opened up.
//
// Errors: [errMoved] with what was counted so far.
func count(dir string, limits Limits) (sum Usage, err error) {
	at, err := peek(unix.AT_FDCWD, dir)
	if err != nil {
		return sum, nil // gone, or no folder any more: it holds nothing
	}
	defer func() { at.Close() }()
	linked := map[[2]uint64]bool{}
	way := []heap{}
	for {
		here, err := list(at, &sum, linked, limits)
		if err != nil || sum.Over(limits) {
			return sum, err
		}
		way = append(way, here)
		if at, err = next(at, &way); err != nil || len(way) == 0 {
			return sum, err
		}
	}
}

// next goes to the folder that is counted next, up first where nothing is left below.
// The way is empty at the end.
func next(at *os.File, way *[]heap) (*os.File, error) {
	for len(*way) > 0 {
		here := &(*way)[len(*way)-1]
		for len(here.down) > 0 {
			name := here.down[len(here.down)-1]
			here.down = here.down[:len(here.down)-1]
			if inner, err := peek(int(at.Fd()), name); err == nil {
				at.Close()
				return inner, nil
			}
		}
		if *way = (*way)[:len(*way)-1]; len(*way) == 0 {
			break
		}
		above := (*way)[len(*way)-1]
		outer, err := peek(int(at.Fd()), "..")
		if err != nil {
			return at, errMoved
		}
		at.Close()
		at = outer
		var stat unix.Stat_t
		if err := unix.Fstat(int(at.Fd()), &stat); err != nil || stat.Dev != above.dev || stat.Ino != above.ino {
			return at, errMoved
		}
	}
	return at, nil
}

// list counts what lies in a folder, and names the folders in it.
func list(at *os.File, sum *Usage, linked map[[2]uint64]bool, limits Limits) (here heap, err error) {
	var stat unix.Stat_t
	if err := unix.Fstat(int(at.Fd()), &stat); err != nil {
		return here, errMoved
	}
	here.dev, here.ino = stat.Dev, stat.Ino
	for !sum.Over(limits) {
		names, err := at.Readdirnames(1024)
		for _, name := range names {
			if unix.Fstatat(int(at.Fd()), name, &stat, unix.AT_SYMLINK_NOFOLLOW) != nil {
				continue // gone since
			}
			sum.Files++
			folder := stat.Mode&unix.S_IFMT == unix.S_IFDIR
			if key := [2]uint64{stat.Dev, stat.Ino}; !folder && stat.Nlink > 1 {
				if linked[key] {
					continue
				}
				linked[key] = true
			}
			sum.Bytes += stat.Blocks * 512
			if folder && stat.Dev == here.dev {
				here.down = append(here.down, name)
			}
		}
		if err != nil || len(names) == 0 {
			break
		}
	}
	return here, nil
}

// peek opens a folder to be read, and changes its mode only where that forbids it.
func peek(at int, name string) (*os.File, error) {
	fd, err := unix.Openat(at, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.EACCES) {
		return enter(at, name)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "folder"), nil
}
