package redisboard_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/redisboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/redistest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// number takes the next number as soon as the server answers.
func number(t *testing.T, b *redisboard.Board, space board.Space, key string) int64 {
	t.Helper()
	for end := time.Now().Add(within); ; {
		n, err := b.Next(t.Context(), space, key, 1)
		if err == nil {
			return n
		}
		if !errors.Is(err, domain.ErrUnavailable) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

func epoch(t *testing.T, b *redisboard.Board) board.Epoch {
	t.Helper()
	recs, err := b.Get(t.Context(), 0, board.EpochKey)
	if err != nil {
		t.Fatal(err)
	}
	return board.EpochOf(recs[0])
}

// TestLostNumbersAreNotGivenOutAgain loses what a Redis of appendfsync everysec has
// answered last, as a power cut does.
func TestLostNumbersAreNotGivenOutAgain(t *testing.T) {
	for _, tenancy := range []redisboard.Tenancy{redisboard.TenancyDB, redisboard.TenancyPrefix} {
		t.Run(string(tenancy), func(t *testing.T) {
			s := redistest.Start(t, "appendonly yes", "appendfsync everysec")
			cfg := redisboard.Config{Tenancy: tenancy}
			b, other := open(t, s, cfg), open(t, s, cfg)
			commit(t, b, (&board.Batch{}).Include("contexts", "7", "no number", "0"))
			number(t, b, 7, "ramet:seq:job:12")
			number(t, b, 0, "ramet:seq:actor")
			number(t, b, 0, "ramet:seq:context")
			if e := epoch(t, b); e.Number != 0 {
				t.Errorf("got epoch %+v, want the first", e)
			}
			s.Keep()
			job, actor := int64(0), number(t, other, 0, "ramet:seq:actor")
			for range 1000 {
				job = number(t, b, 7, "ramet:seq:job:12")
			}
			for i := range int64(2) {
				s.Lose()
				after := number(t, b, 7, "ramet:seq:job:12")
				if after <= job {
					t.Fatalf("number %d is given out after %d, which somebody has", after, job)
				}
				if n := number(t, other, 7, "ramet:seq:job:12"); n != after+1 {
					t.Errorf("got number %d of the other board, want %d", n, after+1)
				}
				if n := number(t, other, 0, "ramet:seq:actor"); n <= actor {
					t.Errorf("actor %d is given out after %d", n, actor)
				}
				if n := number(t, b, 0, "ramet:seq:context"); tenancy == redisboard.TenancyDB && n != 2 {
					t.Errorf("got context %d, want 2: databases are few", n)
				}
				if e := epoch(t, b); e.Number != 1 || e.Cause == "" || time.Since(e.Since) > time.Hour {
					t.Errorf("got epoch %+v of the copy that was put back %d times, want the second", e, i+1)
				}
			}
			s.Restart()
			number(t, b, 7, "ramet:seq:job:12")
			if e := epoch(t, open(t, s, cfg)); e.Number != 2 {
				t.Errorf("got epoch %+v after a restart, want the third", e)
			}
		})
	}
}

// TestWhatLosesNothingBeginsNoEpoch restarts a server whose answered writes lie on
// its disk, with and without a board that is there meanwhile.
func TestWhatLosesNothingBeginsNoEpoch(t *testing.T) {
	s := redistest.Start(t, "appendonly yes", "appendfsync always")
	b := open(t, s, redisboard.Config{})
	number(t, b, 7, "n")
	dial(t, s, 0).do("SCRIPT", "FLUSH")
	number(t, b, 7, "n")
	s.Restart()
	if n := number(t, b, 7, "n"); n != 3 {
		t.Errorf("got number %d, want 3", n)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	s.Restart()
	b = open(t, s, redisboard.Config{})
	if n, e := number(t, b, 7, "n"), epoch(t, b); n != 4 || e.Number != 0 {
		t.Errorf("got number %d in epoch %+v, want 4 in the first", n, e)
	}
}

// TestAnEmptiedServerIsNoNewBoard to who knew the old one, whichever way it came to be
// empty, and though another board was begun there meanwhile.
func TestAnEmptiedServerIsNoNewBoard(t *testing.T) {
	for _, tenancy := range []redisboard.Tenancy{redisboard.TenancyDB, redisboard.TenancyPrefix} {
		for name, empty := range map[string]func(s *redistest.Server){
			"emptied":               func(s *redistest.Server) { dial(t, s, 0).do("FLUSHALL") },
			"started without files": func(s *redistest.Server) { s.Lose() },
		} {
			t.Run(string(tenancy)+" "+name, func(t *testing.T) {
				s := redistest.Start(t, "appendonly yes", "appendfsync everysec")
				s.Keep()
				cfg := redisboard.Config{Tenancy: tenancy}
				b := open(t, s, cfg)
				for range 3 {
					number(t, b, 7, "n")
				}
				empty(s)
				refused := func() {
					t.Helper()
					for what, do := range map[string]func() error{
						"a number": func() error { _, err := b.Next(t.Context(), 7, "n", 1); return err },
						"a read":   func() error { _, err := b.Get(t.Context(), 0, "r"); return err },
						"a commit": func() error {
							return b.Commit(t.Context(), *(&board.Batch{}).Set("r", board.Field{Name: "a", Value: "b"}))
						},
						"a claim": func() error { _, err := b.Claim(t.Context(), waitingAsk("queue:v")); return err },
					} {
						var err error
						testwait.Until(t, what+" that is answered", func() bool {
							err = do()
							return err == nil || !strings.Contains(err.Error(), "cannot be reached")
						})
						if !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), "the board that this node knew is gone") ||
							!strings.Contains(err.Error(), "--accept-loss") {
							t.Errorf("%s: got %v, want that the board is gone", what, err)
						}
					}
				}
				refused()
				if n := number(t, open(t, s, cfg), 7, "n"); n != 1 {
					t.Errorf("got number %d of a new board, want 1", n)
				}
				refused()
			})
		}
	}
}
