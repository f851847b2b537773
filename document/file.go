package document

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// File is a document's file, with the folder that it stands in.
type File struct {
	Text   []byte
	folder *os.Root
	noun   string
}

// Open reads a file of up to most bytes and one; noun is what people call such
// a document.
//
// Errors: those of [domain.FileErrorf].
func Open(path, noun string, most int64) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	defer f.Close()
	text, err := readMost(f, most)
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	return &File{text, folder, noun}, nil
}

// Close lets go of the folder.
func (f *File) Close() error { return f.folder.Close() }

// Script reads a script's file: a path relative to the document's folder and
// within it, also by its links.
//
// Errors: [domain.ErrInvalid], and those of [domain.FileErrorf].
func (f *File) Script(path string) (string, error) {
	if !filepath.IsLocal(path) {
		return "", domain.Invalidf("%q is not in the %s's folder; want a relative path without \"..\"", path, f.noun)
	}
	// Asked first: opening a pipe would wait for its other end.
	about, err := f.folder.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return "", domain.NotFoundf("%q: no such file or directory in the %s's folder", path, f.noun)
	}
	if err != nil {
		return "", domain.FileErrorf(err, "%v", err)
	}
	if !about.Mode().IsRegular() {
		return "", domain.Invalidf("%q is no ordinary file", path)
	}
	in, err := f.folder.Open(path)
	if err != nil {
		return "", domain.FileErrorf(err, "%v", err)
	}
	defer in.Close()
	text, err := readMost(in, domain.MaxScriptBytes)
	switch {
	case err != nil:
		return "", domain.FileErrorf(err, "%v", err)
	case len(text) > domain.MaxScriptBytes:
		return "", domain.Invalidf("%q is longer than a script may be, %d bytes", path, domain.MaxScriptBytes)
	case !utf8.Valid(text):
		return "", domain.Invalidf("%q is not UTF-8", path)
	}
	return string(text), nil
}

// readMost reads no more than one byte over a limit.
func readMost(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit+1))
}
