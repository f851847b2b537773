// Package whole writes files that people keep: each is there wholly, or as it was before, also on a full disk and
// after a power cut. What is written lies beside the file until then, under a hidden name.
package whole

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Write puts data in the place of what a file has. The file keeps its mode, and its owner where this user may give files
// away; one that is not there yet gets mode, less what the user's mask takes. Where the name is a link, what it leads to is written.
func Write(path string, data []byte, mode fs.FileMode) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	st, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return beside(path, data, mode, nil, os.Rename)
	}
	if err != nil {
		return err
	}
	if !st.Mode().IsRegular() {
		return fmt.Errorf("write %s: it is no regular file", path)
	}
	// A name may be given to another file where its own may not be written.
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return beside(path, data, st.Mode().Perm(), st, os.Rename)
}

// Create writes a file that is not there yet.
//
// Errors: one that is [fs.ErrExist] where it is there.
func Create(path string, data []byte, mode fs.FileMode) error {
	if _, err := os.Lstat(path); err == nil {
		return &fs.PathError{Op: "create", Path: path, Err: fs.ErrExist}
	}
	return beside(path, data, mode, nil, func(part, path string) error {
		err := os.Link(part, path)
		if err == nil || errors.Is(err, fs.ErrExist) {
			return errors.Join(err, os.Remove(part))
		}
		return os.Rename(part, path) // a file system without links
	})
}

// beside writes what is then named as it is to be. A file that is replaced is like.
func beside(path string, data []byte, mode fs.FileMode, like fs.FileInfo, name func(part, path string) error) error {
	f, err := create(filepath.Dir(path), filepath.Base(path), mode)
	if err != nil {
		return err
	}
	if like != nil {
		own(f, like)
		err = f.Chmod(mode) // after the owner, which takes some bits; and whatever the mask is
	}
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = name(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	if of := (*fs.PathError)(nil); errors.As(err, &of) {
		of.Path = path // which people know
	}
	return err
}

// create makes a file beside another. Unlike [os.CreateTemp] it has the mode that is asked for, less the user's mask.
func create(dir, base string, mode fs.FileMode) (f *os.File, err error) {
	for n := range 1000 {
		f, err = os.OpenFile(filepath.Join(dir, fmt.Sprintf(".%s.part-%d-%d", base, os.Getpid(), n)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	return f, err
}
