package budget

import (
	"context"
	"slices"
	"sync"

	"github.com/ramet-run/ramet/domain"
)

// What is made at once, in parts: an answer of one record is one part, one that may
// be of many is [ManyParts].
const (
	partsOfContext = 32
	partsOfActor   = 16
	ManyParts      = 8
	// maxWaiting is how many of one actor wait for their turn in one context.
	maxWaiting = 256
)

// Turns has a few answers of each context made at once, and fewer of one actor:
// what is read for an answer is in memory several times until the answer is there
// and can be counted. The actors of a context take turns, so that who asks for a
// thousand waits for these, and the others do not. The zero Turns is ready to use.
type Turns struct {
	b  *Budget // told of refusals; nil tells nobody
	mu sync.Mutex
	of map[turnOf]*line
}

// turnOf is whose turns are counted together: a context's, or where no context is
// named those of an actor.
type turnOf struct {
	tenant domain.TenantID
	actor  domain.ActorID
}

// line is who makes answers of one context, and who waits for that.
type line struct {
	made    int // parts
	by      map[domain.ActorID]int
	waiting []*waiter
}

type waiter struct {
	who   domain.ActorID
	parts int
	turn  chan struct{} // closed when it is there
}

// Take waits until an actor may make an answer of so many parts, until it calls done.
//
// Errors: [domain.ErrExhausted] when as many of the actor's wait already;
// [domain.ErrUnavailable] when ctx ends.
func (t *Turns) Take(ctx context.Context, tenant domain.TenantID, who domain.ActorID, parts int) (done func(), err error) {
	key := turnOf{tenant: tenant}
	if tenant == 0 {
		key.actor = who
	}
	w := &waiter{who: who, parts: parts, turn: make(chan struct{})}
	done = sync.OnceFunc(func() { t.give(key, w) })
	if err := t.join(key, w); err != nil {
		return nil, err
	}
	select {
	case <-w.turn:
		return done, nil
	case <-ctx.Done():
		done()
		return nil, domain.Unavailablef("the request ended before it was its turn; try again later")
	}
}

// join puts one at the end of a line, which may be empty.
func (t *Turns) join(key turnOf, w *waiter) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of[key]
	if l == nil {
		l = &line{by: map[domain.ActorID]int{}}
		if t.of == nil {
			t.of = map[turnOf]*line{}
		}
		t.of[key] = l
	}
	mine := 0
	for _, other := range l.waiting {
		if other.who == w.who {
			mine++
		}
	}
	if mine >= maxWaiting {
		if t.b != nil {
			t.b.refuse(waiting, domain.Actor{ID: w.who}.Key())
		}
		return domain.Exhaustedf("%d answers to actor %d wait to be made; ask for fewer at once, or try again later", mine, w.who)
	}
	l.waiting = append(l.waiting, w)
	l.next()
	return nil
}

// give ends a turn, or the waiting for it.
func (t *Turns) give(key turnOf, w *waiter) {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.of[key]
	if i := slices.Index(l.waiting, w); i >= 0 {
		l.waiting = slices.Delete(l.waiting, i, i+1)
	} else {
		l.made -= w.parts
		if l.by[w.who] -= w.parts; l.by[w.who] == 0 {
			delete(l.by, w.who)
		}
	}
	if l.next(); l.made == 0 {
		delete(t.of, key) // nobody waits where nothing is made
	}
}

// next gives turns as long as there is room: to who has the fewest parts, and of
// those to who came first. One that is too large for the room that there is keeps
// its place: smaller ones would keep it waiting for ever.
func (l *line) next() {
	for len(l.waiting) > 0 {
		best, seen := -1, map[domain.ActorID]bool{}
		for i, w := range l.waiting {
			if mine := l.by[w.who]; !seen[w.who] && mine+w.parts <= partsOfActor && (best < 0 || mine < l.by[l.waiting[best].who]) {
				best = i
			}
			seen[w.who] = true
		}
		if best < 0 || l.made+l.waiting[best].parts > partsOfContext {
			return
		}
		w := l.waiting[best]
		l.waiting = slices.Delete(l.waiting, best, best+1)
		l.made += w.parts
		l.by[w.who] += w.parts
		close(w.turn)
	}
}
