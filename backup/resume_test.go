package backup_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"

	"github.com/ramet-run/ramet/backup"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/etcdboard"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/etcdtest"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/layout"
)

// TestACopyThatWasKilledIsBegunAgain: half a board is one that no node starts on, and the same
// copy makes it whole, whatever has changed on the board that is copied; without --overwrite,
// for what lies there is its own.
func TestACopyThatWasKilledIsBegunAgain(t *testing.T) {
	for name, open := range drivers() {
		t.Run(name, func(t *testing.T) {
			src, dst := memboard.Open(), open(t)
			living(t, src)
			half, cut := context.WithCancel(t.Context())
			_, err := backup.Copy(half, backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, false, func(int64) { cut() })
			if err == nil {
				t.Fatal("it was not cut off")
			}
			if err := backup.Unfinished(t.Context(), dst); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("half a board is called whole: %v", err)
			}
			if _, err := src.Next(t.Context(), 7, "ramet:seq:late", 3); err != nil {
				t.Fatal(err)
			}
			if _, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, false, nil); err != nil {
				t.Fatal(err)
			}
			if err := backup.Unfinished(t.Context(), dst); err != nil {
				t.Error(err)
			}
			lapsed(t, dst)
		})
	}
}

// failing is a board on which a load comes to its very end, and fails there. It counts the
// records that were written.
type failing struct {
	board.Board
	last    bool
	records int
}

var errLast = errors.New("killed")

func (f *failing) Commit(ctx context.Context, b board.Batch) error {
	for _, op := range b.Ops {
		if f.last && op.Kind == board.OpDelete && op.Key == layout.Restoring {
			return errLast
		}
	}
	return f.Board.Commit(ctx, b)
}

func (f *failing) CommitEach(ctx context.Context, batches []board.Batch) []error {
	for _, b := range batches {
		for _, op := range b.Ops {
			if op.Kind == board.OpSet {
				f.records++
			}
		}
	}
	return f.Board.CommitEach(ctx, batches)
}

// TestACopyGoesOnWhereItWasKilled: what lies there as it should is not written again, whatever
// else lies there is made as it should, and who ran has run out once.
func TestACopyGoesOnWhereItWasKilled(t *testing.T) {
	for name, open := range drivers() {
		t.Run(name, func(t *testing.T) {
			src, dst := memboard.Open(), &failing{Board: open(t), last: true}
			living(t, src)
			from, to := backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}
			if _, err := backup.Copy(t.Context(), from, to, false, nil); !errors.Is(err, errLast) {
				t.Fatalf("got %v", err)
			}
			first := dst.records
			set := func(key, value string) board.Batch {
				return *(&board.Batch{Space: 7}).Set(key, board.Field{Name: "a", Value: value})
			}
			for _, c := range []struct {
				b    board.Board
				what board.Batch
			}{
				{src, *(&board.Batch{Space: 7}).Delete("job:1:20").Delete("set").Include("set", "c")},
				{src, set("job:1:21", "changed")},
				{src, set("new", "1")},
				{dst.Board, *(&board.Batch{Space: 7}).Expire("job:1:22", time.Hour).Delete("job:1:23").Include("job:1:23", "no record").SetAlarm("x", time.Now())},
				{dst.Board, *(&board.Batch{Space: 7}).Live("x", time.Now()).PushLeft("queue:python", "job:1:9")},
			} {
				if err := c.b.Commit(t.Context(), c.what); err != nil {
					t.Fatal(err)
				}
			}
			dst.last, dst.records = false, 0
			if _, err := backup.Copy(t.Context(), from, to, false, nil); err != nil {
				t.Fatal(err)
			}
			if dst.records > first/10 {
				t.Errorf("%d records were written again, of %d", dst.records, first)
			}
			lapsed(t, dst.Board)
			got, err := dst.Get(t.Context(), 7, "job:1:21", "job:1:20", "job:1:22")
			if err != nil || got[0].Get("a") != "changed" || got[1] != nil || got[2].Get("status") != "dispatched" {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
}

// TestACopyLeavesKeysOfOthers: a copy is refused where a space has something before the first is
// written there, or where something comes between two runs that neither the other board nor a
// node has; unless whatever lies there may go.
func TestACopyLeavesKeysOfOthers(t *testing.T) {
	theirs := *(&board.Batch{Space: 7}).Set("theirs", board.Field{Name: "a", Value: "1"})
	there := func(t *testing.T, b board.Board) bool {
		t.Helper()
		recs, err := b.Get(t.Context(), 7, "theirs")
		if err != nil {
			t.Fatal(err)
		}
		return recs[0] != nil
	}
	refused := func(t *testing.T, err error) {
		t.Helper()
		if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "theirs in space 7") {
			t.Errorf("got %v", err)
		}
	}
	t.Run("between two runs", func(t *testing.T) {
		for name, open := range drivers() {
			t.Run(name, func(t *testing.T) {
				src, dst := memboard.Open(), &failing{Board: open(t), last: true}
				living(t, src)
				from, to := backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}
				if _, err := backup.Copy(t.Context(), from, to, false, nil); !errors.Is(err, errLast) {
					t.Fatalf("got %v", err)
				}
				if err := dst.Commit(t.Context(), theirs); err != nil {
					t.Fatal(err)
				}
				dst.last = false
				for range 2 {
					_, err := backup.Copy(t.Context(), from, to, false, nil)
					if refused(t, err); !there(t, dst) {
						t.Fatal("a key of another program is gone")
					}
				}
				if _, err := backup.Copy(t.Context(), from, to, true, nil); err != nil || there(t, dst) {
					t.Errorf("over it: got %v", err)
				}
				lapsed(t, dst.Board)
			})
		}
	})
	t.Run("in a database that the board has not written to", func(t *testing.T) {
		s := redistest.Start(t)
		src := memboard.Open()
		living(t, src)
		dst, err := redisboard.Open(t.Context(), s.URL(), redisboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = dst.Close() })
		c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{s.Addr()}, SelectDB: 7, DisableCache: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		if err := c.Do(t.Context(), c.B().Arbitrary("HSET", "theirs", "a", "1").Build()).Error(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, false, nil)
			if refused(t, err); !there(t, dst) {
				t.Fatal("a key of another program is gone")
			}
		}
		if _, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}, true, nil); err != nil || there(t, dst) {
			t.Errorf("over it: got %v", err)
		}
		lapsed(t, dst)
	})
}

// allDrivers are the drivers that nodes work with. Each takes the test that it is opened in:
// where its server is not installed, that one alone is skipped.
func allDrivers() map[string]func(t *testing.T) board.Board {
	all := drivers()
	all["Redis"] = func(t *testing.T) board.Board {
		b, err := redisboard.Open(t.Context(), redistest.Start(t).URL(), redisboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	all["etcd"] = func(t *testing.T) board.Board {
		b, err := etcdboard.Open(t.Context(), etcdtest.URL("b", etcdtest.Start(t, "--unsafe-no-fsync")), etcdboard.Config{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return b
	}
	return all
}

// unnoted wants nothing left on a board that was only to be known while it was filled.
func unnoted(t *testing.T, b board.Board) {
	t.Helper()
	spaces, err := b.Spaces(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range spaces {
		keys, _, err := b.Keys(t.Context(), s, layout.Restoring, "", 100)
		if err != nil || len(keys) > 0 {
			t.Errorf("space %d has %q, %v", s, keys, err)
		}
	}
}

// TestACopyKnowsWhatItWrote: a caller's key that was copied, and that its board has since lost, goes from the copy,
// too; one of that very name that no run has written is another program's.
func TestACopyKnowsWhatItWrote(t *testing.T) {
	for name, open := range allDrivers() {
		t.Run(name, func(t *testing.T) {
			src, dst := memboard.Open(), &failing{Board: open(t), last: true}
			living(t, src)
			commit := func(b board.Board, batch *board.Batch) {
				t.Helper()
				if err := b.Commit(t.Context(), *batch); err != nil {
					t.Fatal(err)
				}
			}
			in7 := func() *board.Batch { return &board.Batch{Space: 7} }
			one := board.Field{Name: "a", Value: "1"}
			commit(src, in7().Set("mine", one).PushRight("my list", "x").Include("my set", "x").Set("passing", one).Expire("passing", time.Hour))
			from, to := backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}
			again := func() error {
				_, err := backup.Copy(t.Context(), from, to, false, nil)
				return err
			}
			if err := again(); !errors.Is(err, errLast) {
				t.Fatalf("got %v", err)
			}
			commit(src, in7().Delete("mine").Set("second", one))
			if err := again(); !errors.Is(err, errLast) {
				t.Fatalf("got %v", err)
			}
			commit(src, in7().Delete("my list").Delete("my set").Delete("passing").Delete("second").Set("theirs", one))
			commit(dst.Board, in7().Set("theirs", one))
			dst.last = false
			if err := again(); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "theirs in space 7") {
				t.Errorf("got %v", err)
			}
			commit(dst.Board, in7().Delete("theirs"))
			if err := again(); err != nil {
				t.Fatal(err)
			}
			stats, err := dst.Stat(t.Context(), 7, "mine", "my list", "my set", "passing", "second", "theirs")
			for i, s := range stats {
				if (i == 5) != (s.Kind == board.KindRecord) {
					t.Errorf("key %d is %v", i, s.Kind)
				}
			}
			if err != nil {
				t.Error(err)
			}
			unnoted(t, dst.Board)
			lapsed(t, dst.Board)
		})
	}
}

// TestHalfABoardIsFilledFromElsewhere: what a load has left goes where the next one is of something else, and what
// came to it does not, unless whatever lies there may go.
func TestHalfABoardIsFilledFromElsewhere(t *testing.T) {
	src, office := memboard.Open(), memboard.Open()
	living(t, src)
	living(t, office)
	text := written(t, src)
	fills := map[string]func(b board.Board, over bool) error{
		"a restore": func(b board.Board, over bool) error {
			_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: b, Overwrite: over})
			return err
		},
		"a copy of another board": func(b board.Board, over bool) error {
			_, err := backup.Copy(t.Context(), backup.Side{Board: office, Name: "office"}, backup.Side{Board: b}, over, nil)
			return err
		},
	}
	half := func(t *testing.T, b board.Board) {
		t.Helper()
		_, err := backup.Copy(t.Context(), backup.Side{Board: src, Name: "home"}, backup.Side{Board: &failing{Board: b, last: true}}, false, nil)
		if !errors.Is(err, errLast) {
			t.Fatalf("got %v", err)
		}
	}
	for driver, open := range allDrivers() {
		for name, fill := range fills {
			t.Run(driver+", "+name, func(t *testing.T) {
				dst := open(t)
				half(t, dst)
				theirs := *(&board.Batch{Space: 8}).Set("theirs", board.Field{Name: "a", Value: "1"})
				if err := dst.Commit(t.Context(), theirs); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					err := fill(dst, false)
					if !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "theirs in space 8") || !strings.Contains(err.Error(), "--overwrite") {
						t.Fatalf("got %v", err)
					}
					if recs, err := dst.Get(t.Context(), 8, "theirs"); err != nil || recs[0] == nil {
						t.Fatalf("a key of another program is gone: %v", err)
					}
				}
				if err := fill(dst, true); err != nil {
					t.Fatal(err)
				}
				if recs, err := dst.Get(t.Context(), 8, "theirs"); err != nil || recs[0] != nil {
					t.Errorf("over it: got %v, %v", recs, err)
				}
				unnoted(t, dst)
				lapsed(t, dst)
			})
			t.Run(driver+", "+name+", nobody else", func(t *testing.T) {
				dst := open(t)
				half(t, dst)
				if err := fill(dst, false); err != nil {
					t.Fatal(err)
				}
				unnoted(t, dst)
				lapsed(t, dst)
			})
		}
	}
}

// TestACopyKnowsManyKeys: more of them than are read at once.
func TestACopyKnowsManyKeys(t *testing.T) {
	const keys, each = 25_000, 500
	src, dst := memboard.Open(), &failing{Board: memboard.Open(), last: true}
	living(t, src)
	all := func(change func(b *board.Batch, key string)) {
		t.Helper()
		for from := 0; from < keys; from += each {
			batch := board.Batch{Space: 8}
			for i := range each {
				change(&batch, fmt.Sprint("note ", from+i))
			}
			if err := src.Commit(t.Context(), batch); err != nil {
				t.Fatal(err)
			}
		}
	}
	all(func(b *board.Batch, key string) { b.Set(key, board.Field{Name: "a", Value: "1"}) })
	from, to := backup.Side{Board: src, Name: "home"}, backup.Side{Board: dst}
	if _, err := backup.Copy(t.Context(), from, to, false, nil); !errors.Is(err, errLast) {
		t.Fatalf("got %v", err)
	}
	all(func(b *board.Batch, key string) { b.Delete(key) })
	dst.last = false
	if _, err := backup.Copy(t.Context(), from, to, false, nil); err != nil {
		t.Fatal(err)
	}
	unnoted(t, dst.Board)
	lapsed(t, dst.Board)
}

// TestARestoreThatWasKilledIsBegunAgain: contexts have the same keys, of which each keeps its own.
func TestARestoreThatWasKilledIsBegunAgain(t *testing.T) {
	watched.Large(t)
	src := memboard.Open()
	living(t, src)
	for space := range board.Space(3) {
		if err := src.Commit(t.Context(), *(&board.Batch{Space: space}).Set("job:99:1", board.Field{Name: "script", Value: strconv.Itoa(int(space))})); err != nil {
			t.Fatal(err)
		}
	}
	for from := range 50 { // so many that the first are there before the last are read
		batch := board.Batch{Space: 1}
		for i := range 500 {
			batch.Set(fmt.Sprint("note ", 500*from+i), board.Field{Name: "text", Value: strings.Repeat("x", 200)})
		}
		if err := src.Commit(t.Context(), batch); err != nil {
			t.Fatal(err)
		}
	}
	text := written(t, src)
	for driver, open := range allDrivers() {
		t.Run(driver, func(t *testing.T) {
			dst := open(t)
			restore := func(b board.Board) error {
				_, err := backup.Restore(t.Context(), bytes.NewReader(text), backup.Target{Board: b})
				return err
			}
			if err := restore(&failing{Board: dst, last: true}); !errors.Is(err, errLast) {
				t.Fatalf("got %v", err)
			}
			if err := restore(dst); err != nil {
				t.Fatal(err)
			}
			for space := range board.Space(3) {
				if recs, err := dst.Get(t.Context(), space, "job:99:1"); err != nil || recs[0].Get("script") != strconv.Itoa(int(space)) {
					t.Errorf("space %d: got %v, %v", space, recs, err)
				}
			}
		})
	}
}
