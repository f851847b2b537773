package machine

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/ramet-run/ramet/domain"
)

// origin is what an item of work comes of, by which its id is made: the event
// has the same id and instant whenever its stream is read, while the transition
// that handles it may come to have another number.
type origin struct {
	event    string
	ms       int64
	replayed bool // by a person: what it did when it failed has ids already
	first    int  // the items of the transition before
	timers   int  // that were set of it
}

// originOf is that of an event. The instant of what Ramet itself tells an instance is
// that of the instance: where board and streams have lost a moment, an effect's result or
// a timer's event comes once more, under its id and at another time.
func (t *turn) originOf(ev *domain.Event, first int) origin {
	ms := ev.At()
	if ev.Source == domain.SourceResult || ev.Timer != 0 || ev.Life != "" {
		ms = t.out.CreatedMs
	}
	return origin{event: ev.ID, ms: ms, first: first}
}

// timerID is the id of the event of the next timer that is set: of what it comes, as ids
// of work are. "" where that is no event, as in the first state.
func (t *turn) timerID() string {
	of := &t.origin
	if of.event == "" {
		return ""
	}
	of.timers++
	timer := *of
	timer.event = "timer:" + of.event
	return workID(t.in, &timer, of.timers, 0)
}

// workID is the id of an item of work: a UUID of version 7 of which the time is
// that of its origin, and the rest which of its items it is. again counts how
// often the event has come once more, long after it was forgotten.
//
// Source: RFC 9562, section 5.7.
func workID(in *domain.SagaInstance, of *origin, index, again int) string {
	var room [512]byte
	b := room[:0]
	for _, s := range []string{in.Tenant, in.Saga, in.Correlation, of.event} {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	if of.replayed {
		b = append(b, "replayed"...)
	}
	b = binary.BigEndian.AppendUint64(b, uint64(index))
	b = binary.BigEndian.AppendUint64(b, uint64(again))
	sum := sha256.Sum256(b)

	var id [16]byte
	binary.BigEndian.PutUint64(id[:], uint64(within(of.ms))<<16)
	copy(id[6:], sum[:])
	id[6] = id[6]&0x0f | 0x70
	id[8] = id[8]&0x3f | 0x80

	var text [36]byte
	at := 0
	for i, part := range [][2]int{{0, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 16}} {
		if i > 0 {
			text[at] = '-'
			at++
		}
		at += hex.Encode(text[at:], id[part[0]:part[1]])
	}
	return string(text[:])
}
