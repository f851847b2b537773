package redisboard

import (
	"container/list"
	"sync"
	"time"
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
	asked   time.Time // when it was last claimed from
}

// forget is how long after its last claim a group is no longer looked after.
const forget = 30 * time.Second

// waiter is one waiting Claim. It stands in the line of each of its groups.
type waiter struct {
	woken  chan string // buffered 1: the group that has something
	groups []string
	places []*list.Element
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
func (l *line) join(groups []string) *waiter {
	w := &waiter{woken: make(chan string, 1), groups: groups, places: make([]*list.Element, len(groups))}
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, name := range groups {
		g := l.groups[name]
		if g == nil {
			g = &group{asked: time.Now()}
			l.groups[name] = g
		}
		w.places[i] = g.waiters.PushBack(w)
	}
	return w
}

// leave takes the waiter out of line. A call it has not answered goes to the next.
func (l *line) leave(w *waiter) {
	l.mu.Lock()
	l.remove(w)
	l.mu.Unlock()
	select {
	case name := <-w.woken:
		l.wake(name, 1)
	default:
	}
}

func (l *line) remove(w *waiter) {
	for i, name := range w.groups {
		if w.places[i] != nil {
			l.groups[name].waiters.Remove(w.places[i])
			w.places[i] = nil
		}
	}
}

// wake calls the first n who wait for the group.
func (l *line) wake(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.groups[name]
	for ; g != nil && n > 0 && g.waiters.Len() > 0; n-- {
		w := g.waiters.Front().Value.(*waiter)
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
