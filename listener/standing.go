package listener

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
)

// Standing is what a listener has not dealt with: how many events, and when the oldest of them
// was stored; zero where there is none.
type Standing struct {
	Tenant   domain.TenantID
	Listener string
	Behind   uint64
	Oldest   time.Time
}

// Standings are those of all listeners that are not paused, at most so many, whether somebody
// serves them or not. whole is false where there were more, or one could not be read before ctx
// ended.
func (s *Store) Standings(ctx context.Context, most int) (list []Standing, whole bool) {
	members, err := s.board.Members(ctx, 0, layout.Listeners, "", most+1)
	whole = err == nil && len(members) <= most
	for _, member := range members[:min(len(members), most)] {
		tenant, name, ok := layout.ParseListedListener(member)
		if !ok {
			continue
		}
		l, err := s.Show(ctx, tenant, name)
		if errors.Is(err, domain.ErrNotFound) || err == nil && l.Paused {
			continue
		}
		is := Standing{Tenant: tenant, Listener: name}
		if err == nil {
			is.Behind, is.Oldest, err = s.waiting(ctx, tenant, l)
		}
		if err != nil {
			whole = false
			continue
		}
		list = append(list, is)
	}
	return list, whole
}

// waiting is how many events of a listener wait, and when the oldest of them was stored.
func (s *Store) waiting(ctx context.Context, tenant domain.TenantID, l *domain.Listener) (n uint64, oldest time.Time, err error) {
	n, upTo, err := s.behind(ctx, tenant, l)
	if err != nil || n == 0 {
		return n, oldest, err
	}
	called, err := s.names.TenantName(ctx, tenant)
	if err != nil {
		return n, oldest, err
	}
	first, err := s.streams.Scan(ctx, l.Stream(), saga.SubjectsOf(l.On, l.Stream(), tenant, called), upTo+1, 1)
	if err == nil && len(first) > 0 {
		oldest = first[0].Time
	}
	return n, oldest, err
}
