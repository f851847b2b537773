package webhook

import (
	"hash/maphash"
	"math"
	"slices"
	"time"
)

// maxPlaces bounds the webhooks whose rates or notes are in memory. Beyond it all are forgotten,
// which gives each a full minute's worth: more webhooks than that in use at one node are none
// of a stranger's making.
const maxPlaces = 10_000

// lastIDs is how many ids of deliveries are known again.
const lastIDs = 64

// rate is what a webhook may still take, at this node. Who replays a delivery that was signed
// once uses up what there is for that, and not what there is for new ones.
type rate struct {
	fresh, again bucket
	ids          [lastIDs]uint64 // sums of the newest ids, in a ring
	next         int
}

// bucket fills with a rate a minute, gathered up to ten seconds' worth, at least one.
type bucket struct {
	left float64
	at   time.Time // zero: it is full
}

// take takes one for a delivery of an id, and says after which time there is one where there is none.
func (s *Store) take(p place, id string, perMinute int, now time.Time) (after time.Duration, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.rates[p]
	if r == nil {
		if len(s.rates) >= maxPlaces {
			clear(s.rates)
		}
		r = &rate{}
		s.rates[p] = r
	}
	sum := maphash.String(s.seed, id)
	if slices.Contains(r.ids[:], sum) {
		return r.again.take(perMinute, now)
	}
	if after, ok = r.fresh.take(perMinute, now); ok {
		r.ids[r.next], r.next = sum, (r.next+1)%lastIDs
	}
	return after, ok
}

func (b *bucket) take(perMinute int, now time.Time) (after time.Duration, ok bool) {
	most, second := math.Max(1, float64(perMinute)/6), float64(perMinute)/60
	if b.at.IsZero() {
		b.left = most
	} else {
		b.left = math.Min(most, b.left+now.Sub(b.at).Seconds()*second)
	}
	b.at = now
	if b.left < 1 {
		return time.Duration((1 - b.left) / second * float64(time.Second)), false
	}
	b.left--
	return 0, true
}
