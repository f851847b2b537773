package pebbleboard

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
)

// limits is what a space's record [board.LimitsKey] says.
type limits struct {
	weight float64
	max    int            // noLimit: none
	caps   map[string]int // CapGroup to most leases
}

const noLimit = -1

var defaultLimits = limits{weight: 1, max: noLimit}

// readLimits reads the limits; what is malformed counts as not there.
func readLimits(fields []board.Field) limits {
	lim := defaultLimits
	for _, f := range fields {
		n, err := strconv.Atoi(f.Value)
		if err != nil || n < 0 {
			continue
		}
		group, isCap := strings.CutPrefix(f.Name, "max:")
		switch {
		case f.Name == "weight" && n >= 1 && n <= 1000:
			lim.weight = float64(n)
		case f.Name == "max":
			lim.max = n
		case isCap:
			if lim.caps == nil {
				lim.caps = map[string]int{}
			}
			lim.caps[text(group)] = n
		}
	}
	return lim
}

// space is what the committer counts of one space. It is made when the space
// first has something queued or leased, and stays.
type space struct {
	id     board.Space
	limits limits
	held   int                // claimed leases
	heldBy map[string]int     // claimed leases of each CapGroup
	parked map[*turn]struct{} // ready in their groups, but at a cap
}

func (c *committer) spaceOf(id board.Space) *space {
	s := c.spaces[id]
	if s == nil {
		s = &space{id: id, limits: defaultLimits, heldBy: map[string]int{}, parked: map[*turn]struct{}{}}
		c.spaces[id] = s
		c.loadLimits(s)
	}
	return s
}

// loadLimits reads a space's limits. What cannot be read limits nothing: the
// commit that changes it, or the next start, tries again.
func (c *committer) loadLimits(s *space) {
	o, err := c.object(s.id, board.LimitsKey)
	if err != nil {
		return
	}
	s.limits = defaultLimits
	if o.kind == kindRecord && c.openFields(o) == nil {
		s.limits = readLimits(o.fields)
	}
}

// free says how many more leases of a cap group the space may have, at most n.
func (s *space) free(capGroup string, n int) int {
	if s.limits.max != noLimit {
		n = min(n, s.limits.max-s.held)
	}
	if most, capped := s.limits.caps[capGroup]; capped {
		n = min(n, most-s.heldBy[capGroup])
	}
	return max(n, 0)
}

// group is the spaces that have something in one queue group, and who waits.
type group struct {
	name     string
	capGroup string
	turns    map[board.Space]*turn
	heap     turnHeap
	clock    float64 // pass of the space served last
	waiters  []*claimer
}

// turn is one space's place in a group. It stays when the space has nothing
// left, because it remembers the pass.
type turn struct {
	g     *group
	s     *space
	pass  float64
	lists []string // of the group that are not empty
	at    int      // place in the heap; absent: not there
}

func (c *committer) group(name string) *group {
	g := c.groups[name]
	if g == nil {
		name = text(name)
		g = &group{name: name, capGroup: board.CapGroup(name), turns: map[board.Space]*turn{}}
		c.groups[name] = g
	}
	return g
}

// account takes note of whether a queue is empty, and says whether it holds
// something that may be claimed.
func (c *committer) account(id board.Space, list string, filled bool) (*group, bool) {
	g := c.groups[board.Group(list)]
	if g == nil {
		if !filled {
			return nil, false
		}
		g = c.group(board.Group(list))
	}
	t := g.turns[id]
	if t == nil {
		if !filled {
			return g, false
		}
		t = &turn{g: g, s: c.spaceOf(id), at: absent}
		g.turns[id] = t
	}
	i := slices.Index(t.lists, list)
	switch {
	case filled && i < 0:
		t.lists = append(t.lists, text(list))
		c.filled++
		if _, parked := t.s.parked[t]; t.at == absent && !parked {
			t.enter()
		}
	case !filled && i >= 0:
		t.lists = slices.Delete(t.lists, i, i+1)
		c.filled--
		if len(t.lists) == 0 {
			t.leave()
		}
	}
	return g, filled
}

// enter puts the space among those that are served. It was away, so it comes
// at the pass of the one served last; it keeps a later one of its own, or
// else emptying its queue after every push would beat every weight.
func (t *turn) enter() {
	delete(t.s.parked, t)
	t.pass = max(t.pass, t.g.clock)
	heap.Push(&t.g.heap, t)
}

func (t *turn) leave() {
	delete(t.s.parked, t)
	if t.at != absent {
		heap.Remove(&t.g.heap, t.at)
	}
}

// park takes a space that is at a cap out of the turns.
func (t *turn) park() {
	heap.Remove(&t.g.heap, t.at)
	t.s.parked[t] = struct{}{}
}

// unpark lets spaces take part again where their caps allow, and has those
// served who wait for that.
func (c *committer) unpark(s *space) {
	var back []*turn
	for t := range s.parked {
		if s.free(t.g.capGroup, 1) > 0 {
			back = append(back, t)
		}
	}
	// In order of names: map order must not decide who gets a freed slot.
	slices.SortFunc(back, func(a, b *turn) int { return strings.Compare(a.g.name, b.g.name) })
	for _, t := range back {
		t.enter()
		c.ready(t.g)
	}
}

// ready has those who wait for a group served after the batch.
func (c *committer) ready(g *group) {
	if len(g.waiters) > 0 && !slices.Contains(c.readied, g) {
		c.readied = append(c.readied, g)
	}
}

// turnHeap orders turns by pass, then space.
type turnHeap []*turn

func (h turnHeap) Len() int { return len(h) }
func (h turnHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].pass, h[j].pass), cmp.Compare(h[i].s.id, h[j].s.id)) < 0
}

func (h turnHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *turnHeap) Push(x any) {
	t := x.(*turn)
	t.at = len(*h)
	*h = append(*h, t)
}

func (h *turnHeap) Pop() any {
	last := len(*h) - 1
	t := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	t.at = absent
	return t
}
