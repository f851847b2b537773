package console

import (
	"context"
	"errors"
	nethttp "net/http"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

const (
	// eachViewer is how much longer a page is left as it is for each who looks at it, and
	// makingPart how many times as long as making it took: however many look, and however
	// large it is, pages take a small part of a processor. What changes after a pause is
	// shown at once.
	eachViewer = 200 * time.Microsecond
	makingPart = 4
	// againAfter is when a page is tried anew that could not be made, or a watch that ended.
	againAfter = 2 * time.Second
	// pendingMost bounds the changes that come while a page is being made.
	pendingMost = 1000
)

// hub has the pages that somebody follows.
type hub struct {
	// changes tells of what changes in a context; nil: nobody does.
	changes func(ctx context.Context, tenant domain.TenantID, each func([]service.Change) error) error

	mu    sync.Mutex
	shown map[shownKey]*shown
	logs  map[shownKey]*sharedLog
	feeds map[domain.TenantID]*feed
}

// feed is the one watch of a context that somebody looks at. Its goroutine ends before the
// last of them has left.
type feed struct {
	cancel context.CancelFunc
	done   chan struct{}       // closed when its goroutine has ended
	shown  map[*shown]struct{} // guarded by the hub's mu
}

func newHub(changes func(context.Context, domain.TenantID, func([]service.Change) error) error) *hub {
	return &hub{changes: changes, shown: map[shownKey]*shown{}, logs: map[shownKey]*sharedLog{}, feeds: map[domain.TenantID]*feed{}}
}

// join gives a viewer the page that it sees together with others.
func (h *hub) join(key shownKey) *shown {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.shown[key]
	if s == nil {
		s = &shown{key: key, turn: make(chan struct{}, 1), changed: make(chan struct{})}
		s.timer = time.AfterFunc(0, s.giveTurn)
		h.shown[key] = s
		h.feed(key.tenant).shown[s] = struct{}{}
	} else {
		s.again()
	}
	s.mu.Lock()
	s.viewers++
	s.mu.Unlock()
	return s
}

// feed finds the watch of a context, or begins it. h.mu is held.
func (h *hub) feed(tenant domain.TenantID) *feed {
	f := h.feeds[tenant]
	if f != nil {
		return f
	}
	ctx, cancel := context.WithCancel(context.Background())
	f = &feed{cancel: cancel, done: make(chan struct{}), shown: map[*shown]struct{}{}}
	h.feeds[tenant] = f
	if h.changes == nil {
		close(f.done)
		return f
	}
	go func() {
		defer close(f.done)
		for ctx.Err() == nil {
			// An error says that the board is away, which pages say by themselves.
			_ = h.changes(ctx, tenant, func(list []service.Change) error {
				h.mu.Lock()
				defer h.mu.Unlock()
				for s := range f.shown {
					s.hear(list)
				}
				return nil
			})
			select {
			case <-time.After(againAfter):
			case <-ctx.Done():
			}
		}
	}()
	return f
}

// leave takes a viewer away; the last takes the page with it.
func (h *hub) leave(s *shown) {
	h.mu.Lock()
	s.mu.Lock()
	s.viewers--
	left := s.viewers
	s.mu.Unlock()
	var ended *feed
	if left == 0 {
		s.timer.Stop()
		delete(h.shown, s.key)
		f := h.feeds[s.key.tenant]
		if delete(f.shown, s); len(f.shown) == 0 {
			delete(h.feeds, s.key.tenant)
			f.cancel()
			ended = f
		}
	}
	h.mu.Unlock()
	if ended != nil {
		<-ended.done
	}
}

// shown is one page as it is seen by all who have the same rights. It has no goroutine:
// when it is to be made anew, one of those who look takes the turn to do it.
type shown struct {
	key  shownKey
	turn chan struct{} // who receives from it calls make; capacity 1

	mu      sync.Mutex
	viewers int
	current standing      // its page is nil: it has not been made yet
	text    *fragment     // the last that has a text
	changed chan struct{} // closed when current is another
	asked   time.Time     // when the node was asked how it stands
	waited  bool          // somebody has come who waits for one that is made from now on
	follow  *follow       // nil: it has not been made yet, then every change concerns it
	made    time.Time
	took    time.Duration
	due     time.Time // when the turn is given; zero: it is not to be
	timer   *time.Timer
	making  bool
	pending []service.Change // those that came while it was being made
	missed  bool             // more came than were kept
}

// standing is a page, and how its node stood, when the making of it began.
type standing struct {
	page *fragment
	node nodeChip
	asOf time.Time
}

// asksNode reports whether the node is to be asked, while the page is made, how it stands.
func (s *shown) asksNode() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.asked) >= againAfter
}

// again has it made anew for who comes to look and has loaded it a moment ago: nobody tells of all that changes.
func (s *shown) again() {
	s.mu.Lock()
	s.waited = true
	begun := s.making || s.current.page != nil
	s.mu.Unlock()
	if begun {
		s.hear(nil)
	}
}

// now is the page as it is, and what is closed once it was made anew.
func (s *shown) now() (standing, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current, s.changed
}

// giveTurn has somebody make it.
func (s *shown) giveTurn() {
	select {
	case s.turn <- struct{}{}:
	default: // it waits to be taken
	}
}

// hear takes changes; none says that everything may have changed.
func (s *shown) hear(list []service.Change) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.making {
		// What it shows then is not known yet.
		if list == nil || len(s.pending) > pendingMost {
			s.missed, s.pending = true, nil
		} else if !s.missed {
			s.pending = append(s.pending, list...)
		}
		return
	}
	if list == nil || s.concerned(list) {
		s.dueAfterPause()
	}
}

func (s *shown) concerned(list []service.Change) bool {
	if s.follow == nil {
		return true
	}
	for _, c := range list {
		if s.follow.concerns(c) {
			return true
		}
	}
	return false
}

// dueAfterPause has it made anew, at once if it has been as it is for long enough.
func (s *shown) dueAfterPause() {
	pause := time.Duration(0)
	if s.follow != nil {
		pause = max(s.follow.pause, makingPart*s.took, time.Duration(s.viewers)*eachViewer)
	}
	s.dueAt(s.made.Add(pause))
}

// dueAt has it made anew at an instant, or earlier where that is due already.
func (s *shown) dueAt(at time.Time) {
	if s.due.IsZero() || at.Before(s.due) {
		s.due = at
		s.timer.Reset(max(0, time.Until(at)))
	}
}

// make has look make the page, and shows it to all. What keeps this viewer from it and not
// others is its error: then another has the turn.
func (s *shown) make(look func() (piece, error)) error {
	s.mu.Lock()
	s.making, s.due = true, time.Time{}
	waited := s.waited
	s.waited = false
	s.mu.Unlock()
	begun := time.Now()
	done := false
	defer func() { // also where a page panics: the others go on
		s.mu.Lock()
		s.making = false
		s.waited = s.waited || waited && !done
		s.mu.Unlock()
		if !done {
			s.giveTurn()
		}
	}()
	p, err := look()
	if err != nil && !errors.Is(err, domain.ErrUnavailable) {
		return err
	}
	done = true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.making, s.made = false, time.Now()
	s.took = s.made.Sub(begun)
	before := s.current
	s.current.asOf = begun
	switch {
	case err != nil:
		s.current.page = away(err.Error())
		s.dueAt(s.made.Add(againAfter))
	case p.status >= nethttp.StatusInternalServerError:
		s.current.page = away(p.why)
		s.dueAt(s.made.Add(againAfter))
	default:
		s.follow = p.follow
		f := newFragment(p.text, s.text, p.follow == nil)
		if s.current.page == nil || s.current.page.id != f.id || f.last {
			s.text, s.current.page = f, f
		}
		if p.follow != nil {
			s.dueAt(s.made.Add(max(p.follow.every, makingPart*s.took)))
		}
	}
	if p.node.Name != "" {
		s.current.node, s.asked = p.node, s.made
	}
	if s.current.node.Away != "" {
		s.dueAt(s.made.Add(againAfter))
	}
	if waited || s.current.page != before.page || s.current.node != before.node {
		close(s.changed)
		s.changed = make(chan struct{})
	}
	if s.missed || s.concerned(s.pending) {
		s.dueAfterPause()
	}
	s.missed, s.pending = false, nil
	return nil
}
