package pebbleboard

import (
	"math"
	"slices"
	"sync"
)

// frontier is a lower bound of the earliest entry of an index by instant. A
// search begins there, so that it does not walk over the tombstones of all
// that has been before; and an entry that is added wakes who waits for it.
type frontier struct {
	mu       sync.Mutex
	bound    int64 // no entry is earlier
	searches []*search
}

// search is one look at the index. Its owner ends it.
type search struct {
	f     *frontier
	from  int64         // where it begins
	added int64         // earliest entry added since
	until int64         // an entry before that closes wake
	wake  chan struct{} // nil once closed
}

func newFrontier() *frontier { return &frontier{bound: math.MinInt64} }

// add takes note of an entry that can be read from now on.
func (f *frontier) add(at int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bound = min(f.bound, at)
	for _, s := range f.searches {
		s.added = min(s.added, at)
		if s.wake != nil && s.added < s.until {
			close(s.wake)
			s.wake = nil
		}
	}
}

func (f *frontier) begin() *search {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := &search{f: f, from: f.bound, added: math.MaxInt64}
	f.searches = append(f.searches, s)
	return s
}

// found says that the first entry was at first (math.MaxInt64: there is
// none): none is earlier but what was added meanwhile.
func (s *search) found(first int64) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.bound = max(s.f.bound, min(first, s.added))
}

// before returns a channel that is closed once an entry before until has been
// added since the search began.
func (s *search) before(until int64) <-chan struct{} {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	wake := make(chan struct{})
	if s.added < until {
		close(wake)
		return wake
	}
	s.wake, s.until = wake, until
	return wake
}

func (s *search) end() {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if i := slices.Index(s.f.searches, s); i >= 0 {
		s.f.searches = slices.Delete(s.f.searches, i, i+1)
	}
}
