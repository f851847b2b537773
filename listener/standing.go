package listener

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/stream"
)

// Standing is what a listener has not dealt with: how many events, and when the oldest of them
// was stored; zero where there is none.
type Standing struct {
	Tenant   domain.TenantID
	Listener string
	Behind   uint64
	Oldest   time.Time
}

// Standings are what is known of how far listeners are behind.
type Standings struct {
	// List has those that are known. One that could not be looked at now is there as it was seen
	// last if it was behind then: its oldest event has not become younger.
	List []Standing
	// Missed is how many could not be looked at now, and Unknown how many of them were not within
	// [knownFor] either.
	Missed, Unknown int
	// Whole is false where one could not be looked at now, or there are more than a look takes.
	Whole bool
}

const (
	// knownFor is for how long what was seen of a listener is good: those that one look had no
	// time for come first in the next.
	knownFor = time.Minute
	// rememberedFor is for how long one is remembered that looks have not come by.
	rememberedFor = 10 * time.Minute
)

// Watch looks at how far listeners are behind, again and again. It asks the broker for what it
// keeps count of, so that a look costs the same however much waits. It is safe for concurrent use.
type Watch struct {
	s     *Store
	most  int
	mu    sync.Mutex
	after string          // the listed name that was looked at last: the next look begins behind it
	seen  map[string]seen // by listed name
	told  map[string]bool // whose record cannot be read, which the log has been told
}

// seen is what a listener was last seen with.
type seen struct {
	is Standing
	at time.Time
}

// NewWatch returns a watch over all listeners, at most so many in each look.
func NewWatch(s *Store, most int) *Watch {
	return &Watch{s: s, most: most, seen: map[string]seen{}, told: map[string]bool{}}
}

// Look looks at the listeners that are not paused, whether somebody serves them or not. What it
// has not come to when ctx ends, the next look begins with.
func (w *Watch) Look(ctx context.Context) (r Standings) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	members, all, err := w.members(ctx)
	r.Whole = err == nil && all
	if err != nil {
		r.Missed, r.Unknown = 1, 1 // at least: who they are is not known
		for member := range w.seen {
			members = append(members, member)
		}
	}
	tried, ends := 0, map[domain.StreamName]uint64{}
	for _, member := range members {
		if ctx.Err() == nil && err == nil {
			known, ok := w.one(ctx, member, ends)
			if tried++; ok || ctx.Err() == nil || tried == 1 { // else it had no time: the next look begins with it
				w.after = member
			}
			if ok && known == nil {
				delete(w.seen, member)
				continue
			}
			if ok {
				w.seen[member] = seen{*known, now}
				r.List = append(r.List, *known)
				continue
			}
		}
		r.Whole = false
		r.Missed++
		last, ok := w.seen[member]
		if ok && last.is.Behind > 0 {
			r.List = append(r.List, last.is)
		}
		if !ok || now.Sub(last.at) > knownFor {
			r.Unknown++
		}
	}
	if err == nil {
		w.forget(members, all, now)
	}
	return r
}

// members are the listed names to look at, in turn. all is false where there are more.
func (w *Watch) members(ctx context.Context) (list []string, all bool, err error) {
	list, err = w.s.board.Members(ctx, 0, layout.Listeners, w.after, w.most+1)
	if err == nil && len(list) <= w.most && w.after != "" {
		var more []string
		more, err = w.s.board.Members(ctx, 0, layout.Listeners, "", w.most+1)
		for _, m := range more {
			if m <= w.after {
				list = append(list, m)
			}
		}
	}
	return list[:min(len(list), w.most)], len(list) <= w.most, err
}

// forget forgets listeners that are gone.
func (w *Watch) forget(members []string, all bool, now time.Time) {
	for member, last := range w.seen {
		if (all || now.Sub(last.at) > rememberedFor) && !slices.Contains(members, member) {
			delete(w.seen, member)
		}
	}
}

// one looks at a listener: nil where there is nothing to look at; ok is false where it could not be
// looked at. ends are the last of each stream, as far as they are known in this look.
func (w *Watch) one(ctx context.Context, member string, ends map[domain.StreamName]uint64) (is *Standing, ok bool) {
	tenant, name, ok := layout.ParseListedListener(member)
	if !ok {
		return nil, true
	}
	l, err := w.s.Show(ctx, tenant, name)
	switch {
	case err == nil && l.Paused, errors.Is(err, domain.ErrNotFound):
		return nil, true
	case ctx.Err() != nil, errors.Is(err, domain.ErrUnavailable):
		return nil, false
	case err != nil: // it stays so until somebody mends it: that is no matter of this look
		if !w.told[member] {
			w.told[member] = true
			w.s.log.Warn("listener cannot be read", "context", uint32(tenant), "key", layout.Listener(name), "err", err)
		}
		return nil, true
	}
	is = &Standing{Tenant: tenant, Listener: name}
	is.Behind, is.Oldest, err = w.s.waiting(ctx, tenant, l, ends)
	return is, err == nil
}

// waiting is how many events of a listener wait, and when the oldest of them was stored.
func (s *Store) waiting(ctx context.Context, tenant domain.TenantID, l *domain.Listener, ends map[domain.StreamName]uint64) (n uint64, oldest time.Time,
	err error) {
	upTo, n, there, err := s.streams.Acked(ctx, l.Stream(), durable(tenant, l))
	if err != nil || there && n == 0 {
		return n, oldest, err
	}
	called, err := s.names.TenantName(ctx, tenant)
	if err != nil {
		return n, oldest, err
	}
	subjects := saga.SubjectsOf(l.On, l.Stream(), tenant, called)
	if !there { // no node has begun with it yet
		end, known := ends[l.Stream()]
		if !known {
			var st stream.Stats
			if st, err = s.streams.Stats(ctx, l.Stream()); err != nil {
				return 0, oldest, err
			}
			end, ends[l.Stream()] = st.Last, st.Last
		}
		if upTo = l.State.After; end <= upTo {
			return 0, oldest, nil
		}
		if n, err = s.streams.Count(ctx, l.Stream(), subjects, upTo); err != nil || n == 0 {
			return n, oldest, err
		}
	}
	first, err := s.streams.Scan(ctx, l.Stream(), subjects, upTo+1, 1)
	if err == nil && len(first) > 0 {
		oldest = first[0].Time
	}
	return n, oldest, err
}
