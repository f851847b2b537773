package value

import (
	"unicode/utf8"
	"unsafe"
)

// This file holds what renderings write into.

// Pace is asked before a large text gets more room: size is what it will have
// at least, in bytes, room what there is of it in memory meanwhile. False ends
// the work.
type Pace func(size, room int) bool

const (
	// smallText is the room in bytes that is taken without asking.
	smallText = 1 << 10
	// mostGrowth bounds what is taken at once beyond what is needed.
	mostGrowth = 4 << 20 // bytes
	// piece is how much of a text is escaped at once.
	piece = 4 << 10 // bytes
	// escaped is how many times longer than its text an escaped one can be.
	escaped = 6
	// scalarText is more than a number is written with.
	scalarText = 64 // bytes
)

// writer is a text that is being written.
type writer struct {
	buf []byte
	// pace, when not nil, is asked before buf grows.
	pace    Pace
	stopped bool // by pace: nothing more is written
}

// room makes room for n more bytes.
func (w *writer) room(n int) bool {
	need := len(w.buf) + n
	if w.pace == nil || need <= cap(w.buf) || w.stopped {
		return !w.stopped
	}
	had := cap(w.buf)
	size := max(need, had+min(had/2, mostGrowth))
	if size > smallText && !w.pace(len(w.buf), had+size) {
		w.stopped = true
		return false
	}
	w.buf = append(make([]byte, 0, size), w.buf...)
	return true
}

func (w *writer) text(s string) {
	if w.room(len(s)) {
		w.buf = append(w.buf, s...)
	}
}

// quoted writes s in quotes, with escapes for all that does not print.
func (w *writer) quoted(s string, quote byte) { w.escaped(s, quote, appendEscaped) }

// json writes s as JSON.
func (w *writer) json(s string) { w.escaped(s, '"', appendJSONEscaped) }

// escaped writes a text piece by piece: how long it becomes is not known before.
func (w *writer) escaped(s string, quote byte, add func(buf []byte, s string, quote byte) []byte) {
	w.text(string(rune(quote)))
	for s != "" {
		n := len(s)
		if n > piece {
			for n = piece; n > piece-utf8.UTFMax && !utf8.RuneStart(s[n]); {
				n--
			}
		}
		if !w.room(n * escaped) {
			return
		}
		w.buf = add(w.buf, s[:n], quote)
		s = s[n:]
	}
	w.text(string(rune(quote)))
}

// String gives what has been written, which is not written to any more.
func (w *writer) String() string { return unsafe.String(unsafe.SliceData(w.buf), len(w.buf)) }
