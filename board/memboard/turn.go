package memboard

import (
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
	"github.com/ramet-run/ramet/queue"
)

// readLimits reads the limits of a space from what lies under
// [board.LimitsKey].
func readLimits(e *entry) turn.Limits {
	if e == nil || e.kind != board.KindRecord {
		return turn.ReadLimits(nil)
	}
	return turn.ReadLimits(e.rec.fields)
}

// group is the spaces that have something in one queue group, and who waits.
type group struct {
	turn.Group
	waiters waiters
}

func (b *Board) group(name string) *group {
	g := b.groups[name]
	if g == nil {
		g = &group{Group: turn.NewGroup(name)}
		b.groups[name] = g
	}
	return g
}

// account takes note of whether a queue is empty.
func (b *Board) account(s *space, list string) {
	e := s.entries[list]
	filled := e != nil && e.kind == board.KindList
	if filled || b.groups[queue.Group(list)] != nil {
		b.group(queue.Group(list)).Account(s.turns, list, filled)
	}
}

// unpark lets a space take part again where its caps allow, and serves those
// who wait for that.
func (b *Board) unpark(s *space, now int64) {
	for _, name := range s.turns.Unpark() {
		b.serve(b.groups[name], now)
	}
}
