package board

import "context"

// Snapshotter is a board that can be had as it is at one instant.
type Snapshotter interface {
	// Snapshot returns a board to read that has what was committed before the call, and
	// that no later change reaches. Leases on it may have run out. Close lets go of it;
	// the board itself goes on meanwhile, and may be closed only afterwards.
	//
	// Errors: [domain.ErrUnavailable].
	Snapshot(ctx context.Context) (Board, error)
}
