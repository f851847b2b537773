package pebbleboard

import (
	"encoding/binary"
	"errors"
	"unsafe"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/queue"
)

// This file has the layout of keys and values. doc.go lists them. What is
// written here is on people's disks: it may be added to, never changed,
// without a new [format].

// format is written into every data folder.
const format = "ramet board 1"

// The first byte of every key.
const (
	nsMark    = 'm' // the folder's own marks, by name
	nsKey     = 'k' // what lies under a key: space, key
	nsQueue   = 'q' // the same for keys that are queue names, so that open finds them together
	nsItems   = 'l' // chunks of list items: list id, number of the first item
	nsMember  = 's' // members of sets: set id, member
	nsAlarm   = 'a' // instant of an alarm: space, name
	nsDue     = 'd' // alarms by instant: instant, space, name
	nsExpiry  = 'e' // keys that end: instant, space, key
	nsLive    = 'v' // live items: space, instant, item
	nsCounter = 'n' // counters: space, key
	nsClaims  = 'c' // claim logs: number
)

var (
	markFormat = []byte{nsMark, 'f'}
	markNumber = []byte{nsMark, 'n'} // numbers below it may have been given out
)

var errCorrupt = errors.New("a value in the data folder is damaged")

func appendSpace(dst []byte, ns byte, s board.Space) []byte {
	return binary.BigEndian.AppendUint32(append(dst, ns), uint32(s))
}

// appendOrdered writes a signed number so that bytes sort as numbers do.
func appendOrdered(dst []byte, n int64) []byte {
	return binary.BigEndian.AppendUint64(dst, uint64(n)^1<<63)
}

func ordered(b []byte) int64 { return int64(binary.BigEndian.Uint64(b) ^ 1<<63) }

func appendKey(dst []byte, id ident) []byte {
	ns := byte(nsKey)
	if queue.Is(id.name) {
		ns = nsQueue
	}
	return append(appendSpace(dst, ns, id.space), id.name...)
}

func appendNamed(dst []byte, ns byte, id ident) []byte {
	return append(appendSpace(dst, ns, id.space), id.name...)
}

// appendTimed is the key of an index by instant over all spaces.
func appendTimed(dst []byte, ns byte, at int64, id ident) []byte {
	dst = appendOrdered(append(dst, ns), at)
	dst = binary.BigEndian.AppendUint32(dst, uint32(id.space))
	return append(dst, id.name...)
}

// timed takes a key of [appendTimed] apart.
func timed(key []byte) (at int64, id ident) {
	return ordered(key[1:]), ident{board.Space(binary.BigEndian.Uint32(key[9:])), string(key[13:])}
}

func appendLive(dst []byte, s board.Space, at int64, item string) []byte {
	return append(appendOrdered(appendSpace(dst, nsLive, s), at), item...)
}

func appendChunkKey(dst []byte, list uint64, first int64) []byte {
	return appendOrdered(binary.BigEndian.AppendUint64(append(dst, nsItems), list), first)
}

func appendMember(dst []byte, set uint64, member string) []byte {
	return append(binary.BigEndian.AppendUint64(append(dst, nsMember), set), member...)
}

// kind is what a key holds.
type kind uint8

const (
	kindNone kind = iota // nothing, but there is a live mark of that name
	kindRecord
	kindList
	kindSet
)

func (k kind) String() string { return [...]string{"nothing", "record", "list", "set"}[k] }

const (
	flagKind     = 0b11
	flagLive     = 1 << 2
	flagExpires  = 1 << 3
	flagLeased   = 1 << 4
	flagOccupied = 1 << 5
)

// header begins the value of every key.
type header struct {
	kind     kind
	leased   bool
	occupied bool // leased by Occupy
	live     bool
	liveAt   int64
	expires  int64  // Unix ms, 0: never
	stamp    uint64 // number of the group that wrote it
}

func (h *header) append(dst []byte) []byte {
	flags := byte(h.kind)
	if h.live {
		flags |= flagLive
	}
	if h.expires != 0 {
		flags |= flagExpires
	}
	if h.leased {
		flags |= flagLeased
	}
	if h.occupied {
		flags |= flagOccupied
	}
	dst = binary.AppendUvarint(append(dst, flags), h.stamp)
	if h.live {
		dst = binary.AppendVarint(dst, h.liveAt)
	}
	if h.expires != 0 {
		dst = binary.AppendVarint(dst, h.expires)
	}
	return dst
}

func (h *header) decode(v []byte) (body []byte, err error) {
	if len(v) == 0 {
		return nil, errCorrupt
	}
	flags := v[0]
	r := reader{buf: v[1:]}
	*h = header{kind: kind(flags & flagKind), leased: flags&flagLeased != 0, occupied: flags&flagOccupied != 0, live: flags&flagLive != 0}
	h.stamp = r.uvarint()
	if h.live {
		h.liveAt = r.varint()
	}
	if flags&flagExpires != 0 {
		h.expires = r.varint()
	}
	return r.buf, r.err()
}

// gone reports whether the key's time has run out.
func (h *header) gone(now int64) bool { return h.expires != 0 && h.expires <= now }

// reader takes values apart. After the first mistake everything is zero.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) err() error {
	if r.bad {
		return errCorrupt
	}
	return nil
}

func (r *reader) fail() { r.bad, r.buf = true, nil }

func (r *reader) uvarint() uint64 {
	if len(r.buf) > 0 && r.buf[0] < 0x80 {
		n := r.buf[0]
		r.buf = r.buf[1:]
		return uint64(n)
	}
	n, size := binary.Uvarint(r.buf)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *reader) byte() byte {
	if len(r.buf) == 0 {
		r.fail()
		return 0
	}
	c := r.buf[0]
	r.buf = r.buf[1:]
	return c
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.buf)
	if size <= 0 {
		r.fail()
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

// text returns the next string. It shares memory with the value, which must
// therefore never change.
func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.buf)) {
		r.fail()
		return ""
	}
	s := alias(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

func alias(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	return unsafe.String(&b[0], len(b))
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// appendFields writes the fields of a record: how many, then for each the
// name (a byte for a common one, or 0 and the text) and the value.
func appendFields(dst []byte, fields []board.Field) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(fields)))
	for i := range fields {
		f := &fields[i]
		if code := nameCode(f.Name); code != 0 {
			dst = append(dst, code)
		} else {
			dst = appendText(append(dst, 0), f.Name)
		}
		dst = appendText(dst, f.Value)
	}
	return dst
}

// decodeFields appends the fields to dst. Values share memory with body.
func decodeFields(dst []board.Field, body []byte) ([]board.Field, error) {
	dst, _, err := decodeSomeFields(dst, body)
	return dst, err
}

// decodeSomeFields is decodeFields for fields with something behind them.
func decodeSomeFields(dst []board.Field, body []byte) (fields []board.Field, rest []byte, err error) {
	r := reader{buf: body}
	n := r.uvarint()
	if n > uint64(len(body)) {
		return dst, nil, errCorrupt
	}
	if free := cap(dst) - len(dst); free < int(n) {
		grown := make([]board.Field, len(dst), len(dst)+int(n)+spareFields)
		copy(grown, dst)
		dst = grown
	}
	for range n {
		code := r.byte()
		name := names[code]
		if code == 0 {
			name = r.text()
		} else if name == "" {
			r.fail()
		}
		dst = append(dst, board.Field{Name: name, Value: r.text()})
		if r.bad {
			return dst, nil, errCorrupt
		}
	}
	return dst, r.buf, nil
}

// spareFields is room for what a claim or a finish adds to a record.
const spareFields = 10

// chunkItems and chunkBytes bound one chunk of a list.
const (
	chunkItems = 512
	chunkBytes = 32 << 10
)

// appendChunk writes a chunk of as many of n items as fit, and returns how
// many that are.
func appendChunk(dst []byte, n int, item func(i int) string) ([]byte, int) {
	start := len(dst)
	used := 0
	for used < n && used < chunkItems && (used == 0 || len(dst)-start < chunkBytes) {
		dst = appendText(dst, item(used))
		used++
	}
	return dst, used
}

// decodeChunk appends the items to dst. They share memory with v.
func decodeChunk(dst []string, v []byte) ([]string, error) {
	for r := (reader{buf: v}); len(r.buf) > 0; {
		dst = append(dst, r.text())
		if r.bad {
			return dst, errCorrupt
		}
	}
	return dst, nil
}
