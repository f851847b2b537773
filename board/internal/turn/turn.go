// Package turn is what drivers of a board share of fairness: in which order
// spaces are served that have something in the same queue group, and which
// take no part because they are at a cap. It is bookkeeping only, for one
// goroutine at a time.
//
// Each space has a pass in each group, which grows by what it was given,
// divided by its weight; the lowest is served next (stride scheduling).
package turn

import (
	"cmp"
	"container/heap"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

// Limits is what a space's record [board.LimitsKey] says.
type Limits struct {
	weight float64
	max    int            // noLimit: none
	caps   map[string]int // CapGroup to most leases
}

const noLimit = -1

// ReadLimits reads the limits; what is malformed counts as not there. It keeps
// nothing of the fields' memory.
func ReadLimits(fields []board.Field) Limits {
	lim := Limits{weight: 1, max: noLimit}
	for _, f := range fields {
		n, err := strconv.Atoi(f.Value)
		if err != nil || n < 0 {
			continue
		}
		group, isCap := queue.CappedGroup(f.Name)
		switch {
		case f.Name == "weight" && n >= 1 && n <= 1000:
			lim.weight = float64(n)
		case f.Name == queue.MaxField:
			lim.max = n
		case isCap:
			if lim.caps == nil {
				lim.caps = map[string]int{}
			}
			lim.caps[strings.Clone(group)] = n
		}
	}
	return lim
}

// Space is what is counted of one space.
type Space struct {
	ID     board.Space
	Limits Limits
	held   int                // claimed leases
	heldBy map[string]int     // claimed leases of each CapGroup
	parked map[*Turn]struct{} // ready in their groups, but at a cap
}

// NewSpace returns a space that holds nothing and has no limits.
func NewSpace(id board.Space) *Space {
	return &Space{ID: id, Limits: ReadLimits(nil), heldBy: map[string]int{}, parked: map[*Turn]struct{}{}}
}

// Hold counts a claimed lease.
func (s *Space) Hold(capGroup string) {
	if queue.Counted(capGroup) {
		s.held++
	}
	s.heldBy[capGroup]++
}

// Release takes back what Hold counted.
func (s *Space) Release(capGroup string) {
	if queue.Counted(capGroup) {
		s.held--
	}
	if s.heldBy[capGroup]--; s.heldBy[capGroup] == 0 {
		delete(s.heldBy, capGroup)
	}
}

// free says how many more leases of a cap group the space may have, at most n.
func (s *Space) free(capGroup string, n int) int {
	if s.Limits.max != noLimit && queue.Counted(capGroup) {
		n = min(n, s.Limits.max-s.held)
	}
	if most, capped := s.Limits.caps[capGroup]; capped {
		n = min(n, most-s.heldBy[capGroup])
	}
	return max(n, 0)
}

// Unpark lets the space take part again where its caps allow. It returns the
// names of the groups, in order: map order must not decide who gets a freed slot.
func (s *Space) Unpark() (groups []string) {
	for t := range s.parked {
		if s.free(t.g.capGroup, 1) > 0 {
			groups = append(groups, t.g.name)
			t.enter()
		}
	}
	slices.Sort(groups)
	return groups
}

// Group is the spaces that have something in one queue group.
type Group struct {
	name     string
	capGroup string
	turns    map[board.Space]*Turn
	heap     turnHeap
	clock    float64 // pass of the space served last
}

// NewGroup returns a group without spaces. It keeps name.
func NewGroup(name string) Group {
	return Group{name: name, capGroup: queue.CapGroup(name), turns: map[board.Space]*Turn{}}
}

// Any reports whether a space has its turn: one with something, below its caps.
func (g *Group) Any() bool { return len(g.heap) > 0 }

// Knows reports whether the space had something in the group before.
func (g *Group) Knows(id board.Space) bool { return g.turns[id] != nil }

// Spaces are those that have something, also at a cap.
func (g *Group) Spaces() (ids []board.Space) {
	for id, t := range g.turns {
		if len(t.lists) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Account takes note of whether a list of the group is empty. It returns by
// how many the lists with something have become more.
func (g *Group) Account(s *Space, list string, filled bool) int {
	t := g.turns[s.ID]
	if t == nil {
		t = &Turn{g: g, Space: s, at: absent}
		g.turns[s.ID] = t
	}
	i := slices.Index(t.lists, list)
	switch {
	case filled && i < 0:
		t.lists = append(t.lists, strings.Clone(list))
		if _, parked := s.parked[t]; t.at == absent && !parked {
			t.enter()
		}
		return 1
	case !filled && i >= 0:
		t.lists = slices.Delete(t.lists, i, i+1)
		if len(t.lists) == 0 {
			t.leave()
		}
		return -1
	}
	return 0
}

// Take gives out up to want items, up to each from the space whose turn it is:
// take takes up to n of its items and says how many it got. A space at a cap is
// parked; one of which take gets nothing is passed over. An error ends it.
func (g *Group) Take(want, each int, take func(t *Turn, n int) (got int, err error)) (err error) {
	var passed []*Turn // ready, but with nothing for this call
	for want > 0 && len(g.heap) > 0 && err == nil {
		t := g.heap[0]
		n := t.Space.free(g.capGroup, min(each, want))
		if n == 0 {
			t.park()
			continue
		}
		var got int
		got, err = take(t, n)
		want -= got
		if got > 0 {
			g.clock = t.pass
			t.pass += float64(got) / t.Space.Limits.weight
			if t.at != absent {
				heap.Fix(&g.heap, t.at)
			}
		} else if t.at != absent {
			heap.Remove(&g.heap, t.at)
			passed = append(passed, t)
		}
	}
	for _, t := range passed {
		heap.Push(&g.heap, t)
	}
	return err
}

// Charge moves turns on. The group's clock goes along with the lowest of those that
// are ready, or where none is with those that are charged: who comes then is level
// with them, and owed nothing for the time in which it wanted nothing.
func (g *Group) Charge(charges []board.Charge) {
	for _, c := range charges {
		t := g.turns[c.Space]
		if t == nil {
			continue
		}
		t.pass += float64(c.Items) / t.Space.Limits.weight
		if t.at != absent {
			heap.Fix(&g.heap, t.at)
		} else if len(g.heap) == 0 {
			g.clock = max(g.clock, t.pass)
		}
	}
	if len(charges) > 0 && len(g.heap) > 0 {
		g.clock = max(g.clock, g.heap[0].pass)
	}
}

// Turn is one space's place in a group. It stays when the space has nothing
// left, because it remembers the pass.
type Turn struct {
	Space *Space
	g     *Group
	pass  float64
	lists []string // of the group that are not empty
	at    int      // place in the heap; absent: not there
}

const absent = -1

// CapGroup is the group under which leases of its items are counted.
func (t *Turn) CapGroup() string { return t.g.capGroup }

// Undo takes back that the space was given n items: nothing came of it.
func (t *Turn) Undo(n int) {
	t.pass -= float64(n) / t.Space.Limits.weight
	if t.at != absent {
		heap.Fix(&t.g.heap, t.at)
	}
}

// Has reports whether a list of the space in the group has something.
func (t *Turn) Has(list string) bool { return slices.Contains(t.lists, list) }

// Oldest is the list whose next item goes first by its age, of several that have
// something. It is "" where lists are served in their order: items do not age, or only
// one list has any. queued says when the next item of a list was queued; some is false
// where it has none after all.
func (t *Turn) Oldest(aging *board.Aging, lists []string, queued func(list string) (ms int64, some bool)) (oldest string) {
	if aging.Step <= 0 || len(t.lists) < 2 {
		return ""
	}
	var first int64
	several := false
	for i, list := range lists {
		if !t.Has(list) {
			continue
		}
		at, some := queued(list)
		if !some {
			continue
		}
		several = several || oldest != ""
		if at += int64(i) * aging.Step.Milliseconds(); oldest == "" || at < first {
			first, oldest = at, list
		}
	}
	if !several {
		return ""
	}
	return oldest
}

// enter puts the space among those that are served. It was away, so it comes
// at the pass of the one served last; it keeps a later one of its own, or
// else emptying its queue after every push would beat every weight.
func (t *Turn) enter() {
	delete(t.Space.parked, t)
	t.pass = max(t.pass, t.g.clock)
	heap.Push(&t.g.heap, t)
}

func (t *Turn) leave() {
	delete(t.Space.parked, t)
	if t.at != absent {
		heap.Remove(&t.g.heap, t.at)
	}
}

// park takes a space that is at a cap out of the turns.
func (t *Turn) park() {
	heap.Remove(&t.g.heap, t.at)
	t.Space.parked[t] = struct{}{}
}

// turnHeap orders turns by pass, then space.
type turnHeap []*Turn

func (h turnHeap) Len() int { return len(h) }
func (h turnHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].pass, h[j].pass), cmp.Compare(h[i].Space.ID, h[j].Space.ID)) < 0
}

func (h turnHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

func (h *turnHeap) Push(x any) {
	t := x.(*Turn)
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
