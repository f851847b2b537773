package bus

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// MaxParcel bounds the body of a parcel, in bytes: what a NATS server takes by
// default, and less than what a Mycelium daemon does.
const MaxParcel = 1 << 20

// Parcel is what arrived for this node.
type Parcel struct {
	// From is the sender's address as the bus knows it, "" where it cannot
	// tell. It is a hint: what proves the sender stands in the body.
	From domain.Address
	Body []byte
	// Done tells the bus that the parcel was dealt with and need not come
	// again. A parcel whose Done was not called may come again. Never nil.
	Done func(ctx context.Context) error
}

// Bus carries parcels between nodes. It is safe for concurrent use.
//
// A bus promises little, so that much can be one: a parcel may be lost,
// doubled, delayed by days, or overtaken by later ones. It never alters one,
// and never gives it to a node that it is not for.
type Bus interface {
	// Scheme is what its addresses begin with, before the colon: "nats".
	Scheme() string

	// Self is this node's address on the bus: "nats:<64 hex digits>".
	Self() domain.Address

	// Send hands a parcel over. Nil says that the bus has it, not that it
	// arrived.
	//
	// Errors: [domain.ErrInvalid] for an address of another form and for a
	// body that is empty or over [MaxParcel]; [domain.ErrUnavailable] when the
	// bus cannot be reached: it may have been sent all the same.
	Send(ctx context.Context, to domain.Address, body []byte) error

	// Receive waits for the next parcel for this node. Several may wait; each
	// parcel goes to one of them. It goes on by itself over times in which the
	// bus is away.
	//
	// Errors: the context's own; [domain.ErrUnavailable] once the bus is closed.
	Receive(ctx context.Context) (Parcel, error)

	// Durability says what a parcel survives that the bus has taken.
	Durability() board.Durability

	// Close ends the bus; Receive returns.
	Close() error
}
