package backup_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/postgresarchive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/postgrestest"
	"github.com/ramet-run/ramet/layout"
)

// opened opens an archive by the name of its place, made anew where that is said and it can be.
type opened func(ctx context.Context, place string, anew bool) (archive.Archive, error)

func archives() map[string]func(t *testing.T) opened {
	return map[string]func(t *testing.T) opened{
		"SQLite": func(t *testing.T) opened {
			dir := t.TempDir()
			return func(ctx context.Context, place string, anew bool) (archive.Archive, error) {
				file := filepath.Join(dir, place+".db")
				if anew {
					for _, side := range []string{"", "-wal", "-shm"} {
						_ = os.Remove(file + side)
					}
				}
				return sqlitearchive.Open(ctx, file, sqlitearchive.Config{})
			}
		},
		"PostgreSQL": func(t *testing.T) opened {
			s := postgrestest.Start(t)
			return func(_ context.Context, place string, _ bool) (archive.Archive, error) {
				return postgresarchive.Open(s.URL() + "&schema=" + place)
			}
		},
	}
}

// ended is the record of a job that ended.
func ended(t *testing.T, id domain.JobID) archive.Record {
	t.Helper()
	r, err := archive.OfJob(7, &domain.Job{ID: id, CallerID: 1, ContextID: 7, Script: "exit", ScriptType: "shell", Status: domain.JobFinished,
		CreatedAt: 1, FinishedMs: 1000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// at opens the archive of a place for the length of a call.
func (o opened) at(t *testing.T, place string, do func(a archive.Archive) error) {
	t.Helper()
	a, err := o(t.Context(), place, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(do(a), a.Close()); err != nil {
		t.Fatal(err)
	}
}

// keys are those of the records of an archive, and what its marks say of who fills it and whose it is.
func (o opened) keys(t *testing.T, place string) (keys []string, marks map[string]string) {
	t.Helper()
	o.at(t, place, func(a archive.Archive) error {
		s, err := a.Snapshot(t.Context())
		if err != nil {
			return err
		}
		err = s.Records(t.Context(), func(r archive.Record) error { keys = append(keys, r.Key); return nil })
		if err = errors.Join(err, s.Close()); err != nil {
			return err
		}
		marks, err = a.Marks(t.Context())
		return err
	})
	maps.DeleteFunc(marks, func(_, value string) bool { return value == "" })
	return keys, marks
}

// kept is a backup of a board and its archive, which has the jobs 1 and 2 of context 7.
func kept(t *testing.T, o opened, files map[string]string) []byte {
	t.Helper()
	src, dir := memboard.Open(), t.TempDir()
	living(t, src)
	source := backup.Source{Board: src, Folder: dir}
	for name, text := range files {
		source.Names = append(source.Names, name)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var text bytes.Buffer
	o.at(t, "source", func(a archive.Archive) error {
		if err := a.Put(t.Context(), []archive.Record{ended(t, 1), ended(t, 2)}); err != nil {
			return err
		}
		source.Archive = a
		_, err := backup.Write(t.Context(), &text, source)
		return err
	})
	return text.Bytes()
}

// TestAnArchiveOfOthersIsNotLost: that a board is half says nothing of the archive that is named for the rest of it.
// What this restore has begun to fill is filled again; another one stays as it is, unless what it has may go.
func TestAnArchiveOfOthersIsNotLost(t *testing.T) {
	for driver, open := range archives() {
		t.Run(driver, func(t *testing.T) {
			o := open(t)
			text := kept(t, o, nil)
			o.at(t, "theirs", func(a archive.Archive) error {
				_, err := a.Mark(t.Context(), "board", "", "B9")
				return errors.Join(a.Put(t.Context(), []archive.Record{ended(t, 5)}), err)
			})
			o.at(t, "paired", func(a archive.Archive) error {
				_, err := a.Mark(t.Context(), "board", "", "B9")
				return err
			})
			dst := memboard.Open()
			restore := func(b board.Board, place string, over bool) error {
				_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: b, Overwrite: over,
					Archive: func(ctx context.Context, anew bool) (archive.Archive, error) { return o(ctx, place, anew) }})
				return err
			}
			if err := restore(&failing{Board: dst, last: true}, "mine", false); !errors.Is(err, errLast) {
				t.Fatalf("got %v", err)
			}
			half, _, err := dst.Keys(t.Context(), 7, "", "", 1000)
			if err != nil || len(half) == 0 {
				t.Fatalf("half the board has %d keys, %v", len(half), err)
			}
			for _, place := range []string{"theirs", "paired"} {
				keys, marks := o.keys(t, place)
				for range 2 {
					if err := restore(dst, place, false); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "--archive") ||
						!strings.Contains(err.Error(), "--overwrite") {
						t.Fatalf("over the archive of others: got %v", err)
					}
				}
				got, gotMarks := o.keys(t, place)
				if diff := cmp.Diff(keys, got) + cmp.Diff(marks, gotMarks); diff != "" {
					t.Errorf("the archive of others has changed: %s", diff)
				}
			}
			if now, _, err := dst.Keys(t.Context(), 7, "", "", 1000); err != nil || !cmp.Equal(half, now) {
				t.Errorf("the board has %d keys, %v; want the %d that it had", len(now), err, len(half))
			}
			if err := restore(dst, "mine", false); err != nil {
				t.Fatalf("the same again: %v", err)
			}
			keys, marks := o.keys(t, "mine")
			if diff := cmp.Diff([]string{"job:1:1", "job:1:2"}, keys) + cmp.Diff(map[string]string{"board": "B1", "step": "4"}, marks); diff != "" {
				t.Error(diff)
			}
			if err := restore(dst, "theirs", true); err != nil {
				t.Fatal(err)
			}
			if keys, _ := o.keys(t, "theirs"); !cmp.Equal([]string{"job:1:1", "job:1:2"}, keys) {
				t.Errorf("over the archive of others: it has %q", keys)
			}
		})
	}
}

// TestAnArchiveThatWasHalfFilledGoes: with what it has of another backup than the one that is restored then, though a
// driver cannot make it anew.
func TestAnArchiveThatWasHalfFilledGoes(t *testing.T) {
	for driver, open := range archives() {
		t.Run(driver, func(t *testing.T) {
			o, dst := open(t), memboard.Open()
			first := kept(t, o, nil)
			o.at(t, "source", func(a archive.Archive) error { return a.Put(t.Context(), []archive.Record{ended(t, 3)}) })
			second := kept(t, o, nil)
			restore := func(b board.Board, text []byte) error {
				_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: b,
					Archive: func(ctx context.Context, anew bool) (archive.Archive, error) { return o(ctx, "mine", anew) }})
				return err
			}
			if err := restore(&failing{Board: dst, last: true}, second); !errors.Is(err, errLast) {
				t.Fatalf("got %v", err)
			}
			if keys, _ := o.keys(t, "mine"); len(keys) != 3 {
				t.Fatalf("got %q", keys)
			}
			if err := restore(dst, first); err != nil {
				t.Fatal(err)
			}
			if keys, _ := o.keys(t, "mine"); !cmp.Equal([]string{"job:1:1", "job:1:2"}, keys) {
				t.Errorf("got %q", keys)
			}
		})
	}
}

// TestFilesOfOthersAreNotLost: nor are keys and streams that lie in the folder named for the rest of half a board.
func TestFilesOfOthersAreNotLost(t *testing.T) {
	o := archives()["SQLite"](t)
	text := kept(t, o, map[string]string{"node.key": "mine", "bus.key": "mine, too"})
	other := kept(t, o, map[string]string{"node.key": "mine, but of another day"})
	dst, mine := memboard.Open(), t.TempDir()
	restore := func(b board.Board, text []byte, folder string, over bool) error {
		_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: b, Folder: folder, Overwrite: over, NoArchive: true})
		return err
	}
	read := func(folder, name string) string {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return err.Error()
		}
		return string(text)
	}
	if err := restore(&failing{Board: dst, last: true}, text, mine, false); !errors.Is(err, errLast) {
		t.Fatalf("got %v", err)
	}
	theirs := t.TempDir()
	if err := os.WriteFile(filepath.Join(theirs, "node.key"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := restore(dst, text, theirs, false); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "node.key") ||
			!strings.Contains(err.Error(), "--overwrite") {
			t.Fatalf("over keys of others: got %v", err)
		}
	}
	if list, err := os.ReadDir(theirs); err != nil || len(list) != 1 || read(theirs, "node.key") != "theirs" {
		t.Errorf("the folder of others has changed: %v, %q, %v", list, read(theirs, "node.key"), err)
	}
	// A key that was put there since is nobody's to lose, though the restore has written one of that name.
	if err := os.WriteFile(filepath.Join(mine, "node.key"), []byte("theirs"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := restore(dst, text, mine, false); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("over a key that came since: got %v", err)
	}
	if err := os.WriteFile(filepath.Join(mine, "node.key"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Its own it does lose, also to another backup.
	if err := restore(dst, other, mine, false); err != nil || read(mine, "node.key") != "mine, but of another day" {
		t.Errorf("over its own keys: %q, %v", read(mine, "node.key"), err)
	}
	if err := restore(memboard.Open(), text, theirs, true); err != nil || read(theirs, "node.key") != "mine" {
		t.Errorf("over keys of others that may go: %q, %v", read(theirs, "node.key"), err)
	}
}

// dying is a board that takes so many changes, and none after.
type dying struct {
	board.Board
	left int
}

var errDied = errors.New("killed")

func (d *dying) change() error {
	if d.left--; d.left < 0 {
		return errDied
	}
	return nil
}

func (d *dying) Commit(ctx context.Context, b board.Batch) error {
	if err := d.change(); err != nil {
		return err
	}
	return d.Board.Commit(ctx, b)
}

func (d *dying) CommitEach(ctx context.Context, batches []board.Batch) []error {
	if err := d.change(); err != nil {
		return []error{err}
	}
	return d.Board.CommitEach(ctx, batches)
}

func (d *dying) Claim(ctx context.Context, a board.Ask) ([]board.Claimed, error) {
	if err := d.change(); err != nil {
		return nil, err
	}
	return d.Board.Claim(ctx, a)
}

func (d *dying) Void(ctx context.Context, owner string) error {
	if err := d.change(); err != nil {
		return err
	}
	return d.Board.Void(ctx, owner)
}

func (d *dying) Next(ctx context.Context, s board.Space, key string, n int) (int64, error) {
	if err := d.change(); err != nil {
		return 0, err
	}
	return d.Board.Next(ctx, s, key, n)
}

// TestARestoreThatBreaksOffAnywhereIsRepeated: before each change of the board once, on what the one before has left.
func TestARestoreThatBreaksOffAnywhereIsRepeated(t *testing.T) {
	o := archives()["SQLite"](t)
	text := kept(t, o, map[string]string{"node.key": "mine"})
	dst, folder := memboard.Open(), t.TempDir()
	restore := func(b board.Board) error {
		_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: b, Folder: folder,
			Archive: func(ctx context.Context, anew bool) (archive.Archive, error) { return o(ctx, "mine", anew) }})
		return err
	}
	whole := func() bool {
		recs, err := dst.Get(t.Context(), 0, layout.Identity, layout.Restoring)
		if err != nil {
			t.Fatal(err)
		}
		return recs[0] != nil && recs[1] == nil
	}
	n := 0
	for ; !whole(); n++ {
		if err := restore(&dying{Board: dst, left: n}); !errors.Is(err, errDied) {
			t.Fatalf("after %d changes: got %v", n, err)
		}
	}
	if n < 10 {
		t.Errorf("it was whole after %d changes", n)
	}
	if err := restore(dst); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "had come to its end") {
		t.Errorf("once more: got %v", err)
	}
	lapsed(t, dst)
	if keys, _ := o.keys(t, "mine"); !cmp.Equal([]string{"job:1:1", "job:1:2"}, keys) {
		t.Errorf("the archive has %q", keys)
	}
}
