package etcdboard

import (
	"encoding/binary"
	"slices"

	"github.com/ramet-run/ramet/board"
)

// This file has what lies under the keys, and how it is written. A value that
// the mirror holds is never changed: a transaction changes a copy.

// kind is what a key of the board holds.
type kind byte

const (
	kindNone kind = iota // nothing but a live mark
	kindRecord
	kindList
	kindSet
	kindUnreadable // is never written
)

func (k kind) String() string {
	return [...]string{"nothing", "record", "list", "set", "value that cannot be read"}[k]
}

// head is what lies under a key of the board. Only the part of its kind is used.
type head struct {
	kind    kind
	fields  board.Record
	bytes   int   // of the fields' names and values; not written
	lo, hi  int64 // of a list: its first and last segment
	count   int64 // of a set
	marked  bool
	mark    int64 // live since, Unix ms
	expires int64 // Unix ms, 0: never
}

func (h *head) clone() *head {
	c := *h
	c.fields = slices.Clone(h.fields)
	return &c
}

func (h *head) set(name, value string) {
	for i := range h.fields {
		if h.fields[i].Name == name {
			h.bytes += len(value) - len(h.fields[i].Value)
			h.fields[i].Value = value
			return
		}
	}
	h.fields = append(h.fields, board.Field{Name: name, Value: value})
	h.bytes += len(name) + len(value)
}

// unset takes a field away.
func (h *head) unset(name string) {
	for i, f := range h.fields {
		if f.Name == name {
			h.fields = slices.Delete(h.fields, i, i+1)
			h.bytes -= len(f.Name) + len(f.Value)
			return
		}
	}
}

// segment is a row of items of a list, from left to right; never empty.
type segment struct{ items []string }

// A segment is full at so many items or bytes: each push and pop writes one anew.
const (
	segmentItems = 64
	segmentBytes = 8 << 10
)

// full reports whether nothing more goes in; it does not where none is, or none
// that can be read.
func (s *segment) full() bool {
	if s == nil {
		return true
	}
	n := 0
	for _, it := range s.items {
		n += len(it)
	}
	return len(s.items) >= segmentItems || n >= segmentBytes
}

func (s *segment) clone() *segment { return &segment{slices.Clone(s.items)} }

// lease is one owner's hold on an item. It says how long it holds, not until
// when: nodes' clocks need not agree. A node takes it for run out that has seen
// it unchanged for so long, by a clock that nobody sets. Its owner reckons from
// before it was written, so it stops before anybody else begins.
type lease struct {
	owner string
	token int64
	ttl   int64  // ms
	group string // CapGroup it counts to; "" for an occupied item
	until int64  // as mirror.tick counts, from when it was seen; not written
}

// The other values: a member of a set, an alarm (Unix ms), a counter.
type (
	member  string
	alarm   int64
	counter int64
	mark    struct{} // says only that something has changed
)

// encode writes a value.
func encode(v any) []byte {
	switch v := v.(type) {
	case *head:
		return v.encode()
	case *segment:
		return appendStrings(nil, v.items)
	case *lease:
		out := binary.AppendVarint(nil, v.token)
		out = binary.AppendVarint(out, v.ttl)
		return appendString(appendString(out, v.owner), v.group)
	case member:
		return []byte(v)
	case alarm:
		return binary.AppendVarint(nil, int64(v))
	case counter:
		return binary.AppendVarint(nil, int64(v))
	}
	return nil
}

func (h *head) encode() []byte {
	out := make([]byte, 0, 32+h.bytes+4*len(h.fields))
	out = append(out, byte(h.kind), 0)
	if h.marked {
		out[1] |= 1
		out = binary.AppendVarint(out, h.mark)
	}
	if h.expires != 0 {
		out[1] |= 2
		out = binary.AppendVarint(out, h.expires)
	}
	switch h.kind {
	case kindRecord:
		out = binary.AppendUvarint(out, uint64(len(h.fields)))
		for _, f := range h.fields {
			out = appendString(appendString(out, f.Name), f.Value)
		}
	case kindList:
		out = binary.AppendVarint(binary.AppendVarint(out, h.lo), h.hi)
	case kindSet:
		out = binary.AppendVarint(out, h.count)
	}
	return out
}

func appendString(out []byte, s string) []byte {
	return append(binary.AppendUvarint(out, uint64(len(s))), s...)
}

func appendStrings(out []byte, all []string) []byte {
	out = binary.AppendUvarint(out, uint64(len(all)))
	for _, s := range all {
		out = appendString(out, s)
	}
	return out
}

// unreadable stands for a value that cannot be read: somebody else has written
// under our prefix. It lies where it lay until somebody discards it, or what the
// board writes takes its place. A head is one of [kindUnreadable] instead, so that
// nobody takes the key for free.
type unreadable struct{}

// decode reads a value of a room.
func decode(room byte, value []byte) (v any, ok bool) {
	if v, ok = read(room, value); !ok {
		if v = (unreadable{}); room == roomHead {
			v = &head{kind: kindUnreadable}
		}
	}
	return v, ok
}

func read(room byte, value []byte) (any, bool) {
	d := decoder{in: string(value)} // copied once: the strings are parts of it
	var v any
	switch room {
	case roomHead:
		v = d.head()
	case roomSegment:
		v = &segment{d.strings()}
	case roomLease:
		v = &lease{token: d.varint(), ttl: d.varint(), owner: d.string(), group: d.string()}
	case roomMember:
		return member(value), true
	case roomAlarm:
		v = alarm(d.varint())
	case roomCounter:
		v = counter(d.varint())
	default:
		return mark{}, true
	}
	return v, !d.bad && d.in == ""
}

// maxSegments bounds the numbers that a list goes through: what says more is none.
const maxSegments = 1 << 24

// decoder reads values one after the other; bad says that one was none.
type decoder struct {
	in  string
	bad bool
}

func (d *decoder) head() *head {
	h := &head{kind: kind(d.byte())}
	flags := d.byte()
	if flags&1 != 0 {
		h.marked, h.mark = true, d.varint()
	}
	if flags&2 != 0 {
		h.expires = d.varint()
	}
	switch h.kind {
	case kindNone:
	case kindRecord:
		h.fields = make(board.Record, d.length())
		for i := range h.fields {
			h.fields[i] = board.Field{Name: d.string(), Value: d.string()}
			h.bytes += len(h.fields[i].Name) + len(h.fields[i].Value)
		}
	case kindList:
		h.lo, h.hi = d.varint(), d.varint()
		d.bad = d.bad || h.hi < h.lo || uint64(h.hi-h.lo) > maxSegments
	case kindSet:
		h.count = d.varint()
	default:
		d.bad = true
	}
	return h
}

func (d *decoder) byte() byte {
	if d.in == "" {
		d.bad = true
		return 0
	}
	c := d.in[0]
	d.in = d.in[1:]
	return c
}

func (d *decoder) uvarint() (n uint64) {
	for shift := 0; shift < 64; shift += 7 {
		c := d.byte()
		n |= uint64(c&0x7f) << shift
		if c < 0x80 {
			return n
		}
	}
	d.bad = true
	return 0
}

func (d *decoder) varint() int64 {
	u := d.uvarint()
	return int64(u>>1) ^ -int64(u&1)
}

// length reads how much is to come; each takes a byte at least.
func (d *decoder) length() int {
	n := d.uvarint()
	if n > uint64(len(d.in)) {
		d.bad = true
		return 0
	}
	return int(n)
}

func (d *decoder) string() string {
	n := d.length()
	s := d.in[:n]
	d.in = d.in[n:]
	return s
}

func (d *decoder) strings() []string {
	out := make([]string, d.length())
	for i := range out {
		out[i] = d.string()
	}
	return out
}
