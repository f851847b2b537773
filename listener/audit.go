package listener

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
)

// goneFor is how long a listener that the set of all names must be without a record to be
// lost: those who make and delete one write the two one after the other.
const goneFor = time.Second

// Audit tells of listeners of a context whose record is gone though nobody has deleted them by
// Ramet: a store that was full threw it away, or another program did. Their events would pass by
// without a word.
func (s *Store) Audit(ctx context.Context, tenant domain.TenantID, _ int) (report domain.Audit, err error) {
	gone, err := s.gone(ctx, tenant)
	if err != nil || len(gone) == 0 {
		return report, err
	}
	pause.For(ctx, goneFor)
	still, err := s.gone(ctx, tenant)
	if err != nil {
		return report, err
	}
	for member, name := range still {
		if gone[member] == "" {
			continue
		}
		now, key := s.board.Now(), layout.Listener(name)
		b := board.Batch{Space: layout.SpaceOf(tenant)}
		b.Absent(key)
		layout.NoteLost(&b, key, now)
		if err := s.board.Commit(ctx, b); errors.Is(err, domain.ErrConflict) {
			continue // it was made again just now
		} else if err != nil {
			return report, err
		}
		s.log.Error("the record of a listener is gone, and nobody has deleted it by Ramet", "context", uint32(tenant), "listener", name)
		found, _ := layout.LostNow(key, now)
		report.Stuck = append(report.Stuck, found)
		var index board.Batch
		index.Exclude(layout.Listeners, member)
		if err := s.board.Commit(ctx, index); err != nil {
			return report, err
		}
	}
	return report, nil
}

// gone are the listeners of a context that the set of all names and that have no record, by
// their members of that set.
func (s *Store) gone(ctx context.Context, tenant domain.TenantID) (map[string]string, error) {
	prefix := strconv.FormatUint(uint64(tenant), 10) + ":"
	members, err := s.board.Members(ctx, 0, layout.Listeners, prefix, 2*domain.MaxListenersOf)
	if err != nil {
		return nil, err
	}
	gone := map[string]string{}
	for _, member := range members {
		_, name, ok := layout.ParseListedListener(member)
		if !ok || !strings.HasPrefix(member, prefix) {
			continue
		}
		recs, err := s.board.GetFields(ctx, layout.SpaceOf(tenant), []string{layout.ListenerRevision}, layout.Listener(name))
		if errors.Is(err, domain.ErrInvalid) {
			continue // another kind of thing lies there, of which the log tells
		} else if err != nil {
			return nil, err
		}
		if recs[0] == nil {
			gone[member] = name
		}
	}
	return gone, nil
}
