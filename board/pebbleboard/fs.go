package pebbleboard

import "github.com/cockroachdb/pebble/v2/vfs"

// guardFS is the disk as the store sees it. A write that fails never comes
// back to the store: in half of the places where Pebble writes its logs it
// answers an error with a panic that nobody can recover from (it unlocks a
// mutex twice). Instead the board stops, everybody is told, and the goroutine
// that met the error stands still until the process ends.
type guardFS struct {
	vfs.FS
	b *Board
}

// check lets nobody pass who brings an error, once the board is open or has
// stopped.
func (fs guardFS) check(err error) error {
	if err != nil && (fs.b.running.Load() || fs.b.stopped()) {
		fs.b.fail(err)
		select {}
	}
	return err
}

func (fs guardFS) wrap(f vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, fs.check(err)
	}
	return guardFile{f, fs}, nil
}

// own reports whether a file lies in the board's folder itself: one written
// elsewhere belongs to a copy.
func (fs guardFS) own(name string) bool { return fs.PathDir(name) == fs.b.dir }

func (fs guardFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	if !fs.own(name) {
		return fs.FS.Create(name, c)
	}
	return fs.wrap(fs.FS.Create(name, c))
}

func (fs guardFS) ReuseForWrite(old, name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	return fs.wrap(fs.FS.ReuseForWrite(old, name, c))
}

func (fs guardFS) OpenDir(name string) (vfs.File, error) {
	f, err := fs.FS.OpenDir(name)
	if err != nil || name != fs.b.dir {
		return f, err
	}
	return guardFile{f, fs}, nil
}

func (fs guardFS) Rename(old, name string) error {
	err := fs.FS.Rename(old, name)
	if !fs.own(name) {
		return err
	}
	return fs.check(err)
}

// Unwrap hides the inner disk: what the store finds there by itself would not
// be guarded.
func (fs guardFS) Unwrap() vfs.FS { return nil }

// guardFile is a file whose writes do not fail, or never return.
type guardFile struct {
	vfs.File
	fs guardFS
}

func (f guardFile) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	return n, f.fs.check(err)
}

func (f guardFile) WriteAt(p []byte, off int64) (int, error) {
	n, err := f.File.WriteAt(p, off)
	return n, f.fs.check(err)
}

func (f guardFile) Sync() error     { return f.fs.check(f.File.Sync()) }
func (f guardFile) SyncData() error { return f.fs.check(f.File.SyncData()) }

func (f guardFile) SyncTo(length int64) (bool, error) {
	full, err := f.File.SyncTo(length)
	return full, f.fs.check(err)
}

func (f guardFile) Close() error { return f.fs.check(f.File.Close()) }
