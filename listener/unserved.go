package listener

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga"
)

// Unserved finds the listeners of a context whose events nobody reads, in one finding: those that
// move sagas read events for listeners, too. It needs no streams of this node.
func Unserved(ctx context.Context, b board.Board, names Names, tenant domain.TenantID) ([]domain.Finding, error) {
	list, err := New(b, nil, names, nil).List(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var waiting []string
	for _, l := range list {
		if !l.Paused {
			waiting = append(waiting, l.Name)
		}
	}
	if len(waiting) == 0 {
		return nil, nil
	}
	attended, err := saga.Attended(ctx, b)
	if err != nil || attended {
		return nil, err
	}
	return []domain.Finding{{Key: "listener " + waiting[0], More: len(waiting) - 1,
		Text: "no node that is alive and on duty reads events, so that they wait: start one with streams, or see `ramet duty show`"}}, nil
}
