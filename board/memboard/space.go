package memboard

import (
	"cmp"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/internal/sorted"
	"github.com/ramet-run/ramet/board/internal/turn"
	"github.com/ramet-run/ramet/domain"
)

// entry is what lies under one key. Only the part of its kind is used.
type entry struct {
	kind    board.Kind
	rec     record
	list    deque
	set     sorted.Set[string]
	expires int64 // Unix ms, 0: never
}

func newEntry(k board.Kind) *entry {
	e := &entry{kind: k}
	if k == board.KindSet {
		e.set.Compare = strings.Compare
	}
	return e
}

// hollow reports whether nothing is left in it; then the key is gone.
func (e *entry) hollow() bool {
	switch e.kind {
	case board.KindRecord:
		return len(e.rec.fields) == 0
	case board.KindList:
		return e.list.n == 0
	}
	return e.set.Empty()
}

// mark is the live mark of an item.
type mark struct {
	at   int64 // Unix ms
	item string
}

func compareMarks(a, b mark) int {
	return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.item, b.item))
}

// space is one context's board.
type space struct {
	id       board.Space
	entries  map[string]*entry
	keys     sorted.Set[string]
	alarms   map[string]int64 // name to Unix ms
	marks    map[string]int64 // live items, to Unix ms
	live     sorted.Set[mark]
	counters map[string]int64

	leases map[string]*lease
	turns  *turn.Space
}

func newSpace(id board.Space) *space {
	return &space{
		id:       id,
		entries:  map[string]*entry{},
		keys:     sorted.Set[string]{Compare: strings.Compare},
		alarms:   map[string]int64{},
		marks:    map[string]int64{},
		live:     sorted.Set[mark]{Compare: compareMarks},
		counters: map[string]int64{},
		leases:   map[string]*lease{},
		turns:    turn.NewSpace(id),
	}
}

// lookup returns the entry under key, nil when there is none. A nil space is
// one that nothing was ever written to.
//
// Errors: [domain.ErrInvalid] when the key holds something of another kind.
func (s *space) lookup(key string, want board.Kind) (*entry, error) {
	if s == nil {
		return nil, nil
	}
	e := s.entries[key]
	if e != nil && e.kind != want {
		return nil, domain.Invalidf("%q is a %s, not a %s", key, e.kind, want)
	}
	return e, nil
}

func (s *space) put(key string, e *entry) {
	s.entries[key] = e
	s.keys.Insert(key)
}

func (s *space) take(key string) {
	delete(s.entries, key)
	s.keys.Remove(key)
}

func (s *space) setMark(item string, at int64) {
	s.dropMark(item)
	s.marks[item] = at
	s.live.Insert(mark{at, item})
}

func (s *space) dropMark(item string) {
	if at, ok := s.marks[item]; ok {
		delete(s.marks, item)
		s.live.Remove(mark{at, item})
	}
}

// moment is something of a space that comes at an instant.
type moment struct {
	at    int64 // Unix ms
	space board.Space
	name  string
}

func compareMoments(a, b moment) int {
	return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.space, b.space), strings.Compare(a.name, b.name))
}
