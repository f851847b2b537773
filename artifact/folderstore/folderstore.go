// Package folderstore keeps artifacts in a folder: of the node's own disk, or of one that
// all nodes of a board have mounted.
//
//	<folder>/<context>/<first two digits of the sum>/<sum>
//	<folder>/<context>/tmp/…                              being put
package folderstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/ramet-run/ramet/artifact"
	"github.com/ramet-run/ramet/domain"
)

var _ artifact.Store = (*Store)(nil)

const (
	tmp  = "tmp"  // of a context: what is being put
	gone = "gone" // of a context: what is being removed
)

// Store is a folder. It is safe for concurrent use, by several processes too.
type Store struct{ dir string }

// Open returns the store in a folder, which it makes where it is missing. Its parent must
// be there: else a disk that is not mounted would be written beside.
//
// Errors: [domain.ErrUnavailable].
func Open(dir string) (*Store, error) {
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, said(err)
	}
	return &Store{dir}, nil
}

// Where implements [artifact.Store].
func (s *Store) Where() string { return (&url.URL{Scheme: "file", Path: s.dir}).String() }

// Close implements [artifact.Store].
func (s *Store) Close() error { return nil }

func (s *Store) context(t domain.TenantID) string {
	return filepath.Join(s.dir, strconv.FormatUint(uint64(t), 10))
}

func (s *Store) path(t domain.TenantID, sum string) string {
	return filepath.Join(s.context(t), sum[:2], sum)
}

// folder makes a folder of a context, but never the store's own: a disk that is not mounted
// any more is not written beside.
func (s *Store) folder(t domain.TenantID, name string) error {
	for _, dir := range []string{s.context(t), filepath.Join(s.context(t), name)} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// Put implements [artifact.Store]. What is there already is replaced by the same, which
// makes it young.
func (s *Store) Put(ctx context.Context, t domain.TenantID, src io.ReadSeeker) (blob artifact.Blob, err error) {
	if _, err := src.Seek(0, io.SeekStart); err != nil {
		return blob, err
	}
	if err := s.folder(t, tmp); err != nil {
		return blob, said(err)
	}
	to, err := os.CreateTemp(filepath.Join(s.context(t), tmp), "put-")
	if err != nil {
		return blob, said(err)
	}
	defer func() {
		to.Close()
		if err != nil {
			os.Remove(to.Name())
		}
	}()
	h := sha256.New()
	size, err := artifact.Copy(ctx, io.MultiWriter(writer{to}, h), src)
	if err != nil {
		return blob, err
	}
	if err := errors.Join(to.Chmod(0o400), to.Sync(), to.Close()); err != nil {
		return blob, said(err)
	}
	sum := hex.EncodeToString(h.Sum(nil))
	path := s.path(t, sum)
	if err := s.folder(t, sum[:2]); err != nil {
		return blob, said(err)
	}
	if err := os.Rename(to.Name(), path); err != nil {
		return blob, said(err)
	}
	for dir := filepath.Dir(path); dir != filepath.Dir(s.dir); dir = filepath.Dir(dir) {
		if err := syncDir(dir); err != nil {
			return blob, said(err)
		}
	}
	return artifact.Blob{Sum: sum, Size: size, At: time.Now()}, nil
}

// Open implements [artifact.Store].
func (s *Store) Open(_ context.Context, t domain.TenantID, sum string, offset int64) (io.ReadCloser, artifact.Blob, error) {
	if err := artifact.ValidateSum(sum); err != nil {
		return nil, artifact.Blob{}, err
	}
	f, err := os.Open(s.path(t, sum))
	if errors.Is(err, fs.ErrNotExist) && s.there() == nil {
		return nil, artifact.Blob{}, domain.NotFoundf("blob %s is not in the artifact store %s", sum, s.Where())
	}
	if err != nil {
		return nil, artifact.Blob{}, said(err)
	}
	st, err := f.Stat()
	if err == nil {
		_, err = f.Seek(offset, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, artifact.Blob{}, said(err)
	}
	return readCloser{f}, artifact.Blob{Sum: sum, Size: st.Size(), At: st.ModTime()}, nil
}

// there reports whether the folder is: one on a disk that is not mounted any more is away,
// and what was in it is not gone.
func (s *Store) there() error {
	_, err := os.Stat(s.dir)
	return said(err)
}

// Blobs implements [artifact.Store]. It removes on its way what crashes left half put, and
// brings back what they left half removed.
func (s *Store) Blobs(ctx context.Context, t domain.TenantID) iter.Seq2[artifact.Blob, error] {
	return func(yield func(artifact.Blob, error) bool) {
		if err := s.there(); err != nil {
			yield(artifact.Blob{}, err)
			return
		}
		err := s.clear(t, time.Now().Add(-artifact.Grace))
		if err == nil {
			err = filepath.WalkDir(s.context(t), func(path string, e fs.DirEntry, err error) error {
				switch {
				case errors.Is(err, fs.ErrNotExist): // removed by another node
					return nil
				case err != nil:
					return err
				case ctx.Err() != nil:
					return ctx.Err()
				case e.IsDir() && (e.Name() == tmp || e.Name() == gone):
					return fs.SkipDir
				case e.IsDir() || artifact.ValidateSum(e.Name()) != nil:
					return nil
				}
				st, err := e.Info()
				if errors.Is(err, fs.ErrNotExist) {
					return nil
				}
				if err != nil {
					return err
				}
				if !yield(artifact.Blob{Sum: e.Name(), Size: st.Size(), At: st.ModTime()}, nil) {
					return fs.SkipAll
				}
				return nil
			})
		}
		if err != nil {
			yield(artifact.Blob{}, said(err))
		}
	}
}

// clear deals with what crashes left before an instant.
func (s *Store) clear(t domain.TenantID, before time.Time) error {
	return errors.Join(
		each(filepath.Join(s.context(t), tmp), before, os.Remove),
		each(filepath.Join(s.context(t), gone), before, func(path string) error {
			if artifact.ValidateSum(filepath.Base(path)) != nil {
				return os.Remove(path)
			}
			return s.back(t, path)
		}))
}

func each(dir string, before time.Time, do func(path string) error) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	errs := []error{err}
	for _, e := range entries {
		if st, err := e.Info(); err == nil && st.ModTime().Before(before) {
			if err := do(filepath.Join(dir, e.Name())); !errors.Is(err, fs.ErrNotExist) {
				errs = append(errs, err)
			}
		}
	}
	return errors.Join(errs...)
}

// back brings back what was moved aside, unless it was put again meanwhile.
func (s *Store) back(t domain.TenantID, aside string) error {
	err := os.Link(aside, s.path(t, filepath.Base(aside)))
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return os.Remove(aside)
}

// Delete implements [artifact.Store]. A blob is moved aside before it is looked at again:
// a Put that comes between makes a new file, which stays, or has just replaced this one,
// which is brought back.
func (s *Store) Delete(_ context.Context, t domain.TenantID, sum string, before time.Time) (bool, error) {
	if err := artifact.ValidateSum(sum); err != nil {
		return false, err
	}
	path, aside := s.path(t, sum), filepath.Join(s.context(t), gone, sum)
	st, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, s.there()
	case err != nil:
		return false, said(err)
	case !st.ModTime().Before(before):
		return false, nil
	}
	if err := s.folder(t, gone); err != nil {
		return false, said(err)
	}
	if err := os.Rename(path, aside); errors.Is(err, fs.ErrNotExist) {
		return false, nil // another node was quicker
	} else if err != nil {
		return false, said(err)
	}
	if st, err := os.Stat(aside); err == nil && !st.ModTime().Before(before) {
		return false, said(s.back(t, aside))
	}
	if err := os.Remove(aside); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, said(err)
	}
	return true, nil
}

// Check implements [artifact.Store].
func (s *Store) Check(context.Context) error {
	if err := s.there(); err != nil {
		return err
	}
	f, err := os.CreateTemp(s.dir, ".check-")
	if err != nil {
		return said(err)
	}
	_, err = f.Write(make([]byte, 4<<10))
	return said(errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name())))
}

// writer and readCloser say which errors are those of the store's disk, not of what is put.
type writer struct{ io.Writer }

func (w writer) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	return n, said(err)
}

type readCloser struct{ io.ReadCloser }

func (r readCloser) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	if err != io.EOF {
		err = said(err)
	}
	return n, err
}

// said is what the system says of the folder as an error of the contract.
func said(err error) error {
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("artifact store: %w: %w", domain.ErrExhausted, err)
	}
	return fmt.Errorf("artifact store: %w: %w", domain.ErrUnavailable, err)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
