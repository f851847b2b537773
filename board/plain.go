package board

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Limits are what a driver can take in one commit, where that is less than the
// constants of this package say. The zero Limits are none. Who may come near
// them cuts or splits what it commits; the driver refuses the rest with
// [domain.ErrInvalid].
type Limits struct {
	// Commit is how many bytes a batch may have (see [Batch.Bytes]); 0: any.
	Commit int
	// Whole: a record that is changed counts to that with all its fields.
	Whole bool
}

// Bytes is about how much the batch is: its keys, names, values and items.
func (b *Batch) Bytes() (n int) {
	for i := range b.Ops {
		o := &b.Ops[i]
		n += len(o.Key) + len(o.Field) + len(o.List)
		for _, f := range o.Fields {
			n += len(f.Name) + len(f.Value)
		}
		for _, it := range o.Items {
			n += len(it)
		}
	}
	return n
}

// Fits reports whether one commit can have the batch, as far as that can be judged
// without the state: under limits of bytes only half is taken for granted, since
// records that are changed may count whole.
func (b *Batch) Fits(l Limits) bool {
	return len(b.Guards)+len(b.Ops) <= MaxOps && (l.Commit == 0 || b.Bytes() <= l.Commit/2)
}

// Bytes is how much a record is: its names and values.
func (r Record) Bytes() (n int) {
	for _, f := range r {
		n += len(f.Name) + len(f.Value)
	}
	return n
}

// Unreadable is a value that a driver has found in its store and cannot read:
// somebody else has written there, or a disk has changed it. It is set aside:
// what lies under other keys is as it was. A record, list or set of which not
// even the kind can be read is a [KindOther].
type Unreadable struct {
	Name  string // in the store; says what to discard
	Space Space
	Key   string // the key on the board, or the name of the alarm; "" where that cannot be told
}

// Plain is for drivers to embed that have no limits and no clock of their own, and
// nothing that they could not read.
type Plain struct{}

// Limits implements [Board].
func (Plain) Limits() Limits { return Limits{} }

// Now implements [Board].
func (Plain) Now() time.Time { return time.Now() }

// Unreadable implements [Board].
func (Plain) Unreadable(context.Context) ([]Unreadable, error) { return nil, nil }

// Discard implements [Board].
func (Plain) Discard(_ context.Context, name string) error {
	return domain.NotFoundf("%q is nothing that cannot be read", name)
}
