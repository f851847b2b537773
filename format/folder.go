package format

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// File is the file in a folder that says its format.
const File = "format.json"

// maxFile bounds it, in bytes.
const maxFile = 4 << 10

// OpenFolder checks the format of a node's data folder, which the caller has locked, and
// brings it up to date. The folder must be there.
//
// Errors: [domain.ErrConflict] for one of a newer program; [domain.ErrInvalid] for a file
// that is damaged; [domain.ErrUnavailable].
func (f Formats) OpenFolder(dir, program string) error {
	return f.openFolder("data folder", dir, program, func(s Step) error { return call(s.Folder, dir) })
}

// CheckFolder refuses a data folder of a newer program. It writes nothing.
//
// Errors: as of OpenFolder.
func (f Formats) CheckFolder(dir string) error {
	was, err := readFile(filepath.Join(dir, File))
	if err != nil || was.Format == 0 {
		return err
	}
	return f.check("data folder "+dir, was)
}

// CheckStreams refuses the streams of a newer program. It writes nothing.
//
// Errors: as of OpenFolder.
func (f Formats) CheckStreams(dir string) error {
	was, err := readFile(filepath.Join(dir, File))
	if err != nil || was.Format == 0 {
		return err
	}
	return f.check("folder of the event streams "+dir, was)
}

// OpenStreams does the same with the folder of the event streams, which may be moved by
// itself, and is made if it is not there.
//
// Errors: as of OpenFolder.
func (f Formats) OpenStreams(dir, program string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return domain.FileErrorf(err, "make the folder of the event streams: %v", err)
	}
	return f.openFolder("folder of the event streams", dir, program, func(s Step) error { return call(s.Streams, dir) })
}

func call(step func(string) error, dir string) error {
	if step == nil {
		return nil
	}
	return step(dir)
}

func (f Formats) openFolder(kind, dir, program string, run func(Step) error) error {
	path := filepath.Join(dir, File)
	was, err := readFile(path)
	if err != nil {
		return err
	}
	from, known := was, was.Format != 0
	if !known {
		from.Format = 1
	}
	what := kind + " " + dir
	if err := f.check(what, from); err != nil || known && from.Format == f.Newest() {
		return err
	}
	if err := f.upgrade(what, from.Format, run); err != nil {
		return err
	}
	if err := writeFile(path, f.stamp(program, time.Now().UnixMilli())); err != nil {
		return domain.FileErrorf(err, "write the format of %s: %v", what, err)
	}
	return nil
}

// readFile reads such a file; the zero stamp where there is none.
func readFile(path string) (s stamp, err error) {
	file, err := os.Open(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case err != nil:
		return s, domain.FileErrorf(err, "read the format: %v", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return s, domain.FileErrorf(err, "read the format: %v", err)
	}
	// What a newer program says besides is no damage.
	if err := intake.Read(text, &s, intake.Limits{Bytes: maxFile}); err == nil && s.Format != 0 {
		return s, nil
	}
	return s, domain.Invalidf("%s is damaged: want {\"format\": N}; put back the file, of a backup if need be", path)
}

// writeFile writes one whole or not at all, and so that it is there after a power cut.
func writeFile(path string, s stamp) (err error) {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	part := path + ".part"
	file, err := os.OpenFile(part, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(text, '\n'))
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	if err := os.Rename(part, path); err != nil {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
