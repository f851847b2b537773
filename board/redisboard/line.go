package redisboard

import (
	"container/list"
	"sync"
	"time"

	"github.com/redis/rueidis"
)

// line is where this board's claims wait, first come, first served, for each
// queue group.
type line struct {
	mu     sync.Mutex
	groups map[string]*group
}

// group is one queue group that this board claims from.
type group struct {
	waiters list.List // of *waiter
	picky   int       // of them that are
	asked   time.Time // when it was last claimed from
}

// forget is how long after its last claim a group is no longer looked after.
const forget = 30 * time.Second

// waiter is one waiting Claim. It stands in the line of each of its groups.
type waiter struct {
	woken  chan string // buffered 1: the group that has something
	served chan served // buffered 1: the answer to a claim made for it
	packed string      // the ask
	groups []string
	places []*list.Element // nil when it is out of line
	rests  bool            // it has found nothing itself and waits
	picky  bool            // it wants items of some spaces only
	escort bool            // a claim is being made for it: served will come
}

// served is an answer of the claim script.
type served struct {
	answer []rueidis.RedisMessage
	sent   time.Time
}

func (w *waiter) serve(answer []rueidis.RedisMessage, sent time.Time) {
	if w != nil {
		w.served <- served{answer, sent}
	}
}

func (l *line) init() { l.groups = map[string]*group{} }

// ask notes that a group is claimed from. It returns true when that is news.
func (l *line) ask(names []string) bool {
	now, news := time.Now(), false
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range names {
		g := l.groups[name]
		if g == nil {
			g = &group{}
			l.groups[name] = g
			news = true
		}
		g.asked = now
	}
	return news
}

// asked reports whether this board claims from the group, and whether
// somebody waits.
func (l *line) asked(name string) (claims, waits bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[name]
	return g != nil, g != nil && g.waiters.Len() > 0
}

// names are the groups that this board claims from. Those nobody has asked
// for in a while are forgotten.
func (l *line) names() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for name, g := range l.groups {
		if g.waiters.Len() == 0 && time.Since(g.asked) > forget {
			delete(l.groups, name)
			continue
		}
		out = append(out, name)
	}
	return out
}

// join lets a waiter stand in line.
func (l *line) join(groups []string, packed string, picky bool) *waiter {
	w := &waiter{
		woken: make(chan string, 1), served: make(chan served, 1), packed: packed, picky: picky,
		groups: groups, places: make([]*list.Element, len(groups)),
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, name := range groups {
		g := l.groups[name]
		if g == nil {
			g = &group{asked: time.Now()}
			l.groups[name] = g
		}
		w.places[i] = g.waiters.PushBack(w)
		if picky {
			g.picky++
		}
	}
	return w
}

// rest notes that a waiter has found nothing for itself.
func (l *line) rest(w *waiter) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w.rests = true
}

// leave takes the waiter out of line, and returns the answer to a claim that
// is being made for it. A call it has not answered goes to the next.
func (l *line) leave(w *waiter) served {
	l.mu.Lock()
	l.remove(w)
	escort := w.escort
	l.mu.Unlock()
	select {
	case name := <-w.woken:
		l.wake(name, 1)
	default:
	}
	if escort {
		return <-w.served
	}
	return served{}
}

// escort takes out of line who waits for one of the groups, for a claim to be
// made for it. Nil: nobody.
func (l *line) escort(groups []string) *waiter {
	if len(groups) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, name := range groups {
		g := l.groups[name]
		if g == nil || g.waiters.Len() == 0 {
			continue
		}
		if w := g.waiters.Front().Value.(*waiter); w.rests && !w.picky {
			l.remove(w)
			w.escort = true
			return w
		}
	}
	return nil
}

func (l *line) remove(w *waiter) {
	for i, name := range w.groups {
		if w.places[i] == nil {
			continue
		}
		g := l.groups[name]
		g.waiters.Remove(w.places[i])
		w.places[i] = nil
		if w.picky {
			g.picky--
		}
	}
}

// wake calls the first n who wait for the group, and all who are picky: what
// has come may be for one of them, or for none.
func (l *line) wake(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[name]
	if g == nil {
		return
	}
	for el := g.waiters.Front(); el != nil && (n > 0 || g.picky > 0); {
		w := el.Value.(*waiter)
		el = el.Next()
		switch {
		case w.picky:
		case n > 0:
			n--
		default:
			continue
		}
		// It may stand in this line twice; its next place goes with it.
		for el != nil && el.Value.(*waiter) == w {
			el = el.Next()
		}
		l.remove(w)
		w.woken <- name
	}
}

// wakeAll calls one in each line: after a time without messages.
func (l *line) wakeAll() {
	for _, name := range l.names() {
		l.wake(name, 1)
	}
}
