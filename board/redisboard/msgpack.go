package redisboard

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/ramet-run/ramet/board"
)

// This file has the part of MessagePack that the scripts speak: arrays,
// strings and integers.

// packArray begins an array of n things.
func packArray(b []byte, n int) []byte {
	switch {
	case n < 16:
		return append(b, 0x90|byte(n))
	case n < 1<<16:
		return append(b, 0xdc, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xdd), uint32(n))
}

func packString(b []byte, s string) []byte {
	return append(packHead(b, len(s)), s...)
}

// packHead begins a string of n bytes.
func packHead(b []byte, n int) []byte {
	switch {
	case n < 32:
		return append(b, 0xa0|byte(n))
	case n < 1<<8:
		return append(b, 0xd9, byte(n))
	case n < 1<<16:
		return append(b, 0xda, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(n))
}

// packInt packs a number from 0 to 2^32-1.
func packInt(b []byte, n int) []byte {
	if n < 128 {
		return append(b, byte(n))
	}
	return binary.BigEndian.AppendUint32(append(b, 0xce), uint32(n))
}

// unpacker reads MessagePack. Strings it returns share the input's memory.
// After the first mistake everything it returns is empty, and err says why.
type unpacker struct {
	in  string
	err error
}

func (u *unpacker) fail(what string) {
	if u.err == nil {
		u.err = fmt.Errorf("answer of a script: %s", what)
	}
	u.in = ""
}

func (u *unpacker) take(n int) string {
	if n < 0 || n > len(u.in) {
		u.fail("too short")
		return ""
	}
	s := u.in[:n]
	u.in = u.in[n:]
	return s
}

func (u *unpacker) uint(bytes int) int {
	n := 0
	for _, c := range []byte(u.take(bytes)) {
		n = n<<8 | int(c)
	}
	return n
}

// array returns the length of the array that begins here. An empty Lua table
// may also come as an empty map.
func (u *unpacker) array() int {
	c := u.uint(1)
	switch {
	case c&0xf0 == 0x90:
		return c & 0x0f
	case c == 0x80:
		return 0
	case c == 0xdc:
		return u.uint(2)
	case c == 0xdd:
		return u.uint(4)
	}
	u.fail(fmt.Sprintf("byte %#x, want an array", c))
	return 0
}

// value returns a string, or a number as int64. One is empty.
func (u *unpacker) value() (string, int64) {
	c := u.uint(1)
	switch {
	case c < 0x80:
		return "", int64(c)
	case c >= 0xe0:
		return "", int64(int8(c))
	case c&0xe0 == 0xa0:
		return u.take(c & 0x1f), 0
	}
	switch c {
	case 0xd9:
		return u.take(u.uint(1)), 0
	case 0xda:
		return u.take(u.uint(2)), 0
	case 0xdb:
		return u.take(u.uint(4)), 0
	case 0xcc, 0xcd, 0xce, 0xcf:
		return "", int64(u.uint(1 << (c - 0xcc)))
	case 0xd0:
		return "", int64(int8(u.uint(1)))
	case 0xd1:
		return "", int64(int16(u.uint(2)))
	case 0xd2:
		return "", int64(int32(u.uint(4)))
	case 0xd3:
		return "", int64(u.uint(8))
	case 0xca:
		return "", int64(math.Float32frombits(uint32(u.uint(4))))
	case 0xcb:
		return "", int64(math.Float64frombits(uint64(u.uint(8))))
	}
	u.fail(fmt.Sprintf("byte %#x, want a string or number", c))
	return "", 0
}

func (u *unpacker) string() string { s, _ := u.value(); return s }
func (u *unpacker) int() int64     { _, n := u.value(); return n }

// record reads a record: an array of names and values. An empty one is nil; an
// array of one is a record that is there without any of the fields asked for, or
// has a text, wrong, that says what the key holds instead.
func (u *unpacker) record() (rec board.Record, wrong string) {
	n := u.array()
	if n == 0 {
		return nil, ""
	}
	if n == 1 {
		if wrong = u.string(); wrong != "" {
			return nil, wrong
		}
	}
	n /= 2
	rec = make(board.Record, n)
	for i := range rec {
		rec[i] = board.Field{Name: u.string(), Value: u.string()}
	}
	return rec, ""
}
