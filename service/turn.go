package service

import (
	"context"

	"github.com/ramet-run/ramet/domain"
)

// Turn is a caller's turn to have an answer made: what is read for one is in memory
// several times, so a door has a few of a context made at once.
type Turn interface {
	// Begin waits for it. It may be called again, and is the same turn then.
	//
	// Errors: [domain.ErrExhausted], [domain.ErrUnavailable].
	Begin(ctx context.Context, tenant domain.TenantID) error
	// End lets others go on. The door ends what an operation leaves.
	End()
}

// InTurn is the caller whose operations that wait ([Operation.Waits]), and streams,
// begin a turn when there is something to read. Those of other operations are the
// door's to begin.
func (c Caller) InTurn(t Turn) Caller {
	c.turn = t
	return c
}

// begin waits for the caller's turn to read something of a context in which it has a
// right.
func (c Caller) begin(ctx context.Context, tenant domain.TenantID) error {
	if c.turn == nil {
		return nil
	}
	return c.turn.Begin(ctx, tenant)
}

func (c Caller) end() {
	if c.turn != nil {
		c.turn.End()
	}
}

// Sees reports whether the caller may read in a context.
//
// Errors: [domain.ErrUnavailable].
func (c Caller) Sees(ctx context.Context, tenant domain.TenantID) (bool, error) {
	return c.api.parts.Access.Sees(ctx, c.who, tenant)
}
