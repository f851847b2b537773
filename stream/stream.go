package stream

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Limits of the contract. A driver refuses what is larger with [domain.ErrInvalid].
const (
	MaxData    = 1 << 20 // bytes of a message's data
	MaxHeader  = 8 << 10 // bytes of its header's names and values together
	MaxSubject = 255     // bytes
	MaxPublish = 1_000   // messages of one Publish
	MaxFetch   = 1_000   // messages of one Next
)

// Message is one message of a stream.
type Message struct {
	Stream  domain.StreamName
	Subject string
	// ID is the publisher's: what is published again under the same within the
	// stream's window (two minutes) is stored once. "": none.
	ID     string
	Header map[string]string
	Data   []byte

	// Seq is its place in the stream, from 1 on, and Time when it was stored.
	// The stream sets them.
	Seq  uint64
	Time time.Time
}

// Log is a set of streams. It is safe for concurrent use.
//
// Errors of every method: [domain.ErrUnavailable] when the broker cannot be
// reached, takes nothing at the moment, or the log is closed (what was being
// published may be stored or not); [domain.ErrInvalid] for what breaks a limit
// or a form; the context's own.
type Log interface {
	// Publish stores messages of any streams, those of one stream in the order
	// given. They are as durable as Durability says when it returns without an
	// error. After an error some may be stored: publish all again, with their
	// IDs.
	Publish(ctx context.Context, messages ...Message) error

	// Read opens the durable consumer c.Durable for this owner, from after
	// c.After on, and shuts out whoever had it open before.
	//
	// Errors: [domain.ErrInvalid] too for a position that the stream has not
	// reached: it has lost what was read, and what it gets now would be passed
	// over.
	Read(ctx context.Context, c Consumer) (Reader, error)

	// Work opens the durable consumer c.Durable, shared with all who did.
	Work(ctx context.Context, c Shared) (Queue, error)

	// Scan returns up to limit messages of a stream that match one of the
	// subjects (none: all), in order, from sequence from on. No consumer is
	// touched. What comes back empty has nothing more, as of now.
	Scan(ctx context.Context, stream domain.StreamName, subjects []string, from uint64, limit int) ([]Message, error)

	// Count is how many messages of a stream that match one of the subjects (none:
	// all) are behind a sequence. A replica that is asked may not know of the
	// newest yet. No consumer is touched.
	Count(ctx context.Context, stream domain.StreamName, subjects []string, after uint64) (uint64, error)

	// Stats says what a stream holds.
	Stats(ctx context.Context, stream domain.StreamName) (Stats, error)

	// Check reports whether messages can be stored in these streams (none: all): a
	// broker that is there may not be able to write. The error names the streams.
	Check(ctx context.Context, streams ...domain.StreamName) error

	// Acked is up to where a durable consumer that is shared ([Queue]) has ended all that it
	// was given: what is behind is in somebody's hands, or nobody got it yet; waiting is how much
	// that is. there is false where there is no such consumer. It costs the same however much waits.
	Acked(ctx context.Context, stream domain.StreamName, durable string) (seq, waiting uint64, there bool, err error)

	// Drop forgets a durable consumer; one that there is not is no error.
	Drop(ctx context.Context, stream domain.StreamName, durable string) error

	// Trim deletes the messages up to seq that match subject ("": all).
	Trim(ctx context.Context, stream domain.StreamName, subject string, seq uint64) error

	// Durability says what an acknowledged message survives.
	Durability() board.Durability

	Close() error
}

// Stepped is a [Log] that may lie in a folder of its node, where it keeps a number beside its
// messages: a copy of the folder has the number of then.
type Stepped interface {
	// Step is the number that SetStep was given last, 0 before the first. kept is false
	// where the streams lie elsewhere.
	Step() (n int64, kept bool, err error)
	// SetStep keeps a number, durably before it returns.
	SetStep(n int64) error
}

// Told is a [Log] that can be told what others know of its streams.
type Told interface {
	// Had says that a stream that was made at an instant had so many messages. One that has
	// fewer takes nothing more, as [Log.Check] says then, unless it may lose what it had. Where
	// that becomes less, another node has gone on with less.
	Had(stream domain.StreamName, created time.Time, last uint64)
	// Passed is why this log neither takes nor gives anything until it is opened anew, where
	// another node has gone on with the streams as they are; nil else.
	Passed() error
}

// Consumer is what a [Reader] reads.
type Consumer struct {
	// Durable is the consumer's name: letters, digits, '-' and '_', up to 200.
	Durable string
	Stream  domain.StreamName
	// Subjects are filters, with '*' for a token and '>' for the rest. None: all.
	Subjects []string
	// After is the position of its owner: the first message read is behind it.
	After uint64
	// MaxInFlight bounds what was read and is not done. Default: 1,000.
	MaxInFlight int
}

// Reader reads a stream in order, for one owner at a time.
type Reader interface {
	// Next returns 1 to most messages in the order of the stream, and waits for
	// the first. It gives none twice.
	//
	// Errors: [domain.ErrConflict] once another owner has opened the consumer.
	Next(ctx context.Context, most int) ([]Message, error)

	// Done tells the broker that all up to seq are dealt with: for those who
	// watch it. The owner's own position is the truth.
	Done(ctx context.Context, seq uint64) error

	// Pending is about how many messages have not been read yet.
	Pending(ctx context.Context) (uint64, error)

	Close() error
}

// Shared is what a [Queue] gives out.
type Shared struct {
	Durable  string
	Stream   domain.StreamName
	Subjects []string
	// MaxInFlight bounds what all workers together have in their hands.
	// Default: 1,000.
	MaxInFlight int
	// AckWait is after what silence a message is given to another. Default: 30s.
	AckWait time.Duration
	// MaxDeliver is how often a message is given out at most; then a [Trouble]
	// is put into Troubles and it comes no more. Default: 20.
	MaxDeliver int
}

// Queue gives each message to one worker.
type Queue interface {
	// Next returns 1 to most deliveries and waits for the first.
	Next(ctx context.Context, most int) ([]Delivery, error)

	// Pending is how many messages no worker has got yet, and InFlight how many
	// are in their hands.
	Pending(ctx context.Context) (pending, inFlight uint64, err error)

	Close() error
}

// Delivery is a message in a worker's hands. One that is neither acked nor
// naked within AckWait, nor said to be in progress, goes to another.
type Delivery interface {
	Message() Message
	// Deliveries is how often it was given out, this time included.
	Deliveries() int
	// Ack ends it. It returns when the broker knows.
	Ack(ctx context.Context) error
	// Nak gives it back, to come again after delay.
	Nak(ctx context.Context, delay time.Duration) error
	// Progress starts its AckWait anew.
	Progress(ctx context.Context) error
	// Term ends it without success: it comes no more, and becomes a [Trouble].
	Term(ctx context.Context, reason string) error
}

// Trouble is a message that a broker has given up on: the JSON data of the
// messages in [domain.WorkflowTroubles].
type Trouble struct {
	Stream     domain.StreamName `json:"stream"`
	Consumer   string            `json:"consumer"`
	Seq        uint64            `json:"stream_seq"`
	Deliveries int               `json:"deliveries"`
	Reason     string            `json:"reason,omitzero"`
}

// Stats is what a stream holds.
type Stats struct {
	// First and Last are sequences. Last 0: nothing was ever stored. First is
	// behind Last where nothing is left.
	First, Last uint64
	Messages    uint64
	Bytes       uint64
	Replicas    int
	Subjects    []string
	// Created is when it was made: one that was lost and made anew is another.
	Created time.Time
}

// ValidateToken checks one token of a subject.
//
// Errors: [domain.ErrInvalid].
func ValidateToken(what, token string) error {
	if token == "" || len(token) > 128 {
		return domain.Invalidf("%s of %d bytes: want 1 to 128", what, len(token))
	}
	for i := range len(token) {
		if c := token[i]; c <= ' ' || c >= 0x7f || c == '.' || c == '*' || c == '>' {
			return domain.Invalidf("%s %q: a part of a subject may not have spaces, '.', '*' or '>'", what, domain.PlainText(token, 128))
		}
	}
	return nil
}
