package clockwork_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// copied is an archive with a replica that has all that was written until it is cut off. Set back, the
// replica is in its place.
type copied struct {
	archive.Archive // the first
	replica         archive.Archive
	cut, back       atomic.Bool
}

func (c *copied) now() archive.Archive {
	if c.back.Load() {
		return c.replica
	}
	return c.Archive
}

func (c *copied) Put(ctx context.Context, records []archive.Record) error {
	if !c.cut.Load() {
		if err := c.replica.Put(ctx, records); err != nil {
			return err
		}
	}
	return c.now().Put(ctx, records)
}

func (c *copied) Mark(ctx context.Context, name, was, value string) (string, error) {
	if !c.cut.Load() {
		if now, err := c.replica.Mark(ctx, name, was, value); err != nil {
			return now, err
		}
	}
	return c.now().Mark(ctx, name, was, value)
}

func (c *copied) Marks(ctx context.Context) (map[string]string, error) { return c.now().Marks(ctx) }
func (c *copied) Highest(ctx context.Context) ([]archive.Highest, error) {
	return c.now().Highest(ctx)
}

// setback is a board whose two nodes live, with an archive that can be set back.
type setback struct {
	*testing.T
	paired
	archive *copied
	errs    chan error // of the nodes
}

// living runs a test in virtual time, beside two nodes, an archiver and a pruner.
func living(t *testing.T, keep time.Duration, test func(s setback)) {
	t.Helper()
	bubble(t, func(t *testing.T, b *memboard.Board) {
		addTenants(t, b, "1")
		c := &copied{}
		for _, to := range []*archive.Archive{&c.Archive, &c.replica} {
			a, err := sqlitearchive.Open(t.Context(), t.TempDir()+"/a.db", sqlitearchive.Config{})
			if err != nil {
				t.Fatal(err)
			}
			defer a.Close()
			*to = a
		}
		engine := work.New(b, work.Config{})
		if err := engine.SetArchive(t.Context(), "", "a"); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		s := setback{t, paired{t, b, c}, c, make(chan error, 2)}
		var nodes sync.WaitGroup
		for range 2 {
			node := &clockwork.Pairing{Board: b, Archive: c, Where: "a", Stays: true, Logger: discard()}
			nodes.Go(func() { s.errs <- node.Run(ctx) })
		}
		stop := run(t, b, "n", clockwork.Prunes(b, engine, keep),
			clockwork.Archives(b, engine, clockwork.ArchiverConfig{Archive: c, Keep: time.Hour, Logger: discard(), Observer: &gauge{}}))
		test(s)
		stop()
		cancel()
		nodes.Wait() // the last step of one may wait for that of the other
	})
}

// ends has a job end now.
func (s setback) ends() string {
	s.T.Helper()
	key := s.submit(0)
	if _, err := work.New(s.board, work.Config{}).Cancel(s.T.Context(), 1, key, 1); err != nil {
		s.T.Fatal(err)
	}
	return key.String()
}

// has reports whether the archive has a job.
func (s setback) has(key string) bool {
	s.T.Helper()
	page, err := s.archive.now().Search(s.T.Context(), archive.Query{Context: 1, Limit: 100})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, r := range page.Records {
		if r.Key == key {
			return true
		}
	}
	return false
}

// wantEnd waits for a node to end with a conflict.
func (s setback) wantEnd(why string) {
	s.T.Helper()
	select {
	case err := <-s.errs:
		if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), why) {
			s.T.Errorf("a node ended with %v, want a conflict that says %q", err, why)
		}
	case <-time.After(time.Minute):
		s.T.Errorf("a node goes on, want a conflict that says %q", why)
	}
}

// TestAnArchiveThatIsSetBackGetsAgainWhatIsThere: under running nodes, a replica that is a moment behind takes the
// archive's place, or a copy of before does. What the board has still is archived again; a loss, told once, is only
// what had left the board since.
func TestAnArchiveThatIsSetBackGetsAgainWhatIsThere(t *testing.T) {
	for _, c := range []struct {
		name          string
		keep          time.Duration
		before, since time.Duration // the copy, and from then until it is set back
		lost          bool
	}{
		{"a replica that is a moment behind", time.Hour, 65 * time.Second, 15 * time.Second, false},
		{"a moment behind, where ends of before have left the board", 2 * time.Minute, 605 * time.Second, 15 * time.Second, false},
		{"a copy of before, of which all since is on the board", time.Hour, 65 * time.Second, 30 * time.Minute, false},
		{"a copy of before, of which something since has left the board", 2 * time.Minute, 605 * time.Second, 30 * time.Minute, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			living(t, c.keep, func(s setback) {
				first := s.ends()
				time.Sleep(c.before)
				s.archive.cut.Store(true)
				second := s.ends()
				time.Sleep(c.since)
				third := s.ends()
				time.Sleep(3 * time.Second)
				if !s.has(third) {
					s.T.Fatal("the third was not archived yet")
				}
				s.archive.back.Store(true)
				if s.has(third) {
					s.T.Fatal("the copy has the third")
				}
				time.Sleep(time.Minute)
				if !s.has(first) || !s.has(third) || s.has(second) == c.lost {
					s.T.Errorf("the archive has the first %v, the second %v, the third %v", s.has(first), s.has(second), s.has(third))
				}
				e := s.epoch()
				if !c.lost && e.Number > 0 {
					s.T.Errorf("got epoch %+v, want none", e)
				}
				if c.lost && (e.Number != 1 || len(e.Losses) != 1 || e.Losses[0].Of != domain.LossOfArchive || !strings.Contains(e.Losses[0].Cause, "of context 1")) {
					s.T.Errorf("got epoch %+v, want one of the archive, told once", e)
				}
			})
		})
	}
}

// TestABoardThatIsSetBackUnderItsNodesBeginsAnEpoch: also where they live, numbers go on beyond those of the archive.
func TestABoardThatIsSetBackUnderItsNodesBeginsAnEpoch(t *testing.T) {
	living(t, time.Hour, func(s setback) {
		s.ends()
		time.Sleep(2 * time.Minute)
		back := new(board.Batch).Set(layout.Identity, board.Field{Name: layout.IdentityStep, Value: "3"})
		if err := s.board.Commit(s.T.Context(), *back); err != nil {
			s.T.Fatal(err)
		}
		time.Sleep(time.Minute)
		if e := s.epoch(); e.Number != 1 || len(e.Losses) != 1 || e.Losses[0].Of != domain.LossOfBoard {
			s.T.Errorf("got epoch %+v, want one of the board, told once", e)
		}
		if next := s.submit(0); next.ID <= board.EpochLeap {
			s.T.Errorf("%v is given out, want a number beyond", next)
		}
	})
}

// TestNumbersThatWereGivenOutTwiceAreTold: a board that went back under its nodes gives out numbers anew until one of them
// looks. What came to an end there by then hides nothing of what is gone.
func TestNumbersThatWereGivenOutTwiceAreTold(t *testing.T) {
	living(t, time.Hour, func(s setback) {
		before, twice, gone := s.ends(), s.ends(), s.ends()
		time.Sleep(2*time.Minute + time.Second)
		back := new(board.Batch).Set(layout.Identity, board.Field{Name: layout.IdentityStep, Value: "3"})
		anew := &board.Batch{Space: 1}
		anew.Set(twice, board.Field{Name: layout.JobCreatedAt, Value: strconv.FormatInt(s.board.Now().Unix(), 10)}).Delete(gone)
		for _, b := range []*board.Batch{anew, back} {
			if err := s.board.Commit(s.T.Context(), *b); err != nil {
				s.T.Fatal(err)
			}
		}
		after := s.ends()
		time.Sleep(3 * time.Second)
		if e := s.epoch(); e.Number != 0 || !s.has(after) {
			s.T.Fatalf("got epoch %+v, and %s archived: %v, want the archiver to be before the look", e, after, s.has(after))
		}
		time.Sleep(time.Minute)
		cause := s.epoch().Cause
		for _, want := range []string{"1 numbers of what ended last were given out a second time",
			": " + twice + " of context 1", "the archive has 1 that ended last", ": " + gone + " of context 1"} {
			if !strings.Contains(cause, want) {
				s.T.Errorf("got the cause %q, want it to say %q", cause, want)
			}
		}
		for _, other := range []string{before, after} {
			if strings.Contains(cause, other+" ") {
				s.T.Errorf("got the cause %q, which names %s", cause, other)
			}
		}
	})
}

// TestAnArchiveOfAnotherBoardIsLeftAtOnce: where one takes the place of the archive under running nodes, they end.
func TestAnArchiveOfAnotherBoardIsLeftAtOnce(t *testing.T) {
	living(t, time.Hour, func(s setback) {
		time.Sleep(time.Minute)
		marks, err := s.archive.Marks(s.T.Context())
		if err != nil {
			s.T.Fatal(err)
		}
		if _, err := s.archive.Mark(s.T.Context(), "board", marks["board"], "another"); err != nil {
			s.T.Fatal(err)
		}
		for range 2 {
			s.wantEnd("another board")
		}
	})
}

// TestANodeEndsWhoseBoardIsArchivedElsewhere: the others have said so while it was taken for dead.
func TestANodeEndsWhoseBoardIsArchivedElsewhere(t *testing.T) {
	living(t, time.Hour, func(s setback) {
		time.Sleep(time.Minute)
		if err := work.New(s.board, work.Config{}).SetArchive(s.T.Context(), "a", "b"); err != nil {
			s.T.Fatal(err)
		}
		for range 2 {
			s.wantEnd("to b")
		}
	})
}
