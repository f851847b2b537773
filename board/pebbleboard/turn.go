package pebbleboard

import (
	"slices"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/turn"
	"github.com/ramet-run/ramet/queue"
)

// spaceOf is what the committer counts of one space. It is made when the space
// first has something queued or leased, and stays.
func (c *committer) spaceOf(id board.Space) *turn.Space {
	s := c.spaces[id]
	if s == nil {
		s = turn.NewSpace(id)
		c.spaces[id] = s
		c.loadLimits(s)
	}
	return s
}

// loadLimits reads a space's limits. What cannot be read limits nothing: the
// commit that changes it, or the next start, tries again.
func (c *committer) loadLimits(s *turn.Space) {
	o, err := c.object(s.ID, board.LimitsKey)
	if err != nil {
		return
	}
	s.Limits = turn.ReadLimits(nil)
	if o.kind == kindRecord && c.openFields(o) == nil {
		s.Limits = turn.ReadLimits(o.fields)
	}
}

// group is the spaces that have something in one queue group, and who waits.
type group struct {
	turn.Group
	waiters []*claimer
}

func (c *committer) group(name string) *group {
	g := c.groups[name]
	if g == nil {
		name = text(name)
		g = &group{Group: turn.NewGroup(name)}
		c.groups[name] = g
	}
	return g
}

// account takes note of whether a queue is empty, and says whether it holds
// something that may be claimed.
func (c *committer) account(id board.Space, list string, filled bool) (*group, bool) {
	g := c.groups[queue.Group(list)]
	switch {
	case g == nil && !filled:
		return nil, false
	case g == nil:
		g = c.group(queue.Group(list))
	case !filled && !g.Knows(id):
		return g, false
	}
	c.filled += g.Account(c.spaceOf(id), list, filled)
	return g, filled
}

// unpark lets spaces take part again where their caps allow, and has those
// served who wait for that.
func (c *committer) unpark(s *turn.Space) {
	for _, name := range s.Unpark() {
		c.ready(c.groups[name])
	}
}

// ready has those who wait for a group served after the batch.
func (c *committer) ready(g *group) {
	if len(g.waiters) > 0 && !slices.Contains(c.readied, g) {
		c.readied = append(c.readied, g)
	}
}
