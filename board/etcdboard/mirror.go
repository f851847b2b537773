package etcdboard

import (
	"cmp"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/sorted"
	"github.com/ramet-run/ramet/board/internal/turn"
	"github.com/ramet-run/ramet/queue"
)

// cell is a value as etcd has it, with the revision that wrote it. The zero
// cell stands for a key that is not there.
type cell struct {
	value any
	mod   int64
}

// mirror is the board as it was at one revision of etcd, with what is counted
// from it. Only the follower changes it. It is guarded by Board.mu.
type mirror struct {
	rev      int64
	cells    map[string]cell // by key without the board's prefix
	spaces   map[board.Space]*space
	groups   map[string]*group
	alarms   sorted.Set[moment]
	lapses   sorted.Set[moment] // deadlines of claimed leases
	expiries sorted.Set[moment]
	line     line
	strange  map[string]struct{} // keys whose values cannot be read
	clocks   *clocks
	longest  int // a record that etcd takes with room to spare
}

func newMirror(c *clocks) *mirror {
	return &mirror{
		cells:    map[string]cell{},
		spaces:   map[board.Space]*space{},
		groups:   map[string]*group{},
		alarms:   sorted.Set[moment]{Compare: compareMoments},
		lapses:   sorted.Set[moment]{Compare: compareMoments},
		expiries: sorted.Set[moment]{Compare: compareMoments},
		strange:  map[string]struct{}{},
		clocks:   c,
	}
}

// now is the board's clock, in Unix milliseconds: for alarms, and for keys that
// expire.
func (m *mirror) now() int64 { return m.clocks.now() }

// tick is the milliseconds of this mirror's life, whatever is done to the node's
// clock meanwhile: for leases.
func (m *mirror) tick() int64 { return m.clocks.tick() }

// instant is when a tick is, or was, by this machine's clock.
func (m *mirror) instant(tick int64) time.Time {
	return time.UnixMilli(m.clocks.machine() + tick - m.tick())
}

// space is what is counted of one space.
type space struct {
	id      board.Space
	keys    sorted.Set[string]
	live    sorted.Set[liveMark]
	lengths map[string]int                 // of lists
	members map[string]*sorted.Set[string] // of sets
	leases  map[string]*lease
	turns   *turn.Space
}

// group is the spaces that have something in one queue group, and who waits.
type group struct {
	turn.Group
	waiters waiters
}

// moment is something of a space that comes at an instant.
type moment struct {
	at int64 // Unix ms
	name
}

func compareMoments(a, b moment) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.space, b.space), strings.Compare(a.key, b.key))
}

// liveMark is the live mark of an item.
type liveMark struct {
	at   int64 // Unix ms
	item string
}

func compareMarks(a, b liveMark) int {
	return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.item, b.item))
}

func (m *mirror) space(id board.Space) *space {
	s := m.spaces[id]
	if s == nil {
		s = &space{
			id:      id,
			keys:    sorted.Set[string]{Compare: strings.Compare},
			live:    sorted.Set[liveMark]{Compare: compareMarks},
			lengths: map[string]int{},
			members: map[string]*sorted.Set[string]{},
			leases:  map[string]*lease{},
			turns:   turn.NewSpace(id),
		}
		m.spaces[id] = s
	}
	return s
}

func (m *mirror) group(name string) *group {
	g := m.groups[name]
	if g == nil {
		g = &group{Group: turn.NewGroup(name)}
		m.groups[name] = g
	}
	return g
}

// head returns what lies under a key, nil for nothing.
func (m *mirror) head(n name) *head {
	h, _ := m.cells[n.in(roomHead)].value.(*head)
	return h
}

// news is what followed from one revision, or several.
type news struct {
	changed []name              // keys, each once
	seen    map[name]struct{}   // the same
	freed   map[*space]struct{} // where a claimed lease has ended, or limits have changed
	earlier struct{ alarm, lapse bool }
}

func (n *news) change(key name) {
	if _, ok := n.seen[key]; ok {
		return
	}
	if n.seen == nil {
		n.seen = map[name]struct{}{}
	}
	n.seen[key] = struct{}{}
	n.changed = append(n.changed, key)
}

func (n *news) free(s *space) {
	if n.freed == nil {
		n.freed = map[*space]struct{}{}
	}
	n.freed[s] = struct{}{}
}

// put takes up a value that etcd has, nil for one that is gone.
func (m *mirror) put(key string, value any, mod int64, out *news) {
	old := m.cells[key]
	if value == nil {
		delete(m.cells, key)
	} else {
		m.cells[key] = cell{value, mod}
	}
	if place, ok := strings.CutPrefix(key, lineName); ok {
		m.line.put(place, mod)
	}
	room, n, _ := parseKey(key)
	switch room {
	case roomHead:
		was, _ := old.value.(*head)
		is, _ := value.(*head)
		m.putHead(n, was, is)
		out.change(n)
	case roomSegment:
		s := m.space(n.space)
		if s.lengths[n.key] += items(value) - items(old.value); s.lengths[n.key] == 0 {
			delete(s.lengths, n.key)
		}
		out.change(n)
	case roomMember:
		m.putMember(n, old.value, value)
		out.change(n)
	case roomLease:
		was, _ := old.value.(*lease)
		is, _ := value.(*lease)
		m.putLease(n, was, is, out)
	case roomAlarm:
		m.move(&m.alarms, n, instant(old.value), instant(value), &out.earlier.alarm)
	}
}

func items(v any) int {
	if s, _ := v.(*segment); s != nil {
		return len(s.items)
	}
	return 0
}

// never stands for no instant. It is none of ours: 0 is 1970 and could be.
const never = -1 << 63

func instant(v any) int64 {
	if at, ok := v.(alarm); ok {
		return int64(at)
	}
	return never
}

// move keeps an index of instants, and notes when one is now the earliest.
func (m *mirror) move(index *sorted.Set[moment], n name, from, to int64, earlier *bool) {
	if from == to {
		return
	}
	if from != never {
		index.Remove(moment{from, n})
	}
	if to == never {
		return
	}
	index.Insert(moment{to, n})
	if first, _ := index.First(); first == (moment{to, n}) {
		*earlier = true
	}
}

func (m *mirror) putHead(n name, was, is *head) {
	s := m.space(n.space)
	var ignored bool
	m.move(&m.expiries, n, was.expiry(), is.expiry(), &ignored)
	if was.there() != is.there() {
		if is.there() {
			s.keys.Insert(n.key)
		} else {
			s.keys.Remove(n.key)
		}
	}
	if was != nil && was.marked {
		s.live.Remove(liveMark{was.mark, n.key})
	}
	if is != nil && is.marked {
		s.live.Insert(liveMark{is.mark, n.key})
	}
}

// there reports whether the key holds something.
func (h *head) there() bool { return h != nil && h.kind != kindNone }

func (h *head) expiry() int64 {
	if h == nil || h.expires == 0 {
		return never
	}
	return h.expires
}

// gone reports whether its instant has come.
func (h *head) gone(now int64) bool { return h.expires != 0 && h.expires <= now }

func (m *mirror) putMember(n name, was, is any) {
	s := m.space(n.space)
	set := s.members[n.key]
	if v, ok := was.(member); ok && set != nil {
		set.Remove(string(v))
	}
	v, ok := is.(member)
	switch {
	case ok && set == nil:
		set = &sorted.Set[string]{Compare: strings.Compare}
		s.members[n.key] = set
		fallthrough
	case ok:
		set.Insert(string(v))
	case set != nil && set.Empty():
		delete(s.members, n.key)
	}
}

func (m *mirror) putLease(n name, was, is *lease, out *news) {
	s := m.space(n.space)
	m.move(&m.lapses, n, was.lapse(), is.lapse(), &out.earlier.lapse)
	if is != nil {
		s.leases[n.key] = is
	} else {
		delete(s.leases, n.key)
	}
	if is != nil && is.group != "" {
		s.turns.Hold(is.group)
	}
	if was != nil && was.group != "" {
		s.turns.Release(was.group)
		if is == nil || is.group != was.group {
			out.free(s)
		}
	}
}

// lapse is when a claimed lease runs out; those of occupied items are not
// looked for.
func (l *lease) lapse() int64 {
	if l == nil || l.group == "" {
		return never
	}
	return l.until
}

// count does what follows from news for turns: which queues have something,
// which limits hold. It returns the groups that may now have something for
// those who wait.
func (m *mirror) count(out *news) (fed []*group) {
	for _, n := range out.changed {
		if n.key == board.LimitsKey {
			s := m.space(n.space)
			s.turns.Limits = limits(m.head(n))
			out.free(s)
		}
		if !queue.Is(n.key) {
			continue
		}
		filled := m.space(n.space).lengths[n.key] > 0
		if filled || m.groups[queue.Group(n.key)] != nil {
			g := m.group(queue.Group(n.key))
			g.Account(m.space(n.space).turns, n.key, filled)
			fed = append(fed, g)
		}
	}
	for s := range out.freed {
		for _, name := range s.turns.Unpark() {
			fed = append(fed, m.groups[name])
		}
	}
	return fed
}

func limits(h *head) turn.Limits {
	if h == nil {
		return turn.ReadLimits(nil)
	}
	return turn.ReadLimits(h.fields)
}
