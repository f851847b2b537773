package etcdboard

import (
	"math"
	"slices"
	"strings"
)

// This file has lists. A list lies in segments, numbered from left to right;
// its head has the numbers of the first and the last, which are never empty.
// Segments between them may be gone. Whoever makes or removes a segment, or
// changes one between the ends, writes the head, whoever changes items notes it:
// so two changes at opposite ends of a long list do not meet, none is judged by
// bounds that have moved, and who has noted the head and both ends has noted all.

func (t *tx) segment(n name, number int64) *segment {
	s, _ := t.get(n.segmentKey(number)).(*segment)
	return s
}

// look reads a segment on whose items something rests. One between the ends
// changes only with the head, which has been noted.
func (t *tx) look(n name, h *head, number int64) *segment {
	if number == h.lo || number == h.hi {
		return t.segment(n, number)
	}
	s, _ := t.peek(n.segmentKey(number)).(*segment)
	return s
}

// ownSegment returns a copy of a segment, to be changed; an empty one when it
// is not there.
func (t *tx) ownSegment(n name, number int64) *segment {
	s := t.segment(n, number)
	key := n.segmentKey(number)
	if _, mine := t.layer.writes[key]; mine && s != nil {
		return s
	}
	if s == nil {
		s = &segment{}
	} else {
		s = s.clone()
	}
	t.put(key, s)
	return s
}

func (t *tx) pushRight(n name, items []string) error {
	if len(items) == 0 {
		_, err := t.lookup(n, kindList)
		return err
	}
	h, err := t.extend(n)
	if err != nil {
		return err
	}
	for _, it := range items {
		if h.lo > h.hi || t.segment(n, h.hi).full() {
			h = t.change(n, h)
			h.hi++
		}
		s := t.ownSegment(n, h.hi)
		s.items = append(s.items, strings.Clone(it))
	}
	return nil
}

func (t *tx) pushLeft(n name, items []string) error {
	if len(items) == 0 {
		_, err := t.lookup(n, kindList)
		return err
	}
	h, err := t.extend(n)
	if err != nil {
		return err
	}
	for _, it := range items {
		if h.lo > h.hi || t.segment(n, h.lo).full() {
			h = t.change(n, h)
			h.lo--
		}
		s := t.ownSegment(n, h.lo)
		s.items = slices.Insert(s.items, 0, strings.Clone(it))
	}
	return nil
}

// extend returns the head of a list that is pushed to. That of a list which is
// there is only noted: most pushes leave it as it is.
func (t *tx) extend(n name) (*head, error) {
	h, err := t.lookup(n, kindList)
	if h != nil || err != nil {
		return h, err
	}
	return t.own(n, kindList)
}

// popRight takes the last item of a list that is there. It returns the head,
// nil when that was the only one.
//
// A segment that is not there, or cannot be read, counts as one item that names
// nothing.
func (t *tx) popRight(n name, h *head) (string, *head) {
	s := t.ownSegment(n, h.hi)
	last := len(s.items) - 1
	if last < 0 {
		return "", t.removeSegment(n, h, h.hi)
	}
	it := s.items[last]
	s.items = s.items[:last]
	if last > 0 {
		return it, h
	}
	return it, t.removeSegment(n, h, h.hi)
}

// popLeft takes the first item of a list that is there, like popRight.
func (t *tx) popLeft(n name, h *head) *head {
	s := t.ownSegment(n, h.lo)
	if len(s.items) > 0 {
		s.items = s.items[1:]
	}
	if len(s.items) > 0 {
		return h
	}
	return t.removeSegment(n, h, h.lo)
}

// removeSegment takes out an emptied segment and moves the bounds where they
// were at it. It returns the head, nil when the list is empty. One that cannot be
// read is only left out of the bounds: it is to be seen until it is discarded.
func (t *tx) removeSegment(n name, h *head, number int64) *head {
	key := n.segmentKey(number)
	if _, strange := t.m.cells[key].value.(unreadable); strange {
		delete(t.layer.writes, key)
	} else {
		t.del(key)
	}
	h = t.change(n, h)
	for h.lo <= h.hi && items(t.peek(n.segmentKey(h.lo))) == 0 {
		h.lo++
	}
	for h.lo <= h.hi && items(t.peek(n.segmentKey(h.hi))) == 0 {
		h.hi--
	}
	if h.lo > h.hi {
		t.drop(n, h)
		return nil
	}
	return h
}

// length is how long a list is by the mirror and what was changed since; nil
// has no items.
func (t *tx) length(n name, h *head) int {
	if h == nil {
		return 0
	}
	t.look(n, h, h.lo)
	t.look(n, h, h.hi)
	total := t.m.space(n.space).lengths[n.key]
	prefix := n.in(roomSegment) + "\x00"
	count := func(key string, v any) {
		if strings.HasPrefix(key, prefix) {
			total += items(v) - items(t.m.cells[key].value)
		}
	}
	for key, v := range t.kept.writes {
		if _, again := t.layer.writes[key]; !again {
			count(key, v)
		}
	}
	for key, v := range t.layer.writes {
		count(key, v)
	}
	return total
}

func (t *tx) append(n name, most int64, items []string) error {
	if err := t.pushRight(n, items); err != nil {
		return err
	}
	h, err := t.lookup(n, kindList)
	if h == nil {
		return err
	}
	for over := int64(t.length(n, h)) - most; over > 0 && h != nil; over-- {
		h = t.popLeft(n, h)
	}
	return nil
}

// item returns the item at an index of a list, counted from the right end when
// it is negative; nil has none.
func (t *tx) item(n name, h *head, index int64) (string, bool) {
	if h == nil {
		return "", false
	}
	if index >= 0 {
		for i := h.lo; i <= h.hi; i++ {
			s := t.look(n, h, i)
			if index < int64(items(s)) {
				return s.items[index], true
			}
			index -= int64(items(s))
		}
		return "", false
	}
	for i := h.hi; i >= h.lo; i-- {
		s := t.look(n, h, i)
		if index += int64(items(s)); index >= 0 {
			return s.items[index], true
		}
	}
	return "", false
}

func (t *tx) trim(n name, count int64, left bool) error {
	h, err := t.lookup(n, kindList)
	for ; h != nil && count > 0; count-- {
		if left {
			h = t.popLeft(n, h)
		} else {
			_, h = t.popRight(n, h)
		}
	}
	return err
}

// dropItems implements [board.OpDrop].
func (t *tx) dropItems(n name, count int64, gone []string) error {
	if count == 0 {
		drop := make(map[string]struct{}, len(gone))
		for _, it := range gone {
			drop[it] = struct{}{}
		}
		return t.dropFrom(n, false, math.MaxUint64, func(it string) bool { _, ok := drop[it]; return ok })
	}
	for _, it := range gone {
		err := t.dropFrom(n, count < 0, uint64(max(count, -count)), func(other string) bool { return other == it })
		if err != nil {
			return err
		}
	}
	return nil
}

// dropFrom drops the first most items that are meant, from one end on.
func (t *tx) dropFrom(n name, right bool, most uint64, meant func(string) bool) error {
	h, err := t.lookup(n, kindList)
	if h == nil {
		return err
	}
	i, last, step := h.lo, h.hi, int64(1)
	if right {
		i, last, step = last, i, -1
	}
	for ; h != nil && most > 0; i += step {
		s := t.look(n, h, i)
		if s != nil && slices.ContainsFunc(s.items, meant) {
			h = t.change(n, h)
			own := t.ownSegment(n, i)
			most -= own.drop(right, most, meant)
			if len(own.items) == 0 {
				h = t.removeSegment(n, h, i)
			}
		}
		if i == last {
			break
		}
	}
	return nil
}

// drop drops the first most items that are meant, from one end on, and returns
// how many that were.
func (s *segment) drop(right bool, most uint64, meant func(string) bool) (dropped uint64) {
	one := func(it string) bool {
		if dropped == most || !meant(it) {
			return false
		}
		dropped++
		return true
	}
	if right {
		slices.Reverse(s.items)
		defer func() { slices.Reverse(s.items) }()
	}
	s.items = slices.DeleteFunc(s.items, one)
	return dropped
}
