package pebbleboard_test

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/pebbleboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// This file changes bytes of logs: what was acknowledged and cannot be read must
// not be missed in silence.

// written makes a board on which so many commits were acknowledged, and returns
// its disk as it is when the process is killed.
func written(t *testing.T, commits int) *vfs.MemFS {
	t.Helper()
	d := &disks{}
	b := d.open(t, vfs.NewCrashableMem())
	for i := range commits {
		if n, err := b.Next(t.Context(), 0, "numbers", 1); err != nil || n != int64(i+1) {
			t.Fatal(n, err)
		}
		text := board.Field{Name: "text", Value: strings.Repeat("x", 10+i*i%700)}
		if err := b.Commit(t.Context(), *(&board.Batch{}).Set("job:"+strconv.Itoa(i), text)); err != nil {
			t.Fatal(err)
		}
	}
	disk := d.cut(b, 0, nil)
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	return disk
}

// logOf is the newest file of the board with a prefix and suffix, and what it holds.
func logOf(t *testing.T, disk *vfs.MemFS, prefix, suffix string) (name string, text []byte) {
	t.Helper()
	names, err := disk.List("board")
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range names {
		if strings.HasPrefix(n, prefix) && strings.HasSuffix(n, suffix) && n > name {
			name = n
		}
	}
	return name, read(t, disk, name)
}

func read(t *testing.T, disk *vfs.MemFS, name string) []byte {
	t.Helper()
	f, err := disk.Open(path.Join("board", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// with is a disk with another text in a file.
func with(t *testing.T, disk *vfs.MemFS, name string, text []byte) *vfs.MemFS {
	t.Helper()
	disk = disk.CrashClone(vfs.CrashCloneCfg{})
	f, err := disk.Create(path.Join("board", name), vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	// The disk spoils what it is given, under the race detector.
	if _, err := f.Write(slices.Clone(text)); err != nil {
		t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		t.Fatal(err)
	}
	dir, err := disk.OpenDir("board")
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := dir.Sync(); err != nil {
		t.Fatal(err)
	}
	return disk
}

// left is how many of the commits of written are there, without a gap; or why the
// board does not open.
func left(t *testing.T, disk *vfs.MemFS, commits int, accept bool) (n int, err error) {
	t.Helper()
	b, err := pebbleboard.Open("board", pebbleboard.Config{FS: disk, AcceptLoss: accept})
	if err != nil {
		return 0, err
	}
	defer b.Close()
	for there := true; n < commits && there; {
		recs, err := b.Get(t.Context(), 0, "job:"+strconv.Itoa(n))
		if err != nil {
			return n, err
		}
		if there = len(recs[0]) > 0; there {
			n++
		}
	}
	for i := n; i < commits; i++ {
		if recs, err := b.Get(t.Context(), 0, "job:"+strconv.Itoa(i)); err != nil || len(recs[0]) > 0 {
			t.Fatalf("job %d is there and job %d is not (%v)", i, n, err)
		}
	}
	return n, nil
}

func TestAChangedByteIsNotMissed(t *testing.T) {
	const commits = 300
	disk := written(t, commits)
	rng := rand.New(rand.NewPCG(1, 2))
	for _, kind := range [][2]string{{"", ".log"}, {"MANIFEST", ""}} {
		name, text := logOf(t, disk, kind[0], kind[1])
		step := max(1, len(text)/watched.Rounds(400, 40))
		refused := 0
		for at := 0; at < len(text); at += 1 + rng.IntN(step) {
			changed := []byte(string(text))
			changed[at] ^= byte(1 << rng.IntN(8))
			disk := with(t, disk, name, changed)
			if pebbleboard.CheckLogs(disk, "board") != nil {
				refused++
				continue // Open refuses it: see below
			}
			if n, err := left(t, disk, commits, false); err == nil && n != commits {
				t.Errorf("%s: with byte %d of %d changed, %d of %d commits are there and nobody says so", name, at, len(text), n, commits)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no change was seen", name)
		}
	}
}

// TestAChangedByteBeforeTheLastWritesIsDamage, whatever it is changed to, and also
// where it says how long a piece is: those behind it in the same block are found,
// and say how far the log was on the disk.
func TestAChangedByteBeforeTheLastWritesIsDamage(t *testing.T) {
	const commits = 300
	disk := written(t, commits)
	name, text := logOf(t, disk, "", ".log")
	rng := rand.New(rand.NewPCG(5, 6))
	last := len(text) - 10*len(text)/commits
	for at := max(0, last-watched.Rounds(900, 90)); at < last; at++ {
		changed := []byte(string(text))
		changed[at] ^= byte(1 + rng.IntN(255))
		if pebbleboard.CheckLogs(with(t, disk, name, changed), "board") != nil {
			continue
		}
		if n, err := left(t, with(t, disk, name, changed), commits, false); err == nil && n != commits {
			t.Errorf("with byte %d of %d changed from %02x to %02x, %d of %d commits are there and nobody says so",
				at, len(text), text[at], changed[at], n, commits)
		}
	}
}

// TestNoChangedByteAtTheEndIsMissed changes each byte of the last records, to each kind
// of other: what was acknowledged just before a kill is not known to be on the disk by
// what follows it, or has nothing behind it.
func TestNoChangedByteAtTheEndIsMissed(t *testing.T) {
	const commits = 24
	disk := written(t, commits)
	name, text := logOf(t, disk, "", ".log")
	for at := max(0, len(text)-watched.Rounds(3000, 150)); at < len(text); at++ {
		for _, by := range []byte{0x01, 0x41, 0xff} {
			changed := slices.Clone(text)
			changed[at] ^= by
			if pebbleboard.CheckLogs(with(t, disk, name, changed), "board") != nil {
				continue
			}
			if n, err := left(t, with(t, disk, name, changed), commits, false); err == nil && n != commits {
				t.Errorf("with byte %d of %d changed by %02x, %d of %d commits are there and nobody says so", at, len(text), by, n, commits)
			}
		}
	}
}

// TestManyChangedBytesBeforeTheLastRecordAreDamage, though what follows may not know
// that they were on the disk.
func TestManyChangedBytesBeforeTheLastRecordAreDamage(t *testing.T) {
	const commits = 24
	disk := written(t, commits)
	name, text := logOf(t, disk, "", ".log")
	for back := 2; back < 6; back++ {
		at := bytes.LastIndex(text, []byte("job:"+strconv.Itoa(commits-back)))
		changed := slices.Clone(text)
		for i := range changed[at : at+20] {
			changed[at+i] ^= 0x5a
		}
		if err := pebbleboard.CheckLogs(with(t, disk, name, changed), "board"); err == nil {
			t.Errorf("the last but %d of the commits is damaged, and nobody says so", back-1)
		}
	}
}

// TestAnEndThatWasCutShortIsNoDamage has logs as a power cut leaves them.
func TestAnEndThatWasCutShortIsNoDamage(t *testing.T) {
	const commits = 300
	disk := written(t, commits)
	name, text := logOf(t, disk, "", ".log")
	rng := rand.New(rand.NewPCG(3, 4))
	for at := 0; at < len(text); at += 1 + rng.IntN(len(text)/50) {
		cut := []byte(string(text[:at]))
		switch rng.IntN(3) {
		case 0: // the file is longer than what was written
			cut = append(cut, make([]byte, len(text)-at)...)
		case 1: // and what is behind it was another log
			cut = append(cut, strings.Repeat("what another log had here ", 1+(len(text)-at)/26)...)
		}
		if err := pebbleboard.CheckLogs(with(t, disk, name, cut), "board"); err != nil {
			t.Errorf("cut at %d of %d: got %v", at, len(text), err)
		}
	}
}

func TestWhatIsLostIsListed(t *testing.T) {
	const commits = 300
	disk := written(t, commits)
	name, text := logOf(t, disk, "", ".log")
	text[len(text)/2] ^= 1
	disk = with(t, disk, name, text)
	if _, err := left(t, disk, commits, false); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "--accept-loss") {
		t.Fatalf("got %v, want an error that says how to go on", err)
	}
	n, err := left(t, disk, commits, true)
	if err != nil || n == 0 || n == commits {
		t.Fatalf("%d commits are there, %v; want those before the damage", n, err)
	}
	listed(t, disk, n, commits)
	if next := nextNumber(t, disk); next <= commits {
		t.Errorf("number %d is given out; %d were", next, commits)
	}
	if again, err := left(t, disk, commits, false); err != nil || again != n {
		t.Errorf("opened again: %d commits, %v, want %d", again, err, n)
	}
}

// listed checks that what is lost of the commits is listed in one of the folders
// that are kept aside.
func listed(t *testing.T, disk *vfs.MemFS, left, commits int) {
	t.Helper()
	names, err := disk.List("board")
	if err != nil {
		t.Fatal(err)
	}
	var missing string
	for _, name := range slices.Backward(slices.Sorted(slices.Values(names))) {
		if !strings.HasPrefix(name, "damaged-") {
			continue
		}
		missing = ""
		list := string(read(t, disk, path.Join(name, "lost.txt")))
		for i := left + 1; i < commits; i++ { // that with the damage itself cannot be read
			if want := fmt.Sprintf("0 \"job:%d\"\n", i); !strings.Contains(list, want) {
				missing = want
				break
			}
		}
		break
	}
	if missing != "" {
		t.Errorf("%s is not listed", missing)
	}
}

func nextNumber(t *testing.T, disk vfs.FS) int64 {
	t.Helper()
	b, err := pebbleboard.Open("board", pebbleboard.Config{FS: disk, AcceptLoss: true})
	if err != nil {
		t.Fatal(err)
	}
	next, err := b.Next(t.Context(), 0, "numbers", 1)
	if err != nil {
		t.Fatal(err)
	}
	recs, err := b.Get(t.Context(), 0, board.EpochKey)
	if err := cmp.Or(err, b.Close()); err != nil {
		t.Fatal(err)
	}
	if e := board.EpochOf(recs[0]); e.Number < 1 || e.Since.IsZero() || !strings.Contains(e.Cause, "damaged-") {
		t.Errorf("got epoch %+v after a loss, want a new one that says why", e)
	}
	return next
}

// TestAcceptedLossMayBeCutShort kills the process, or cuts the power, before each
// write of the start that gives up what is lost, and starts it again.
func TestAcceptedLossMayBeCutShort(t *testing.T) {
	const commits = 60
	whole := written(t, commits)
	name, text := logOf(t, whole, "", ".log")
	text[len(text)/2] ^= 1
	for _, kept := range []int{0, 100} { // percent of what was written and not synced
		disk := with(t, whole, name, text)
		var killed []*vfs.MemFS
		var mu sync.Mutex
		b, err := pebbleboard.Open("board", pebbleboard.Config{AcceptLoss: true, FS: errorfs.Wrap(disk, errorfs.InjectorFunc(func(op errorfs.Op) error {
			if op.Kind.ReadOrWrite() == errorfs.OpIsWrite {
				mu.Lock()
				defer mu.Unlock()
				killed = append(killed, disk.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: kept, RNG: rand.New(rand.NewPCG(1, 2))}))
			}
			return nil
		}))})
		if err != nil {
			t.Fatal(err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		want := -1
		for i, disk := range killed {
			next := nextNumber(t, disk)
			n, err := left(t, disk, commits, true)
			if want < 0 {
				want = n
			}
			if err != nil || n != want || next <= commits {
				t.Fatalf("killed before write %d of %d: %d commits are there, %v, and number %d is given out; want %d, none, above %d",
					i, len(killed), n, err, next, want, commits)
			}
			listed(t, disk, n, commits)
		}
	}
}
