// Package meteredboard tells an observer how long commits of a board take, what they
// bring, and which calls the board could not do.
//
// It stands right before the store's own driver: what it sees is what a node waits for.
package meteredboard

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Observer is told of calls. Its methods must be quick.
type Observer interface {
	// Committed is told of batches that were committed together: how that went (one of
	// the outcomes below), how long it took, and how many bytes of keys and values they
	// had.
	Committed(outcome string, batches, bytes int, took time.Duration)
	// BoardFailed is told of a call that the board could not do.
	BoardFailed(call string)
}

// The outcomes. Of several batches it is the worst, in this order.
const (
	OK          = "ok"
	Conflict    = "conflict"    // a guard did not hold
	Refused     = "refused"     // it breaks a limit, or the caller has gone
	Unavailable = "unavailable" // the store was not reached
)

// Board is a board whose calls are observed.
type Board struct {
	board.Board
	told Observer
}

var _ board.Board = (*Board)(nil)

// New puts an observer before b. Closing the one closes the other.
func New(b board.Board, told Observer) *Board { return &Board{b, told} }

// Commit applies a batch.
func (b *Board) Commit(ctx context.Context, batch board.Batch) error {
	began := time.Now()
	err := b.Board.Commit(ctx, batch)
	b.told.Committed(outcomeOf(err), 1, sizeOf(&batch), time.Since(began))
	return b.seen("commit", err)
}

// CommitEach applies each batch for itself.
func (b *Board) CommitEach(ctx context.Context, batches []board.Batch) []error {
	began := time.Now()
	errs := b.Board.CommitEach(ctx, batches)
	took, worst, bytes := time.Since(began), error(nil), 0
	for i := range batches {
		bytes += sizeOf(&batches[i])
		if errs[i] != nil && (worst == nil || rank(errs[i]) > rank(worst)) {
			worst = errs[i]
		}
	}
	b.told.Committed(outcomeOf(worst), len(batches), bytes, took)
	_ = b.seen("commit", worst)
	return errs
}

// Claim leases items.
func (b *Board) Claim(ctx context.Context, ask board.Ask) ([]board.Claimed, error) {
	list, err := b.Board.Claim(ctx, ask)
	return list, b.seen("claim", err)
}

// Extend renews leases.
func (b *Board) Extend(ctx context.Context, owner string, ttl time.Duration, held []board.Held) ([]board.Answer, error) {
	list, err := b.Board.Extend(ctx, owner, ttl, held)
	return list, b.seen("extend", err)
}

// Get reads records.
func (b *Board) Get(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
	list, err := b.Board.Get(ctx, space, keys...)
	return list, b.seen("get", err)
}

// Due pages through alarms.
func (b *Board) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	list, err := b.Board.Due(ctx, limit, wait)
	return list, b.seen("due", err)
}

// seen counts a call that the board could not do.
func (b *Board) seen(call string, err error) error {
	if err != nil && errors.Is(err, domain.ErrUnavailable) {
		b.told.BoardFailed(call)
	}
	return err
}

// rank orders outcomes, the worst last.
func rank(err error) int {
	switch {
	case errors.Is(err, domain.ErrConflict):
		return 1
	case errors.Is(err, domain.ErrUnavailable):
		return 3
	}
	return 2
}

func outcomeOf(err error) string {
	if err == nil {
		return OK
	}
	return []string{OK, Conflict, Refused, Unavailable}[rank(err)]
}

// sizeOf is how many bytes of keys and values a batch has.
func sizeOf(b *board.Batch) (n int) {
	for i := range b.Ops {
		o := &b.Ops[i]
		n += len(o.Key) + len(o.List)
		for k := range o.Fields {
			n += len(o.Fields[k].Name) + len(o.Fields[k].Value)
		}
		for k := range o.Items {
			n += len(o.Items[k])
		}
	}
	return n
}
