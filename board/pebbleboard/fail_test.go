package pebbleboard_test

import (
	"crypto/rand"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
)

// failing is a disk on which, once it is on, some operations fail.
type failing struct {
	on   atomic.Bool
	err  error
	hits func(op errorfs.Op) bool
}

func (f *failing) String() string { return "failing" }

func (f *failing) MaybeError(op errorfs.Op) error {
	if f.on.Load() && f.hits(op) {
		return f.err
	}
	return nil
}

func writesTo(suffix string, kinds ...errorfs.OpKind) func(errorfs.Op) bool {
	return func(op errorfs.Op) bool {
		if !strings.Contains(filepath.Base(op.Path), suffix) {
			return false
		}
		for _, k := range kinds {
			if op.Kind == k {
				return true
			}
		}
		return false
	}
}

// TestDiskFails writes until the disk fails in one way or another. Whoever
// waits and whoever comes later is told so, in words; nothing panics, nothing
// hangs, and what was acknowledged is there when the disk is well again.
func TestDiskFails(t *testing.T) {
	logged := []errorfs.OpKind{errorfs.OpFileWrite, errorfs.OpFileSync, errorfs.OpFileSyncData, errorfs.OpFileSyncTo}
	made := []errorfs.OpKind{errorfs.OpCreate, errorfs.OpReuseForWrite}
	for _, c := range []struct {
		name string
		disk *failing
		want string
	}{
		{"the log cannot grow on a full disk", &failing{err: syscall.ENOSPC, hits: writesTo(".log", logged...)}, "is full: free some space"},
		{"the log cannot be written", &failing{err: syscall.EIO, hits: writesTo(".log", logged...)}, "cannot be written: "},
		{"no new log can be made", &failing{err: syscall.ENOSPC, hits: writesTo(".log", made...)}, "is full: free some space"},
		{"no table can be made", &failing{err: syscall.ENOSPC, hits: writesTo(".sst", made...)}, "is full: free some space"},
		{"the manifest cannot be written", &failing{err: syscall.EIO, hits: writesTo("MANIFEST", logged...)}, "cannot be written: "},
		{"the disk turns read-only", &failing{err: syscall.EROFS, hits: func(op errorfs.Op) bool {
			return op.Kind.ReadOrWrite() == errorfs.OpIsWrite
		}}, "is on a read-only disk"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			failDisk(t, c.disk, c.want)
		})
	}
}

func failDisk(t *testing.T, f *failing, want string) {
	mem := vfs.NewCrashableMem()
	fatal := make(chan error, 1)
	b, err := pebbleboard.Open("board", pebbleboard.Config{FS: errorfs.Wrap(mem, f), Fatal: func(err error) { fatal <- err }})
	if err != nil {
		t.Fatal(err)
	}
	waiting := make(chan error, 2)
	go func() {
		_, err := b.Claim(t.Context(), board.Ask{Queues: []board.Queue{{Lists: []string{"queue:none"}}}, Max: 1, Owner: "me", Lease: time.Minute, Wait: time.Hour})
		waiting <- err
	}()
	go func() {
		_, err := b.Due(t.Context(), 1, time.Hour)
		waiting <- err
	}()
	big := strings.Repeat("x", board.MaxField)
	acked := 0
	for ; err == nil && acked < 400; acked++ {
		f.on.Store(acked >= 3)
		err = b.Commit(t.Context(), *(&board.Batch{}).Set("n", board.Field{Name: "n", Value: strconv.Itoa(acked + 1)}, board.Field{Name: "big", Value: big}))
	}
	acked--
	check := func(what string, err error) {
		t.Helper()
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %v, want one line of kind unavailable with %q", what, err, want)
		}
	}
	check("commit", err)
	check("waiting claim or due", <-waiting)
	check("waiting claim or due", <-waiting)
	check("callback", <-fatal)
	check("later commit", b.Commit(t.Context(), *(&board.Batch{}).Delete("n")))
	_, err = b.Get(t.Context(), 0, "n")
	check("later read", err)
	_, _, err = b.LeaseOf(t.Context(), 0, "n")
	check("later question", err)
	check("close", b.Close())

	f.on.Store(false)
	again, err := pebbleboard.Open("board", pebbleboard.Config{FS: mem.CrashClone(vfs.CrashCloneCfg{})})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	recs, err := again.Get(t.Context(), 0, "n")
	if err != nil {
		t.Fatal(err)
	}
	if n, _ := strconv.Atoi(recs[0].Get("n")); n < acked || acked < 3 {
		t.Errorf("number %d is there, %d were acknowledged", n, acked)
	}
}

// TestOpenOnFullDisk opens a folder whose log cannot be worked off: the store
// would try for ever.
func TestOpenOnFullDisk(t *testing.T) {
	d := &disks{}
	b := d.open(t, vfs.NewCrashableMem())
	if err := b.Commit(t.Context(), *(&board.Batch{}).Set("n", board.Field{Name: "n", Value: "1"})); err != nil {
		t.Fatal(err)
	}
	full := &failing{err: syscall.ENOSPC, hits: writesTo(".sst", errorfs.OpCreate)}
	full.on.Store(true)
	_, err := pebbleboard.Open("board", pebbleboard.Config{FS: errorfs.Wrap(d.cut(b, 0, nil), full)})
	if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "is full: free some space") {
		t.Errorf("open: got %v, want it to say that the disk is full", err)
	}
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}

func openFails(t *testing.T, dir string, kind error, wants ...string) {
	t.Helper()
	b, err := pebbleboard.Open(dir, pebbleboard.Config{})
	if err == nil {
		b.Close()
	}
	if !errors.Is(err, kind) {
		t.Fatalf("open: got %v, want one of kind %v", err, kind)
	}
	for _, want := range append(wants, dir) {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("open: got %q, want it to say %q", err, want)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("open: got more than one line: %q", err)
	}
}

func TestFolderInUse(t *testing.T) {
	dir := t.TempDir()
	b := openDir(t, dir)
	openFails(t, dir, domain.ErrUnavailable, "is open in this process already")
	owner := filepath.Join(dir, "owner")
	if err := os.WriteFile(owner, []byte("4711\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	openFails(t, dir, domain.ErrConflict, "is in use by another ramet process (pid 4711): stop that one")
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	if err := openDir(t, dir).Close(); err != nil {
		t.Fatal(err)
	}
}

func TestFolderOfAnotherProgram(t *testing.T) {
	dir := t.TempDir()
	db, err := pebble.Open(dir, &pebble.Options{Logger: quiet{}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(db.Set([]byte("a"), []byte("b"), pebble.Sync), db.Close()); err != nil {
		t.Fatal(err)
	}
	openFails(t, dir, domain.ErrInvalid, "another program's data")
}

type quiet struct{}

func (quiet) Infof(string, ...any)  {}
func (quiet) Errorf(string, ...any) {}
func (quiet) Fatalf(string, ...any) {}

// TestDamagedFolder overwrites each file of a folder in turn. Opening it says
// so, or the file was not needed; reading what was in it says so or is right.
func TestDamagedFolder(t *testing.T) {
	whole := t.TempDir()
	b := openDir(t, whole)
	for i := range 500 {
		key := "job:" + strconv.Itoa(i)
		if err := b.Commit(t.Context(), *(&board.Batch{Space: 1}).Set(key, board.Field{Name: "script", Value: strings.Repeat(key, 20)}).
			PushLeft("queue:v", key)); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	files, err := os.ReadDir(whole)
	if err != nil {
		t.Fatal(err)
	}
	told := 0
	for _, f := range files {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		damage(t, filepath.Join(dir, f.Name()))
		b, err := pebbleboard.Open(dir, pebbleboard.Config{})
		if err == nil {
			_, err = b.Get(t.Context(), 1, "job:7")
			b.Close()
		}
		if err == nil {
			continue
		}
		told++
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: got %q, want one line of kind unavailable that names the folder", f.Name(), err)
		}
	}
	if told == 0 {
		t.Error("no damaged file was noticed")
	}
}

// TestDamagedTable changes one byte somewhere in one of the tables of a folder,
// which are read when somebody asks, and in the background. Who reads what is
// damaged is told which file is, and nothing falls apart.
func TestDamagedTable(t *testing.T) {
	whole := t.TempDir()
	const lives, commits = 4, 60
	for range lives { // each but the last leaves a table; with that of the last, which the next makes, they are merged
		b := openDir(t, whole)
		for i := range commits {
			text := board.Field{Name: "script", Value: rand.Text() + strings.Repeat("x", 1000)}
			if err := b.Commit(t.Context(), *(&board.Batch{Space: 1}).Set("job:"+strconv.Itoa(i), text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	tables, err := filepath.Glob(filepath.Join(whole, "*.sst"))
	if err != nil || len(tables) < 2 {
		t.Fatalf("there are the tables %v (%v), want several", tables, err)
	}
	told := 0
	for i := range 30 {
		dir, name := t.TempDir(), filepath.Base(tables[i%len(tables)])
		if err := os.CopyFS(dir, os.DirFS(whole)); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		text[i*(len(text)-1)/30] ^= 0x5a
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := pebbleboard.Open(dir, pebbleboard.Config{})
		if err == nil {
			for n := 0; n < commits && err == nil; n++ {
				_, err = b.Get(t.Context(), 1, "job:"+strconv.Itoa(n))
			}
			b.Close()
		}
		if err == nil {
			continue
		}
		told++
		if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %q, want one line of kind unavailable that names %s", err, name)
		}
	}
	if told == 0 {
		t.Error("no damage was noticed")
	}
}

func damage(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] ^= 0x5a
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCheckpoint(t *testing.T) {
	b := openDir(t, t.TempDir())
	defer b.Close()
	if err := b.Commit(t.Context(), *(&board.Batch{Space: 1}).Set("a", board.Field{Name: "b", Value: "c"})); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "copy")
	if err := b.Checkpoint(dir); err != nil {
		t.Fatal(err)
	}
	if err := b.Checkpoint(dir); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("copy over a folder that exists: got %v", err)
	}
	again := openDir(t, dir)
	defer again.Close()
	if recs, err := again.Get(t.Context(), 1, "a"); err != nil || recs[0].Get("b") != "c" {
		t.Errorf("got %v, %v from the copy", recs, err)
	}
}

func openDir(t *testing.T, dir string) *pebbleboard.Board {
	t.Helper()
	b, err := pebbleboard.Open(dir, pebbleboard.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return b
}
