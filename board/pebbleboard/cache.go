package pebbleboard

// This file decides which objects stay in memory.

// Bounds of what is kept in memory without being leased.
const (
	lineObjects = 8 << 10
	lineMax     = 32 << 20 // bytes
)

// tidy gives back what the group does not need any more.
func (c *committer) tidy() {
	for _, o := range c.touched {
		c.closeFields(o)
		if o.list != nil {
			o.shrink(c.windowRoom(o))
		}
		switch {
		case o.lease != nil && o.lease.asked || o.line:
		case o.cool == c.no || !o.onDisk:
			c.evict(o)
		default:
			o.line, o.used, o.cost = true, false, o.weight()
			c.line.pushRight(o)
			c.lineBytes += o.cost
		}
	}
	clear(c.touched)
	clear(c.dirty)
	c.touched, c.dirty = c.touched[:0], c.dirty[:0]
	for c.line.n > 0 && (c.line.n > lineObjects || c.lineBytes > lineMax) {
		c.shorten()
	}
}

func (o *object) weight() int {
	n := 300 + len(o.body) + 100*len(o.fields)
	if o.list != nil {
		n += 64 * o.list.window.n
	}
	return n
}

// shorten takes the object at the head of the line out of memory, unless it
// was used since it stands there.
func (c *committer) shorten() {
	o := c.line.at(0)
	*c.line.slot(0) = nil
	c.line.skipLeft(1)
	c.lineBytes -= o.cost
	o.line = false
	switch {
	case c.objects[o.id] != o || o.lease != nil && o.lease.asked:
	case o.used:
		o.line, o.used, o.cost = true, false, o.weight()
		c.line.pushRight(o)
		c.lineBytes += o.cost
	default:
		c.evict(o)
	}
}

func (c *committer) evict(o *object) {
	delete(c.objects, o.id)
	if o.line {
		o.body, o.list, o.set, o.fields = nil, nil, nil, nil
		return
	}
	if len(c.spare) < 4096 {
		c.spare = append(c.spare, o)
	}
}
