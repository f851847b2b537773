package memboard

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
func readLimits(e *entry) limits {
	lim := defaultLimits
	if e == nil || e.kind != kindRecord {
		return lim
	}
	for _, f := range e.rec.fields {
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
			lim.caps[group] = n
		}
	}
	return lim
}

// full reports whether one more lease of the cap group would break a cap.
func (s *space) full(capGroup string) bool {
	if s.limits.max != noLimit && s.held >= s.limits.max {
		return true
	}
	most, capped := s.limits.caps[capGroup]
	return capped && s.heldBy[capGroup] >= most
}

// group is the spaces that have something in one queue group, and who waits.
type group struct {
	name     string
	capGroup string
	turns    map[board.Space]*turn
	heap     turnHeap
	clock    float64 // pass of the space served last
	waiters  waiters
}

// turn is one space's place in a group. It stays when the space has nothing
// left, because it remembers the pass.
type turn struct {
	g     *group
	s     *space
	pass  float64
	lists map[string]struct{} // lists of the group that are not empty
	at    int                 // index in the heap; absent: not there
}

const absent = -1

func (b *Board) group(name string) *group {
	g := b.groups[name]
	if g == nil {
		g = &group{name: name, capGroup: board.CapGroup(name), turns: map[board.Space]*turn{}}
		b.groups[name] = g
	}
	return g
}

// account takes note of whether a queue is empty.
func (b *Board) account(s *space, list string) {
	e := s.entries[list]
	filled := e != nil && e.kind == kindList
	g := b.groups[board.Group(list)]
	if g == nil {
		if !filled {
			return
		}
		g = b.group(board.Group(list))
	}
	t := g.turns[s.id]
	if t == nil {
		t = &turn{g: g, s: s, at: absent, lists: map[string]struct{}{}}
		g.turns[s.id] = t
	}
	if filled {
		t.lists[list] = struct{}{}
		if _, parked := s.parked[t]; t.at == absent && !parked {
			t.enter()
		}
		return
	}
	delete(t.lists, list)
	if len(t.lists) == 0 {
		t.leave()
	}
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

// unpark lets a space take part again where its caps allow, and serves those
// who wait for that.
func (b *Board) unpark(s *space, now int64) {
	var back []*group
	for t := range s.parked {
		if !s.full(t.g.capGroup) {
			back = append(back, t.g)
			t.enter()
		}
	}
	// In order of names: map order must not decide who gets a freed slot.
	slices.SortFunc(back, func(a, b *group) int { return strings.Compare(a.name, b.name) })
	for _, g := range back {
		b.serve(g, now)
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
