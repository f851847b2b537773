package pebbleboard

import "slices"

// This file has what batches do to lists.

// makeList turns nothing into an empty list.
func (c *committer) makeList(o *object) error {
	if err := o.check(kindList); err != nil {
		return err
	}
	c.change(o)
	if o.kind == kindNone {
		o.kind, o.list = kindList, newList(c.number())
	}
	return nil
}

func (c *committer) push(o *object, items []string, left bool) error {
	if len(items) == 0 {
		return o.check(kindList)
	}
	if err := c.makeList(o); err != nil {
		return err
	}
	if left {
		if err := c.mend(o.list); err != nil {
			return err
		}
	}
	room := c.windowRoom(o)
	for _, it := range items {
		if left {
			o.list.pushLeft(it, room)
		} else {
			o.list.pushRight(it)
		}
	}
	return nil
}

// appendLog implements [board.OpAppend].
func (c *committer) appendLog(o *object, items []string, most int64) error {
	if err := c.push(o, items, false); err != nil || !o.exists() {
		return err
	}
	extra := int64(o.list.len()) - most
	if extra <= 0 {
		return nil
	}
	c.change(o)
	if most == 0 {
		c.vanish(o)
		return nil
	}
	o.list.cut(extra)
	return nil
}

// trimLeft implements [board.OpTrimLeft].
func (c *committer) trimLeft(o *object, n int64) error {
	if err := o.check(kindList); err != nil || !o.exists() || n <= 0 {
		return err
	}
	c.change(o)
	if n >= int64(o.list.len()) {
		c.vanish(o)
		return nil
	}
	o.list.cut(n)
	return nil
}

// trimRight implements [board.OpTrimRight].
func (c *committer) trimRight(o *object, n int64) error {
	if err := o.check(kindList); err != nil || !o.exists() || n <= 0 {
		return err
	}
	c.change(o)
	if n >= int64(o.list.len()) {
		c.vanish(o)
		return nil
	}
	return c.cutRight(o.list, n)
}

// cutRight takes n items off the right.
func (c *committer) cutRight(l *list, n int64) error {
	end := l.right - n
	var starts []int64
	err := c.b.chunks(c.b.db, l.id, max(end, l.diskLeft), l.fresh, func(ch chunk) bool {
		if ch.first >= end {
			starts = append(starts, ch.first)
		}
		return true
	})
	if err == nil {
		l.truncate(end, starts)
	}
	return err
}

// drop implements [board.OpDrop].
func (c *committer) drop(o *object, n int64, items []string) error {
	if err := o.check(kindList); err != nil {
		return err
	}
	if n == 0 {
		return c.dropAll(o, items)
	}
	for _, it := range items {
		if err := c.dropSome(o, n, it); err != nil {
			return err
		}
	}
	return nil
}

// dropAll drops every occurrence of some items. Only what lies right of the
// first that goes is written again.
func (c *committer) dropAll(o *object, items []string) error {
	if !o.exists() {
		return nil
	}
	gone := make(map[string]struct{}, len(items))
	for _, it := range items {
		gone[it] = struct{}{}
	}
	l := o.list
	first, stay := int64(-1), []string(nil)
	starts, err := c.walk(l, func(n int64, item string) bool {
		_, drop := gone[item]
		switch {
		case drop && stay == nil:
			first, stay = n, []string{}
		case !drop && stay != nil:
			stay = append(stay, item)
		}
		return true
	})
	if err != nil || stay == nil {
		return err
	}
	c.change(o)
	for len(starts) > 0 && starts[0] < first {
		starts = starts[1:]
	}
	l.truncate(first, starts)
	for _, item := range stay {
		l.pushRight(item)
	}
	if l.len() == 0 {
		c.vanish(o)
	}
	return nil
}

// dropSome drops n occurrences of an item from the left end, or -n from the
// right: it cuts that end off up to the last of them, and puts back the rest. Of one
// it cuts the end that it is nearer to: what is looked for in a list of things that
// wait is mostly the oldest of them or the newest.
func (c *committer) dropSome(o *object, n int64, item string) error {
	if !o.exists() {
		return nil
	}
	var others []string // met on the way
	found, stay, most := uint64(0), 0, uint64(max(n, -n))
	look := func(_ int64, it string) bool {
		if it != item {
			others = append(others, it)
			return true
		}
		found, stay = found+1, len(others)
		return found < most
	}
	l := o.list
	var err error
	if n > 0 {
		_, err = c.walk(l, look)
	} else {
		err = c.walkBack(l, look)
	}
	if err != nil || found == 0 {
		return err
	}
	left, others := n > 0, others[:stay]
	if beyond := l.len() - stay - 1; found == 1 && beyond < stay {
		left, stay = !left, beyond
		if others, err = c.outer(l, left, beyond); err != nil {
			return err
		}
	}
	c.change(o)
	reach := int64(stay) + int64(found)
	if left {
		l.cut(reach)
		err = c.mend(l)
	} else {
		err = c.cutRight(l, reach)
	}
	if err != nil {
		return err
	}
	room := c.windowRoom(o)
	for _, it := range slices.Backward(others) {
		if left {
			l.pushLeft(it, room)
		} else {
			l.pushRight(it)
		}
	}
	if l.len() == 0 {
		c.vanish(o)
	}
	return nil
}

// outer are so many items at the left end of a list, or at the right, from there.
func (c *committer) outer(l *list, left bool, n int) (items []string, err error) {
	if n == 0 {
		return nil, nil
	}
	take := func(_ int64, item string) bool {
		items = append(items, item)
		return len(items) < n
	}
	if left {
		_, err = c.walk(l, take)
	} else {
		err = c.walkBack(l, take)
	}
	return items, err
}
