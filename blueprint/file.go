package blueprint

import (
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
)

// ParseFile reads a blueprint's file. A step may name the file of its script,
// which is put into it: a path relative to the blueprint's folder and within
// it, also by its links.
//
// Errors: *[Error] with all that is wrong; those of [domain.FileErrorf] for
// the file itself.
func ParseFile(path string) (*domain.Blueprint, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	defer f.Close()
	text, err := readMost(f, domain.MaxBlueprintBytes)
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	folder, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, domain.FileErrorf(err, "%v", err)
	}
	defer folder.Close()
	return parse(path, text, func(file string) (string, error) { return readScript(folder, file) })
}

// readScript reads a script's file.
func readScript(folder *os.Root, file string) (string, error) {
	if !filepath.IsLocal(file) {
		return "", domain.Invalidf("%q is not in the blueprint's folder; want a relative path without \"..\"", file)
	}
	// Asked first: opening a pipe would wait for its other end.
	about, err := folder.Stat(file)
	if err != nil {
		return "", domain.FileErrorf(err, "%v", err)
	}
	if !about.Mode().IsRegular() {
		return "", domain.Invalidf("%q is no ordinary file", file)
	}
	f, err := folder.Open(file)
	if err != nil {
		return "", domain.FileErrorf(err, "%v", err)
	}
	defer f.Close()
	text, err := readMost(f, domain.MaxScriptBytes)
	switch {
	case err != nil:
		return "", domain.FileErrorf(err, "%v", err)
	case len(text) > domain.MaxScriptBytes:
		return "", domain.Invalidf("%q is longer than a script may be, %d bytes", file, domain.MaxScriptBytes)
	case !utf8.Valid(text):
		return "", domain.Invalidf("%q is not UTF-8", file)
	}
	return string(text), nil
}

// readMost reads no more than one byte over a limit.
func readMost(r io.Reader, limit int64) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r, limit+1))
}
