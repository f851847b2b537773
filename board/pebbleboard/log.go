package pebbleboard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// logHeader is what each chunk of a log begins with: a checksum of four
	// bytes, a length of two, and what kind of chunk it is.
	logHeader = 7
	// logKinds is the highest kind that the store writes.
	logKinds = 12
)

// checkLogs looks at the first bytes of each log. The store takes an
// unreadable end of the newest log for what a power cut leaves, and goes on
// without it. That is right for an end, but a log that does not even begin
// like one was overwritten, and what it held must not be missed in silence.
//
// Errors: errCorrupt.
func checkLogs(disk vfs.FS, dir string) error {
	names, err := disk.List(dir)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		if err := checkLog(disk, path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

func checkLog(disk vfs.FS, name string) error {
	f, err := disk.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	head := make([]byte, logHeader)
	if _, err := io.ReadFull(f, head); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // nothing was acknowledged from so short a log
		}
		return err
	}
	// Zeros are a log that was made and not written yet.
	if kind := head[logHeader-1]; kind > logKinds {
		return fmt.Errorf("%w: %s does not begin like a log", errCorrupt, path.Base(name))
	}
	return nil
}
