package clockwork

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// pruneEvery is how often ended work is looked through for what is old.
const pruneEvery = time.Minute

// Prunes is the routine that removes from the board what ended longer than keep
// ago, with its logs.
func Prunes(b board.Board, e *work.Engine, keep time.Duration) Routine {
	return Routine{Name: "pruner", Every: pruneEvery, Round: func(ctx context.Context) error {
		return EachTenant(ctx, b, func(t domain.TenantID) error {
			_, err := e.Prune(ctx, t, time.Now().Add(-keep))
			return err
		})
	}}
}
