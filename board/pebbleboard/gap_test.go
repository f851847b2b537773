package pebbleboard_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// restarted is the disk of a board that was opened so often, with commits in each
// life, as it is when the process is killed: each start has written a table, and its
// list of files anew.
func restarted(t *testing.T, lives, commits int) (disk *vfs.MemFS) {
	t.Helper()
	d, all := &disks{}, vfs.NewCrashableMem()
	for life := range lives {
		b := d.open(t, all)
		for i := range commits {
			text := board.Field{Name: "text", Value: strings.Repeat("x", 10+i*i%700)}
			if err := b.Commit(t.Context(), *(&board.Batch{}).Set("job:"+strconv.Itoa(life*commits+i), text)); err != nil {
				t.Fatal(err)
			}
		}
		disk = d.cut(b, 0, nil)
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return disk
}

// there counts the commits that are there.
func there(t *testing.T, disk *vfs.MemFS, commits int, accept bool) (n int, err error) {
	t.Helper()
	b, err := pebbleboard.Open("board", pebbleboard.Config{FS: disk, AcceptLoss: accept})
	if err != nil {
		return 0, err
	}
	defer b.Close()
	for i := range commits {
		recs, err := b.Get(t.Context(), 0, "job:"+strconv.Itoa(i))
		if err != nil {
			return n, err
		}
		if len(recs[0]) > 0 {
			n++
		}
	}
	return n, nil
}

// TestNoFileIsMissedInSilence changes, cuts and takes away each file of a board. What
// was acknowledged is there, or the board is refused or stops. Of the newest log alone
// the end is what a power cut may have left.
func TestNoFileIsMissedInSilence(t *testing.T) {
	const lives, commits = 3, 40
	disk := restarted(t, lives, commits)
	names, err := disk.List("board")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	want := func(disk *vfs.MemFS, name, what string, at int) {
		t.Helper()
		if n, err := there(t, disk, lives*commits, false); err == nil && n != lives*commits {
			t.Errorf("%s, %s at %d: %d of %d commits are there and nobody says so", name, what, at, n, lives*commits)
		} else if err != nil && !errors.Is(err, domain.ErrUnavailable) && !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s, %s at %d: got %v", name, what, at, err)
		}
	}
	for _, name := range names {
		if strings.HasSuffix(name, ".log") || name == "LOCK" {
			continue
		}
		gone := disk.CrashClone(vfs.CrashCloneCfg{})
		if err := gone.Remove(path.Join("board", name)); err != nil {
			t.Fatal(err)
		}
		want(gone, name, "removed", 0)
		text := read(t, disk, name)
		for at := 0; at < len(text); at += 1 + rng.IntN(1+len(text)/watched.Rounds(25, 5)) {
			want(with(t, disk, name, text[:at]), name, "cut", at)
			changed := bytes.Clone(text)
			for i := range changed[at:min(at+1+rng.IntN(16), len(text))] {
				changed[at+i] ^= byte(1 + rng.IntN(255))
			}
			want(with(t, disk, name, changed), name, "changed", at)
		}
	}
}

// TestWritesThatAreMissingMayBeGivenUp cuts the list of files so that it does not have
// the table of the second life.
func TestWritesThatAreMissingMayBeGivenUp(t *testing.T) {
	const lives, commits = 3, 40
	for range 20 {
		whole := restarted(t, lives, commits)
		name, text := logOf(t, whole, "MANIFEST", "")
		var disk *vfs.MemFS
		var err error
		for at := len(text) - 1; err == nil && at > 0; at-- { // what was compacted last may be missing: then there is still what it was made of
			disk = with(t, whole, name, text[:at])
			err = pebbleboard.CheckLogs(disk, "board")
		}
		if _, err := there(t, disk, lives*commits, false); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), name) ||
			!strings.Contains(err.Error(), "--accept-loss") {
			t.Fatalf("got %v, want a refusal that names %s", err, name)
		}
		n, err := there(t, disk, lives*commits, true)
		if n == lives*commits || err != nil && strings.Contains(err.Error(), "restore it from a backup") {
			continue // the store, which clears away in its own time, had not yet, or had already what the older MANIFEST names: another board
		}
		for i := 1; ; i++ {
			if err != nil || n < commits {
				t.Errorf("start %d: %d commits are there, %v, want some", i, n, err)
			}
			if i == 2 {
				return
			}
			n, err = there(t, disk, lives*commits, false)
		}
	}
	t.Fatal("the store cleared away what was wanted each time")
}
