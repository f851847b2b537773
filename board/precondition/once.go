package precondition

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Once has what a request makes or writes over made once, however often the request is done:
// the commit that writes it writes a mark, too, and is refused where the mark is there.
//
// Who writes need not know of it: it is told of a conflict, as if somebody had been faster,
// and that was this very request.
type Once struct {
	// Prefix begins the key of the record that the commit in question writes. Others pass.
	Prefix string
	// Field is a field of that record whose value the mark keeps; "": none.
	Field string
	// Mark is the key of the mark, in the space of the commit, kept for Keep.
	Mark string
	Keep time.Duration
	// Done says that the mark is known to be there: no such commit is tried.
	Done bool

	mu   sync.Mutex
	made bool // by a commit of this Once
}

// The fields of a mark.
const (
	MarkMade  = "made" // the key of the record that was written
	MarkValue = "value"
)

type making struct{}

// Make has what is written with the context written once, as o says.
func Make(ctx context.Context, o *Once) context.Context { return context.WithValue(ctx, making{}, o) }

var errDone = domain.Conflictf("this request has been done before, under the same key")

// Made reports whether a commit has made it.
func (o *Once) Made() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.made
}

// MarkOf is a batch that writes the mark alone, of a record with such a key and such a value
// of the field: for a request that has found what it was to make, and made nothing.
func (o *Once) MarkOf(space board.Space, key, value string) board.Batch {
	b := board.Batch{Space: space}
	b.Absent(o.Mark)
	o.mark(&b, key, value)
	return b
}

func (o *Once) mark(b *board.Batch, key, value string) {
	fields := []board.Field{{Name: MarkMade, Value: key}}
	if o.Field != "" && value != "" {
		fields = append(fields, board.Field{Name: MarkValue, Value: value})
	}
	b.Set(o.Mark, fields...).Expire(o.Mark, o.Keep)
}

// writes is the operation of a batch that o is about; nil where there is none.
func (o *Once) writes(batch *board.Batch) *board.Op {
	i := slices.IndexFunc(batch.Ops, func(op board.Op) bool { return op.Kind == board.OpSet && strings.HasPrefix(op.Key, o.Prefix) })
	if i < 0 {
		return nil
	}
	return &batch.Ops[i]
}

// commit commits a batch with the mark where it is the one in question.
func (o *Once) commit(ctx context.Context, batch board.Batch, commit func(context.Context, board.Batch) error) error {
	op := o.writes(&batch)
	switch {
	case op == nil || o.Made(): // what this request goes on to do with what it has made is its own
		return commit(ctx, batch)
	case o.Done:
		return errDone
	}
	first := board.Batch{Space: batch.Space}
	first.Absent(o.Mark) // judged first: what the mark says explains what else is no longer as it was
	batch.Guards = append(first.Guards, batch.Guards...)
	batch.Ops = slices.Clone(batch.Ops)
	o.mark(&batch, op.Key, board.Record(op.Fields).Get(o.Field))
	err := commit(ctx, batch)
	failed := (*board.GuardError)(nil)
	switch {
	case err == nil:
		o.mu.Lock()
		o.made = true
		o.mu.Unlock()
	case errors.As(err, &failed) && failed.Index == 0:
		return errDone
	case errors.As(err, &failed):
		return &board.GuardError{Index: failed.Index - 1, Guard: failed.Guard}
	}
	return err
}
