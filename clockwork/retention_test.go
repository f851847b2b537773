package clockwork_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// offBoard is one whose time is off by so much from that of the node's machine.
type offBoard struct {
	board.Board
	off time.Duration
}

func (b offBoard) Now() time.Time { return b.Board.Now().Add(b.off) }

// TestRetentionGoesByTheBoardsTime has a node whose machine's clock is a month off look for what
// is old: what ended a moment ago stays on the board and in the archive.
func TestRetentionGoesByTheBoardsTime(t *testing.T) {
	for _, off := range []time.Duration{-30 * 24 * time.Hour, 30 * 24 * time.Hour} {
		t.Run(off.String(), func(t *testing.T) {
			inYard(t, func(y *yard) {
				y.board = offBoard{y.board, off}
				y.engine = work.New(y.board, work.Config{})
				y.end(1, 1)
				ctx, stop := context.WithCancel(y.Context())
				defer stop()
				go y.archiver(y.board).Round(ctx)
				time.Sleep(30 * time.Minute) // it keeps for an hour
				synctest.Wait()
				stop()
				if len(y.archive.deletes) == 0 {
					y.Error("the archive was not cleared")
				}
				for _, before := range y.archive.deletes {
					if age := y.board.Now().Sub(before); age < time.Hour || age > 2*time.Hour {
						y.Errorf("the archive was cleared of what is older than %v, and keeps it for an hour", age)
					}
				}
				if err := y.pruner(7 * 24 * time.Hour).Round(y.Context()); err != nil {
					y.Fatal(err)
				}
				if _, err := y.engine.Show(y.Context(), 1, domain.JobKey{Caller: 1, ID: 1}); err != nil {
					y.Errorf("what ended a moment ago: %v", err)
				}
			})
		})
	}
}
