package http

import (
	"context"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/service"
)

// turn is a request's turn to have its answer made, until the answer's bytes are
// counted: before that it is in memory several times, and nobody knows how large
// it is.
type turn struct {
	turns *budget.Turns
	who   domain.ActorID
	parts int
	done  func() // nil while it has none
}

var _ service.Turn = (*turn)(nil)

// Begin waits for the turn.
func (t *turn) Begin(ctx context.Context, tenant domain.TenantID) error {
	if t.done != nil {
		return nil
	}
	done, err := t.turns.Take(ctx, tenant, t.who, t.parts)
	t.done = done
	return err
}

// End gives it back.
func (t *turn) End() {
	if t.done != nil {
		t.done()
		t.done = nil
	}
}

// steers are the verbs of those who change something again and again, and are
// answered with all of it.
var steers = []domain.Verb{domain.VerbStop, domain.VerbRetry, domain.VerbStart, domain.VerbCancel}

// partsOf is how many parts of a turn an operation's answer is. It is 0 where the
// answer is little: what creates is answered with names.
func partsOf(o *service.Operation) int {
	switch {
	case !o.Right.Reads() && !slices.Contains(steers, o.Right):
		return 0
	case o.Much:
		return budget.ManyParts
	}
	return 1
}

// begin waits for the turn of an operation that does not wait itself. Who has no
// right in the context does so in a line of its own.
//
// Errors: those of [budget.Turns.Take].
func (t *turn) begin(ctx context.Context, o *service.Operation, caller service.Caller, tenant domain.TenantID) error {
	if t.parts == 0 || o.Waits {
		return nil
	}
	if tenant != 0 {
		sees, err := caller.Sees(ctx, tenant)
		if err != nil {
			return err
		}
		if !sees {
			tenant = 0
		}
	}
	return t.Begin(ctx, tenant)
}
