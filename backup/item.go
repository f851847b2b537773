package backup

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"slices"

	"github.com/zeebo/blake3"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// kind says what an item is.
type kind byte

const (
	kindRecord  kind = 'r'
	kindList    kind = 'l'
	kindSet     kind = 's'
	kindAlarm   kind = 'a'
	kindLive    kind = 'v'
	kindCounter kind = 'n'
	kindLease   kind = 'q'
)

// item is a thing of a board, or a part of a list or set. Which fields count depends on
// its kind.
type item struct {
	kind    kind
	space   board.Space
	key     string
	expires int64 // Unix ms; 0: never
	fields  board.Record
	from    int64 // index of the first of items
	items   []string
	n       int64  // an instant or a number
	group   string // of a lease
}

// canonical orders the fields of a record, so that it is written the same whatever
// driver it comes from.
func (it *item) canonical() {
	slices.SortFunc(it.fields, func(a, b board.Field) int { return cmp.Compare(a.Name, b.Name) })
}

func appendText(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// append writes the item.
func (it *item) append(dst []byte) []byte {
	dst = appendText(binary.AppendUvarint(append(dst, byte(it.kind)), uint64(it.space)), it.key)
	switch it.kind {
	case kindRecord:
		dst = binary.AppendUvarint(binary.AppendVarint(dst, it.expires), uint64(len(it.fields)))
		for _, f := range it.fields {
			dst = appendText(appendText(dst, f.Name), f.Value)
		}
	case kindList, kindSet:
		dst = binary.AppendUvarint(binary.AppendVarint(binary.AppendVarint(dst, it.expires), it.from), uint64(len(it.items)))
		for _, s := range it.items {
			dst = appendText(dst, s)
		}
	case kindLease:
		dst = appendText(dst, it.group)
	default:
		dst = binary.AppendVarint(dst, it.n)
	}
	return dst
}

// reader takes items apart.
type reader struct {
	buf []byte
	bad bool
}

func (r *reader) uvarint() uint64 {
	n, size := binary.Uvarint(r.buf)
	if size <= 0 {
		r.bad, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *reader) varint() int64 {
	n, size := binary.Varint(r.buf)
	if size <= 0 {
		r.bad, r.buf = true, nil
		return 0
	}
	r.buf = r.buf[size:]
	return n
}

func (r *reader) text() string {
	n := r.uvarint()
	if n > uint64(len(r.buf)) {
		r.bad, r.buf = true, nil
		return ""
	}
	s := string(r.buf[:n])
	r.buf = r.buf[n:]
	return s
}

// count is how many texts follow, each of at least some bytes.
func (r *reader) count(each uint64) int {
	n := r.uvarint()
	if n > uint64(len(r.buf))/each {
		r.bad, r.buf = true, nil
		return 0
	}
	return int(n)
}

// next reads an item.
//
// Errors: [domain.ErrInvalid].
func (r *reader) next() (it item, err error) {
	it.kind = kind(r.buf[0])
	r.buf = r.buf[1:]
	space := r.uvarint()
	it.space, it.key = board.Space(space), r.text()
	switch it.kind {
	case kindRecord:
		it.expires = r.varint()
		n := r.count(2)
		it.fields = make(board.Record, n)
		for i := range n {
			it.fields[i].Name = r.text()
			it.fields[i].Value = r.text()
		}
	case kindList, kindSet:
		it.expires, it.from = r.varint(), r.varint()
		n := r.count(1)
		it.items = make([]string, n)
		for i := range n {
			it.items[i] = r.text()
		}
	case kindLease:
		it.group = r.text()
	case kindAlarm, kindLive, kindCounter:
		it.n = r.varint()
	default:
		r.bad = true
	}
	if r.bad || uint64(it.space) != space {
		return item{}, domain.Invalidf("the backup has an item of the board that cannot be read")
	}
	return it, nil
}

// digest is a sum over items, in whatever order they come. Leases and the instants at
// which keys expire are left out: both are otherwise on another board.
type digest struct {
	spaces map[board.Space]*spaceSum
	buf    []byte
}

// spaceSum is the sum over the items of a space.
type spaceSum struct {
	a, b  uint64
	items int64
}

func newDigest() *digest { return &digest{spaces: map[board.Space]*spaceSum{}} }

func (d *digest) add(it item) {
	if it.kind == kindLease {
		return
	}
	it.expires = 0
	d.buf = it.append(d.buf[:0])
	sum := blake3.Sum256(d.buf)
	s := d.spaces[it.space]
	if s == nil {
		s = &spaceSum{}
		d.spaces[it.space] = s
	}
	s.a += binary.BigEndian.Uint64(sum[:8])
	s.b += binary.BigEndian.Uint64(sum[8:16])
	s.items++
}

// differs names a space whose sum is another one's; -1: all are the same.
func (d *digest) differs(other *digest) int64 {
	for _, one := range [][2]*digest{{d, other}, {other, d}} {
		for s, sum := range one[0].spaces {
			if was := one[1].spaces[s]; was == nil || *was != *sum {
				return int64(s)
			}
		}
	}
	return -1
}

// String is the sum of all spaces.
func (d *digest) String() string {
	var all spaceSum
	for _, s := range d.spaces {
		all.a, all.b = all.a+s.a, all.b+s.b
	}
	return hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(nil, all.a), all.b))
}
