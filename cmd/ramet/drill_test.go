package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// This file puts older copies of a board or its archive back, as somebody does who
// restores a part of a data folder.

// life is one of a node with a board and an archive in a folder.
type life struct {
	*testing.T
	dir   string
	board board.Board
	store archive.Archive
	pair  *clockwork.Pairing
}

// begin opens both as a node that stays does.
func begin(t *testing.T, dir string, accept bool) (l life, err error) {
	t.Helper()
	return beginOn(t, options{dataDir: dir, serve: true, acceptLoss: accept, log: quiet()})
}

func beginOn(t *testing.T, o options) (l life, err error) {
	t.Helper()
	l = life{T: t, dir: o.dataDir}
	if l.board, err = openBoard(t.Context(), o); err != nil {
		return l, err
	}
	if l.store, _, l.pair, err = openArchive(t.Context(), l.board, o); err != nil {
		return l, cmp.Or(l.board.Close(), err)
	}
	return l, nil
}

// work ends jobs with new numbers and archives them, and ends the life.
func (l life) work(jobs int) (last int64) {
	l.Helper()
	last = l.jobs(jobs)
	if l.store != nil {
		ctx, cancel := context.WithCancel(l.Context())
		cancel() // it ends as it begins: a step each
		for range 2 {
			if err := l.pair.Run(ctx); err != nil {
				l.Fatal(err)
			}
		}
	}
	l.end()
	return last
}

// end ends the life without a last step, as a kill does.
func (l life) end() {
	l.Helper()
	if l.store != nil {
		if err := l.store.Close(); err != nil {
			l.Fatal(err)
		}
	}
	if err := l.board.Close(); err != nil {
		l.Fatal(err)
	}
}

// jobs ends jobs with new numbers and archives them.
func (l life) jobs(jobs int) (last int64) {
	l.Helper()
	must := func(err error) {
		if err != nil {
			l.Fatal(err)
		}
	}
	for range jobs {
		var err error
		last, err = l.board.Next(l.Context(), 1, layout.Seq("job", 1), 1)
		must(err)
		j := &domain.Job{ID: domain.JobID(last), CallerID: 1, ContextID: 1, Script: "exit", ScriptType: "shell", Status: domain.JobFinished,
			CreatedAt: 1, FinishedMs: 1000 + last}
		must(l.board.Commit(l.Context(), *(&board.Batch{Space: 1}).Set("job:1:"+strconv.FormatInt(last, 10), board.Field{Name: "status", Value: "finished"})))
		if l.store == nil {
			continue
		}
		r, err := archive.OfJob(1, j, nil)
		must(err)
		must(l.store.Put(l.Context(), []archive.Record{r}))
	}
	return last
}

// epoch is what a board says of its last loss.
func (l life) epoch() board.Epoch {
	l.Helper()
	recs, err := l.board.Get(l.Context(), 0, board.EpochKey)
	if err != nil {
		l.Fatal(err)
	}
	return board.EpochOf(recs[0])
}

func lived(t *testing.T, dir string, jobs int, accept bool) (last int64) {
	t.Helper()
	l, err := begin(t, dir, accept)
	if err != nil {
		t.Fatal(err)
	}
	return l.work(jobs)
}

// putBack copies a part of a folder over that of another.
func putBack(t *testing.T, from, to string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		old, err := filepath.Glob(filepath.Join(to, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range old {
			if err := os.RemoveAll(name); err != nil {
				t.Fatal(err)
			}
		}
	}
	all := t.TempDir()
	if err := os.CopyFS(all, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		list, err := filepath.Glob(filepath.Join(all, part))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range list {
			if err := os.Rename(name, filepath.Join(to, filepath.Base(name))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAnOlderBoardBeginsAnEpoch(t *testing.T) {
	dir, before := t.TempDir(), t.TempDir()
	lived(t, dir, 3, false)
	putBack(t, dir, before, "board")
	last := lived(t, dir, 4, false)
	putBack(t, before, dir, "board")

	l, err := begin(t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	e := l.epoch()
	if e.Number != 1 || !strings.Contains(e.Cause, "the board is older than its archive") || !strings.Contains(e.Cause, "has 4 that ended last") ||
		!strings.Contains(e.Cause, "job:1:7 of context 1") {
		t.Errorf("got epoch %+v, want one that says what the archive has", e)
	}
	if next := l.work(1); next <= last+1000 {
		t.Errorf("number %d is given out, and %d was; more of them may have been", next, last)
	}
	l, err = begin(t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	if e := l.epoch(); e.Number != 1 {
		t.Errorf("got epoch %+v at the next start", e)
	}
	l.work(0)
}

// TestABoardOfAMomentBeforeBeginsAnEpoch: the node was killed before it took a step, right
// after it had begun, or a step ahead of which the board never heard.
func TestABoardOfAMomentBeforeBeginsAnEpoch(t *testing.T) {
	for name, between := range map[string]func(t *testing.T, dir string) (last int64){
		"nothing was archived": func(t *testing.T, dir string) int64 {
			l, err := begin(t, dir, false)
			if err != nil {
				t.Fatal(err)
			}
			defer l.end()
			last, err := l.board.Next(t.Context(), 1, layout.Seq("job", 1), 3)
			if err == nil {
				err = l.board.Commit(t.Context(), *new(board.Batch).Include(layout.Contexts, "1"))
			}
			if err != nil {
				t.Fatal(err)
			}
			return last + 2
		},
		"one step": func(t *testing.T, dir string) int64 {
			l, err := beginOn(t, options{dataDir: dir, log: quiet()}) // it does not stay, and takes none
			if err != nil {
				t.Fatal(err)
			}
			defer l.end()
			marks, err := l.store.Marks(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			step, _ := strconv.Atoi(marks["step"])
			if _, err := l.store.Mark(t.Context(), "step", marks["step"], strconv.Itoa(step+1)); err != nil {
				t.Fatal(err)
			}
			return l.jobs(4)
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, before := t.TempDir(), t.TempDir()
			l, err := begin(t, dir, false)
			if err == nil {
				err = l.board.Commit(t.Context(), *new(board.Batch).Include(layout.Contexts, "1"))
			}
			if err != nil {
				t.Fatal(err)
			}
			l.work(3)
			putBack(t, dir, before, "board")
			last := between(t, dir)
			putBack(t, before, dir, "board")
			if l, err = begin(t, dir, false); err != nil {
				t.Fatal(err)
			}
			if e := l.epoch(); e.Number != 1 || !strings.Contains(e.Cause, "the board is older than its archive") {
				t.Errorf("got epoch %+v", e)
			}
			if next := l.work(1); next <= last {
				t.Errorf("number %d is given out, and %d was", next, last)
			}
		})
	}
}

// TestACrashBetweenTwoStepsIsNoLoss: the archive is one ahead, and has no number that its
// board has not given out.
func TestACrashBetweenTwoStepsIsNoLoss(t *testing.T) {
	dir := t.TempDir()
	lived(t, dir, 3, false)
	l, err := beginOn(t, options{dataDir: dir, log: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	marks, err := l.store.Marks(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	step, _ := strconv.Atoi(marks["step"])
	if _, err := l.store.Mark(t.Context(), "step", marks["step"], strconv.Itoa(step+1)); err != nil {
		t.Fatal(err)
	}
	l.end()
	if l, err = begin(t, dir, false); err != nil {
		t.Fatal(err)
	}
	if e := l.epoch(); e.Number != 0 {
		t.Errorf("got epoch %+v", e)
	}
	l.work(1)
}

// TestAnOlderEtcdBeginsAnEpoch beside an archive that is younger, and that names what
// is lost; and so without one.
func TestAnOlderEtcdBeginsAnEpoch(t *testing.T) {
	for _, archive := range []string{"sqlite:archive.db", "none"} {
		t.Run(archive, func(t *testing.T) {
			server := etcdtest.Start(t, "--unsafe-no-fsync")
			o := options{dataDir: t.TempDir(), boardURL: etcdtest.URL("", server), archiveURL: archive, serve: true, log: quiet()}
			lives := func(jobs int) (last int64) {
				t.Helper()
				l, err := beginOn(t, o)
				if err != nil {
					t.Fatal(err)
				}
				return l.work(jobs)
			}
			lives(3)
			snapshot := server.Snapshot()
			last := lives(4)
			server.Restore(snapshot)

			l, err := beginOn(t, o)
			if err != nil {
				t.Fatal(err)
			}
			want := epochOf{1, "etcd was restored from a snapshot"}
			if l.store != nil {
				want = epochOf{2, "the archive has 4 that ended last and the board no longer has: job:1:7 of context 1"}
			}
			if e := l.epoch(); e.Number != want.number || !strings.Contains(e.Cause, want.cause) {
				t.Errorf("got epoch %+v, want %+v", e, want)
			}
			if next := l.work(1); next <= last+1000 {
				t.Errorf("number %d is given out, and %d was", next, last)
			}
			if l, err = beginOn(t, o); err != nil {
				t.Fatal(err)
			}
			if e := l.epoch(); e.Number != want.number {
				t.Errorf("got epoch %+v at the next start", e)
			}
			l.work(0)
		})
	}
}

// epochOf is what is wanted of an epoch.
type epochOf struct {
	number int64
	cause  string // a part of it
}

func TestAnOlderArchiveIsRefused(t *testing.T) {
	for _, made := range []bool{false, true} { // or one that was made anew
		dir, before := t.TempDir(), t.TempDir()
		lived(t, dir, 3, false)
		if !made {
			putBack(t, dir, before, "archive.db*")
		}
		lived(t, dir, 4, false)
		putBack(t, before, dir, "archive.db*")
		if _, err := begin(t, dir, false); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "has less than this board has archived") {
			t.Fatalf("got %v, want a conflict", err)
		}
		l, err := begin(t, dir, true)
		if err != nil {
			t.Fatal(err)
		}
		if e := l.epoch(); !strings.Contains(e.Cause, "the archive is older than the board") {
			t.Errorf("got epoch %+v", e)
		}
		l.work(1)
		lived(t, dir, 1, false)
	}
}

// TestWhatTheBoardHasIsArchivedAgain: the archive has lost it, or is another's.
func TestWhatTheBoardHasIsArchivedAgain(t *testing.T) {
	for _, place := range []string{"that of before", "another's"} {
		t.Run(place, func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			dir, before := t.TempDir(), t.TempDir()
			lived(t, dir, 1, false)
			if place == "another's" {
				lived(t, before, 1, false)
			} else {
				putBack(t, dir, before, "archive.db*")
			}

			l, err := begin(t, dir, false)
			must(err)
			ended := (&board.Batch{Space: 1}).Set("job:1:900", board.Field{Name: layout.JobStatus, Value: string(domain.JobFinished)}, layout.FinishedField(1000))
			layout.Ended(ended, "job:1:900", time.UnixMilli(1000), layout.FailedJobs, false)
			must(l.board.Commit(t.Context(), *ended))
			must(l.board.Commit(t.Context(), *new(board.Batch).Include(layout.Contexts, "1", "a foreign program's")))
			e := work.New(l.board, work.Config{})
			left, err := e.Backlog(t.Context(), 1)
			if must(err); left.Waiting != 1 {
				t.Fatalf("got %+v, want one that waits", left)
			}
			must(e.MarkArchived(t.Context(), left, 1))
			l.work(1)

			putBack(t, before, dir, "archive.db*")
			l, err = begin(t, dir, true)
			must(err)
			e = work.New(l.board, work.Config{})
			if left, err = e.Backlog(t.Context(), 1); err != nil || left.Waiting != 1 {
				t.Errorf("got %+v, %v, want that it waits again", left, err)
			}
			if n, err := e.Prune(t.Context(), 1, time.Now()); err != nil || n != 0 {
				t.Errorf("%d expired that the archive does not have, %v", n, err)
			}
			must(e.MarkArchived(t.Context(), left, left.Waiting))
			l.end()
			l, err = begin(t, dir, false)
			must(err)
			e = work.New(l.board, work.Config{})
			if left, err = e.Backlog(t.Context(), 1); err != nil || left.Waiting != 0 {
				t.Errorf("got %+v, %v, want that it is archived once more, and no more", left, err)
			}
			if n, err := e.Prune(t.Context(), 1, time.Now()); err != nil || n != 1 {
				t.Errorf("%d expired that the archive has, %v", n, err)
			}
			l.end()
		})
	}
}

func TestAnArchiveOfAnotherBoardIsRefused(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	last := lived(t, dir, 20, false)
	lived(t, other, 1, false)
	putBack(t, dir, other, "archive.db*")
	if _, err := begin(t, other, false); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "is that of another board") {
		t.Fatalf("got %v, want a conflict", err)
	}
	if next := lived(t, other, 1, true); next <= last {
		t.Errorf("number %d is given out, which is in the archive", next)
	}
	lived(t, other, 1, false)
}

// TestNumbersGoOnBeyondTheArchive where the board's driver has begun an epoch.
func TestNumbersGoOnBeyondTheArchive(t *testing.T) {
	dir := t.TempDir()
	l, err := begin(t, dir, false)
	if err != nil {
		t.Fatal(err)
	}
	j := &domain.Job{ID: 50_000, CallerID: 1, ContextID: 1, Script: "exit", ScriptType: "shell", Status: domain.JobFinished, CreatedAt: 1, FinishedMs: 1000}
	r, err := archive.OfJob(1, j, nil)
	if err == nil {
		err = l.store.Put(t.Context(), []archive.Record{r})
	}
	if err == nil {
		err = l.board.Commit(t.Context(), *new(board.Batch).NextEpoch(time.Now(), "a test"))
	}
	if err != nil {
		t.Fatal(err)
	}
	l.work(0)
	if next := lived(t, dir, 1, false); next <= 50_000 {
		t.Errorf("number %d is given out, which is below those in the archive", next)
	}
	if next := lived(t, dir, 1, false); next > 50_010 {
		t.Errorf("number %d is given out at the next start: it went on again", next)
	}
}

// TestTheArchiveIsNotChangedUnderOthers: each node would have one of its own.
func TestTheArchiveIsNotChangedUnderOthers(t *testing.T) {
	b, dir := memboard.Open(), t.TempDir()
	o := options{dataDir: dir, boardURL: "redis://127.0.0.1:1", archiveURL: "sqlite:one.db", serve: true, log: quiet()}
	a, _, _, err := openArchive(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Close()
	seen := func(at time.Time) {
		t.Helper()
		f := board.Field{Name: layout.NodeSeen, Value: strconv.FormatInt(at.UnixMilli(), 10)}
		if err := b.Commit(t.Context(), *new(board.Batch).Set(layout.Node("nina"), f)); err != nil {
			t.Fatal(err)
		}
	}
	seen(time.Now())
	o.archiveURL = "sqlite:two.db"
	if _, _, _, err := openArchive(t.Context(), b, o); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "node nina") {
		t.Errorf("got %v, want a conflict that names the other node", err)
	}
	seen(time.UnixMilli(0))
	c, _, _, err := openArchive(t.Context(), b, o)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
}
