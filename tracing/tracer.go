package tracing

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"math"
)

// Tracer takes spans, and decides what begins a trace. A nil one wants nothing.
type Tracer struct {
	take func(Span)
	// below is the share of what begins a trace, of 2^64.
	below uint64
}

// New returns a tracer whose spans take gets, which must be quick and safe for concurrent
// use, and may let go of spans that are too many. Of what belongs to no trace, ratio
// begins one: 0 is nothing, 1 all.
func New(take func(Span), ratio float64) *Tracer {
	t := &Tracer{take: take}
	switch {
	case ratio >= 1:
		t.below = math.MaxUint64
	case ratio > 0:
		t.below = uint64(ratio * math.MaxUint64)
	}
	return t
}

// Wants is the trace that a text names, see [Parse]; "" where nobody wants its spans.
func (t *Tracer) Wants(text string) (trace string) {
	if t == nil || text == "" {
		return ""
	}
	return Parse(text)
}

// Tell tells of a span that has ended.
func (t *Tracer) Tell(s Span) {
	if t != nil {
		t.take(s)
	}
}

// Begin is a new trace for what belongs to none; "" where it is not drawn for one.
func (t *Tracer) Begin() (trace string) {
	if t == nil || t.below == 0 {
		return ""
	}
	var id [16]byte
	rand.Read(id[:])
	if binary.BigEndian.Uint64(id[:8]) > t.below {
		return ""
	}
	id[15] |= 1 // never all zeros
	return hex.EncodeToString(id[:])
}
