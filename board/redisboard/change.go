package redisboard

import (
	"context"
	"strings"
	"sync/atomic"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/recent"
)

// This file knows which spaces have changed. The script that commits writes it down
// in ramet:changed, a sorted set of spaces by the number of the call; the last number is
// the field changes of ramet:board. Programs that do not use it, foreign ones and nodes
// of an older version, are heard where they push to a list and the server tells of
// that: every end of a job is such a push.

// heard is what this board has heard of pushes since it last had a connection.
type heard struct{ spaces atomic.Pointer[recent.Spaces] }

// lose begins anew: what came meanwhile was not heard.
func (h *heard) lose() { h.spaces.Store(recent.New()) }

func (h *heard) note(space board.Space) { h.spaces.Load().Note(space) }

// Changed implements [board.Board]. The server's number and what was heard are one
// mark: who has missed messages looks at everything.
func (b *Board) Changed(ctx context.Context, since string) (board.Changes, error) {
	number, mark, _ := strings.Cut(since, " ")
	c := b.heard.spaces.Load().Since(mark) // before the server is asked: what is heard after comes next time
	m, err := b.read(ctx, "changed", 0, number)
	if err != nil {
		return board.Changes{}, err
	}
	answer, err := m.ToArray()
	if err != nil || len(answer) == 0 {
		return board.Changes{}, b.translate(err)
	}
	next, err := answer[0].ToString()
	if err != nil {
		return board.Changes{}, b.translate(err)
	}
	c.Next = next + " " + c.Next
	if c.All = c.All || len(answer) == 1; c.All {
		c.Spaces = nil
		return c, nil
	}
	spaces, err := b.ints(answer[1])
	for _, s := range spaces {
		c.Spaces = append(c.Spaces, board.Space(s))
	}
	return c, err
}
