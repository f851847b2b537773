package pebbleboard

import (
	"encoding/binary"
	"maps"

	"github.com/cockroachdb/pebble/v2"
)

// set is a set's size, and what the group changes of it.
type set struct {
	id      uint64
	count   int64
	pending map[string]bool // members taken in (true) or out in this group
	batch   uint64          // batch that made this copy of pending
}

func (s *set) decode(body []byte) error {
	r := reader{buf: body}
	s.id, s.count = r.uvarint(), r.varint()
	return r.err()
}

func (s *set) append(dst []byte) []byte {
	return binary.AppendVarint(binary.AppendUvarint(dst, s.id), s.count)
}

// ownSet gives the batch a copy of the set that it may change: the earlier
// one is what undo goes back to.
func (c *committer) ownSet(o *object) *set {
	if o.set.batch != c.batchNo {
		s := *o.set
		s.pending, s.batch = maps.Clone(s.pending), c.batchNo
		if s.pending == nil {
			s.pending = map[string]bool{}
		}
		c.save(o)
		o.set = &s
	}
	return o.set
}

func (c *committer) member(s *set, m string) (bool, error) {
	if in, ok := s.pending[m]; ok {
		return in, nil
	}
	c.keyBuf = appendMember(c.keyBuf[:0], s.id, m)
	_, closer, err := c.b.db.Get(c.keyBuf)
	if err == pebble.ErrNotFound {
		return false, nil
	}
	if err != nil {
		return false, c.b.readError(err)
	}
	return true, closer.Close()
}

// putMember takes a member in or out and reports whether that changed
// anything.
func (c *committer) putMember(o *object, m string, in bool) error {
	s := c.ownSet(o)
	was, err := c.member(s, m)
	if err != nil || was == in {
		return err
	}
	c.change(o)
	s.pending[m] = in
	if in {
		s.count++
	} else {
		s.count--
	}
	return nil
}

func (c *committer) writeSet(s *set) {
	for m, in := range s.pending {
		c.keyBuf = appendMember(c.keyBuf[:0], s.id, m)
		if in {
			c.set(c.keyBuf, nil)
		} else {
			c.fatal(c.batch.Delete(c.keyBuf, nil))
		}
	}
	s.pending = nil
}
