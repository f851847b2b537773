package scripttest

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// mostRoom is more than a private folder in memory may hold; fileRoom is taken at
// once, below the limit of one file.
const (
	mostRoom = 2 << 30
	fileRoom = 256 << 20
)

// roomAttempts are about what is there once for all: memory, in folders of it.
var roomAttempts = []attempt{
	{name: "fill /tmp", try: func(*world) error { return fill("/tmp") }},
	{name: "fill /dev/shm", try: func(*world) error { return fill("/dev/shm") }, open: "open has the machine's /dev/shm"},
	{name: "fill the root folder", try: func(*world) error { return fill("/") }},
	{name: "fill /dev", try: func(*world) error { return fill("/dev") }},
}

// fill takes room in files of their own until there is no more.
func fill(dir string) error {
	folder, err := os.MkdirTemp(dir, "ramet-fill-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return err
	}
	if uint64(stat.Bsize)*stat.Blocks > mostRoom { // not tried: it might be the machine's, and be had
		return through(fmt.Sprintf("%s has %d MiB", dir, uint64(stat.Bsize)*stat.Blocks>>20))
	}
	for taken := int64(0); taken <= mostRoom; taken += fileRoom {
		file, err := os.Create(filepath.Join(folder, strconv.FormatInt(taken, 10)))
		if err != nil {
			return err
		}
		err = unix.Fallocate(int(file.Fd()), 0, 0, fileRoom)
		file.Close()
		if err != nil {
			return err
		}
	}
	return through(fmt.Sprintf("%s holds %d MiB", dir, mostRoom>>20))
}
