package pebbleboard

import "encoding/binary"

// This file writes what a group has changed into its Pebble batch.

// write puts into the Pebble batch what the group has changed.
func (c *committer) write() {
	for _, g := range c.gone {
		c.collect(g)
	}
	clear(c.gone)
	c.gone, c.goneMark = c.gone[:0], 0
	for _, o := range c.dirty {
		c.writeObject(o)
	}
	c.writeAlarms()
	c.writeLogs()
	c.writeCounters()
	if c.reserve {
		c.set(markNumber, binary.AppendUvarint(nil, c.reserved))
		c.reserve = false
	}
}

func (c *committer) writeObject(o *object) {
	c.writes[c.slot(o.id)] = c.no
	if o.overlaid {
		if o.kind == kindRecord {
			c.fatal(c.openFields(o))
		}
		o.overlaid = false
		c.colder = append(c.colder, o.id)
	}
	h := header{kind: o.kind, live: o.live, liveAt: o.liveAt, expires: o.expires, stamp: c.no}
	if o.lease != nil {
		h.leased, h.occupied = true, o.lease.group == ""
	}
	c.writeIndexes(o, &h)
	c.keyBuf = appendKey(c.keyBuf[:0], o.id)
	if o.kind == kindNone && !o.live {
		if o.onDisk {
			c.fatal(c.batch.Delete(c.keyBuf, nil))
		}
		o.disk, o.onDisk = header{}, false
		return
	}
	c.valBuf = h.append(c.valBuf[:0])
	c.writeBody(o)
	c.keyBuf = appendKey(c.keyBuf[:0], o.id)
	c.set(c.keyBuf, c.valBuf)
	o.disk, o.onDisk = h, true
}

// writeBody appends to valBuf what is under the key.
func (c *committer) writeBody(o *object) {
	switch o.kind {
	case kindRecord:
		if !o.open {
			c.valBuf = append(c.valBuf, o.body...)
			return
		}
		start := len(c.valBuf)
		c.valBuf = appendFields(c.valBuf, o.fields)
		o.body = c.keep(c.valBuf[start:])
	case kindList:
		head := append([]byte(nil), c.valBuf...)
		c.writeList(o.list)
		c.valBuf = o.list.append(append(c.valBuf[:0], head...))
	case kindSet:
		c.writeSet(o.set)
		c.valBuf = o.set.append(c.valBuf)
	}
}

// writeIndexes brings the indexes by instant up to date.
func (c *committer) writeIndexes(o *object, h *header) {
	if d := &o.disk; d.expires != h.expires {
		if d.expires != 0 {
			c.keyBuf = appendTimed(c.keyBuf[:0], nsExpiry, d.expires, o.id)
			c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
		}
		if h.expires != 0 {
			c.keyBuf = appendTimed(c.keyBuf[:0], nsExpiry, h.expires, o.id)
			c.set(c.keyBuf, nil)
			c.ends = min(c.ends, h.expires)
		}
	}
	if d := &o.disk; d.live != h.live || d.liveAt != h.liveAt {
		if d.live {
			c.keyBuf = appendLive(c.keyBuf[:0], o.id.space, d.liveAt, o.id.name)
			c.fatal(c.batch.SingleDelete(c.keyBuf, nil))
		}
		if h.live {
			c.keyBuf = appendLive(c.keyBuf[:0], o.id.space, h.liveAt, o.id.name)
			c.set(c.keyBuf, nil)
			if at, ok := c.lived[o.id.space]; !ok || h.liveAt < at {
				c.lived[o.id.space] = h.liveAt
			}
		}
	}
}
