package clockwork

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

const (
	// pruneEvery is how often ended work is looked through for what is old.
	pruneEvery = time.Minute
	// pruneSeldom is how often at least, where something ended that is not old yet.
	pruneSeldom = time.Hour
)

// Prunes is the service that removes from the board what ended longer than keep
// ago, with its logs, and looks after the lists of what ended in error. It comes back
// to a context when something was committed there, or the next is old enough.
func Prunes(b board.Board, e *work.Engine, keep time.Duration) Maintenance {
	p := &prunes{board: b, engine: e, keep: keep, old: map[domain.TenantID]time.Time{}}
	v := newVisits(b)
	return Maintenance{Name: "pruner", Every: pruneEvery, Round: func(ctx context.Context) (err error) {
		if p.mixed, err = mixedVersions(ctx, b); err != nil {
			return err
		}
		return v.round(ctx, pruneEvery, p.look)
	}}
}

type prunes struct {
	board  board.Board
	engine *work.Engine
	keep   time.Duration
	old    map[domain.TenantID]time.Time // when the next is to be removed
	mixed  bool                          // nodes of several versions live
}

func (p *prunes) look(ctx context.Context, t domain.TenantID) (found bool, err error) {
	if err := p.engine.KeepFailed(ctx, t, p.mixed); err != nil {
		return false, err
	}
	now := p.board.Now() // what says when work ended
	if at, known := p.old[t]; known && now.Before(at) {
		return true, nil
	}
	delete(p.old, t)
	if _, err := p.engine.Prune(ctx, t, now.Add(-p.keep)); err != nil {
		return false, err
	}
	ended, any, err := p.engine.OldestEnd(ctx, t)
	if err != nil || !any {
		return false, err
	}
	// What has to stay although it is old, as the archive does not have it, say, is
	// tried again in the next round.
	if at := ended.Add(p.keep); at.After(now) {
		p.old[t] = earlier(at, now.Add(pruneSeldom))
	}
	return true, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// mixedVersions reports whether nodes of several versions live on the board: those of
// an older one may not write what the newest does.
func mixedVersions(ctx context.Context, b board.Board) (bool, error) {
	version, known := "", false
	for cursor := ""; ; {
		keys, next, err := b.Keys(ctx, 0, layout.NodePrefix, cursor, tenantPage)
		if err != nil {
			return false, err
		}
		recs, err := board.Listed(ctx, b, 0, []string{layout.NodeVersion, layout.NodeSeen}, keys)
		if err != nil {
			return false, err
		}
		for i, rec := range recs {
			n, _ := layout.DecodeNode(keys[i], rec)
			switch {
			case !n.Seen(b.Now()).Alive:
			case known && n.Version != version:
				return true, nil
			default:
				version, known = n.Version, true
			}
		}
		if cursor = next; next == "" {
			return false, nil
		}
	}
}
