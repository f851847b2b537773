package format_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/format"
	"github.com/ramet-run/ramet/layout"
)

// ran collects which steps were run.
type ran []string

// running is held while a step is noted: keepers are goroutines of their own.
var running sync.Mutex

func (r *ran) steps() ran {
	running.Lock()
	defer running.Unlock()
	return slices.Clone(*r)
}

// formats are those of a program that knows up to a version. Steps can be made to fail.
func (r *ran) formats(upTo int, fails func(what string, to int) error) format.Formats {
	step := func(what string, to int) error {
		if fails != nil {
			if err := fails(what, to); err != nil {
				return err
			}
		}
		running.Lock()
		defer running.Unlock()
		*r = append(*r, what+" "+strconv.Itoa(to))
		return nil
	}
	var all format.Formats
	for v := 1; v <= upTo; v++ {
		all = append(all, format.Step{
			Release: "0." + strconv.Itoa(v) + ".0",
			Folder:  func(string) error { return step("folder", v) },
			Streams: func(string) error { return step("streams", v) },
			Board:   func(context.Context, format.Board) error { return step("board", v) },
			Archive: func(context.Context, archive.Archive) error { return step("archive", v) },
		})
	}
	return all
}

// thing is something that has a format.
type thing struct {
	name string
	open func(f format.Formats, program string) error
}

func things(t *testing.T) []thing {
	dir := t.TempDir()
	a, err := sqlitearchive.Open(t.Context(), filepath.Join(dir, "archive.db"), sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	return []thing{
		{"folder", func(f format.Formats, program string) error { return f.OpenFolder(dir, program) }},
		{"streams", func(f format.Formats, program string) error {
			return f.OpenStreams(filepath.Join(dir, "streams"), program)
		}},
		{"archive", func(f format.Formats, program string) error { return f.OpenArchive(t.Context(), a, program) }},
		{"board", func(f format.Formats, program string) error {
			_, err := format.Keeper{Formats: f, Board: b, Alone: true, Program: program, Logger: slog.New(slog.DiscardHandler)}.Start(t.Context())
			return err
		}},
	}
}

// TestEachThingIsBroughtUpToDateOnceAndNeverBack goes through three programs.
func TestEachThingIsBroughtUpToDateOnceAndNeverBack(t *testing.T) {
	for _, x := range things(t) {
		t.Run(x.name, func(t *testing.T) {
			var r ran
			open := func(upTo int, program string) {
				t.Helper()
				if err := x.open(r.formats(upTo, nil), program); err != nil {
					t.Fatal(err)
				}
			}
			open(1, "0.1.0") // what has no format is of the first
			open(1, "0.1.7")
			if len(r) != 0 {
				t.Errorf("steps %v were run where there is nothing to do", r)
			}
			open(3, "0.3.4")
			open(3, "0.3.5")
			if want := []string{x.name + " 2", x.name + " 3"}; !slices.Equal(r, want) {
				t.Errorf("got steps %v, want %v", r, want)
			}
			err := x.open(r.formats(2, nil), "0.2.0")
			if !errors.Is(err, domain.ErrConflict) {
				t.Fatalf("an older program: got %v", err)
			}
			for _, say := range []string{"format 3", "up to 2", "made by ramet 0.3.4", "needs ramet 0.3.0 or newer"} {
				if !strings.Contains(err.Error(), say) {
					t.Errorf("%q lacks %q", err, say)
				}
			}
		})
	}
}

// TestAStepThatFailsIsRunAgain wants nothing to count as new that is not.
func TestAStepThatFailsIsRunAgain(t *testing.T) {
	for _, x := range things(t) {
		t.Run(x.name, func(t *testing.T) {
			var r ran
			broken := errors.New("the disk is full")
			failing := func(_ string, to int) error {
				if to == 3 {
					return broken
				}
				return nil
			}
			if err := x.open(r.formats(3, failing), "0.3.0"); !errors.Is(err, broken) || !strings.Contains(err.Error(), "from format 2 to 3") {
				t.Fatalf("got %v", err)
			}
			if err := x.open(r.formats(1, nil), "0.1.0"); err != nil {
				t.Errorf("nothing was brought up to date, and the old program is refused: %v", err)
			}
			r = nil
			if err := x.open(r.formats(3, nil), "0.3.0"); err != nil || len(r) != 2 {
				t.Errorf("got steps %v, %v", r, err)
			}
		})
	}
}

func TestADamagedFormatIsRefused(t *testing.T) {
	for _, text := range []string{"", "no JSON", `{}`, `{"format":0}`, `{"format":-3}`, `{"format":"x"}`, strings.Repeat(" ", 5000) + `{"format":1}`} {
		dir := t.TempDir()
		path := filepath.Join(dir, format.File)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := format.Ours.OpenFolder(dir, "x"); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%.40q: got %v", text, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%.40q was changed: %v", text, err)
		}
	}
	b := memboard.Open()
	t.Cleanup(func() { b.Close() })
	if err := b.Commit(t.Context(), *new(board.Batch).Set(layout.Format, board.Field{Name: layout.FormatVersion, Value: "x"})); err != nil {
		t.Fatal(err)
	}
	if err := format.Ours.CheckBoard(t.Context(), b); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("board: got %v", err)
	}
}

// TestWhatANewerFileSaysBesidesIsNoDamage lets programs to come write more into it.
func TestWhatANewerFileSaysBesidesIsNoDamage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, format.File), []byte(`{"format":99,"needs":"9.0.0","made_by":"9.1.0","sealed":true}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := format.Ours.OpenFolder(dir, "x"); !errors.Is(err, domain.ErrConflict) || !strings.Contains(err.Error(), "9.0.0 or newer") {
		t.Errorf("got %v", err)
	}
}

// keeper is that of a node on a board that others are on, too.
func keeper(b format.Board, f format.Formats, name string, log *slog.Logger) format.Keeper {
	return format.Keeper{Formats: f, Board: b, Node: name, Program: "of " + name, Logger: log}
}

// alive says on the board that a node lives; knows 0 is one of before there were formats.
func alive(t *testing.T, b board.Board, name string, knows int, at time.Time) {
	t.Helper()
	fields := append(layout.EncodeNode(domain.Node{Name: name, Format: knows}),
		board.Field{Name: layout.NodeSeen, Value: strconv.FormatInt(at.UnixMilli(), 10)})
	if err := b.Commit(t.Context(), *new(board.Batch).Set(layout.Node(name), fields...)); err != nil {
		t.Fatal(err)
	}
}

func versionOf(t *testing.T, b board.Board) string {
	t.Helper()
	recs, err := b.Get(t.Context(), 0, layout.Format)
	if err != nil {
		t.Fatal(err)
	}
	return recs[0].Get(layout.FormatVersion)
}

// TestABoardIsBroughtUpToDateWhenTheLastOlderNodeIsGone is a rolling upgrade: the newer
// node leaves the board as it is while one of before lives, and one that was silent
// meanwhile stops when it is back.
func TestABoardIsBroughtUpToDateWhenTheLastOlderNodeIsGone(t *testing.T) {
	for _, knows := range []int{0, 1} {
		synctest.Test(t, func(t *testing.T) {
			b := memboard.Open()
			defer b.Close()
			var r ran
			log := slog.New(slog.DiscardHandler)
			ctx, end := context.WithCancel(t.Context())
			var told atomic.Int32
			older, newer := keeper(b, r.formats(1, nil), "old", log), keeper(b, r.formats(2, nil), "new", log)
			if _, err := older.Start(ctx); err != nil {
				t.Fatal(err)
			}
			alive(t, b, "old", knows, time.Now())
			newer.Newest = func(context.Context) error { told.Add(1); return nil }
			if newest, err := newer.Start(ctx); newest || err != nil || versionOf(t, b) != "1" {
				t.Fatalf("beside an older node: format %s, %v", versionOf(t, b), err)
			}
			stopped, left := make(chan error, 1), make(chan error, 1)
			go func() { left <- older.Run(ctx) }()
			go func() { stopped <- newer.Run(ctx) }()
			for range 10 { // it lives on
				time.Sleep(10 * time.Second)
				alive(t, b, "old", knows, time.Now())
			}
			if versionOf(t, b) != "1" || len(r.steps()) != 0 || told.Load() != 0 {
				t.Errorf("beside an older node: format %s, steps %v", versionOf(t, b), r.steps())
			}
			time.Sleep(2 * domain.NodeSilence) // now it is silent
			if versionOf(t, b) != "2" || !slices.Equal(r.steps(), ran{"board 2"}) || told.Load() != 1 {
				t.Errorf("when it is gone: format %s, steps %v", versionOf(t, b), r.steps())
			}
			if err := <-left; !errors.Is(err, domain.ErrConflict) {
				t.Errorf("the older node goes on: %v", err)
			}
			if _, err := older.Start(ctx); !errors.Is(err, domain.ErrConflict) {
				t.Errorf("the older node starts again: %v", err)
			}
			end()
			if err := <-stopped; err != nil {
				t.Error(err)
			}
		})
	}
}

// TestTwoNodesBringABoardUpToDateAtOnce wants both to go on.
func TestTwoNodesBringABoardUpToDateAtOnce(t *testing.T) {
	b := memboard.Open()
	defer b.Close()
	var r ran
	log := slog.New(slog.DiscardHandler)
	second := keeper(b, r.formats(2, nil), "second", log)
	f := r.formats(2, nil)
	f[1].Board = func(ctx context.Context, _ format.Board) error { _, err := second.Start(ctx); return err } // in the midst of the first one's step
	if newest, err := keeper(b, f, "first", log).Start(t.Context()); !newest || err != nil || versionOf(t, b) != "2" {
		t.Errorf("got format %s, %v", versionOf(t, b), err)
	}
}

// TestABoardThatIsAwayStopsNoNode lets the keeper ask again.
func TestABoardThatIsAwayStopsNoNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		b.Close()
		var out bytes.Buffer
		ctx, end := context.WithTimeout(t.Context(), 50*time.Second)
		defer end()
		if err := keeper(b, format.Ours, "n", slog.New(slog.NewTextHandler(&out, nil))).Run(ctx); err != nil {
			t.Error(err)
		}
		if n := strings.Count(out.String(), "tried again"); n != 4 {
			t.Errorf("it said so %d times in 50 seconds:\n%s", n, out.String())
		}
	})
}
