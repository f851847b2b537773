package membus

import (
	"cmp"
	"slices"
	"time"
)

// parcel is one delivery: a doubled parcel is two.
type parcel struct {
	at     time.Time
	number int // of those that ever came into the mailbox
	from   string
	body   []byte
}

func byNumber(a, b *parcel) int { return a.number - b.number }

// mailbox is what waits for one node, by the instant of its arrival; what
// arrives at the same instant, as it was sent.
type mailbox struct {
	waiting []*parcel
	numbers int
}

func (m *mailbox) put(at time.Time, from string, body []byte) {
	m.numbers++
	m.insert(&parcel{at: at, number: m.numbers, from: from, body: slices.Clone(body)})
}

func (m *mailbox) insert(p *parcel) {
	i, _ := slices.BinarySearchFunc(m.waiting, p, func(a, b *parcel) int {
		return cmp.Or(a.at.Compare(b.at), byNumber(a, b))
	})
	m.waiting = slices.Insert(m.waiting, i, p)
	if len(m.waiting) > MaxWaiting {
		m.waiting = slices.Delete(m.waiting, 0, 1)
	}
}

// take removes and returns the first parcel that has arrived and is not held
// up. Else it says when the next arrives, zero for none.
func (m *mailbox) take(now time.Time, heldUp func(from string) bool) (*parcel, time.Time) {
	for i, p := range m.waiting {
		if p.at.After(now) {
			return nil, p.at
		}
		if !heldUp(p.from) {
			m.waiting = slices.Delete(m.waiting, i, i+1)
			return p, time.Time{}
		}
	}
	return nil, time.Time{}
}
