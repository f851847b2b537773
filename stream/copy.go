package stream

import (
	"context"
	"io"

	"github.com/ramet-run/ramet/domain"
)

// Copier is a log whose streams can be copied whole: with the numbers of their messages,
// when they were stored, and how far each consumer is.
type Copier interface {
	// Copy writes a stream. What comes while it is written may be in it, too.
	//
	// Errors: [domain.ErrUnavailable]; those of the writer.
	Copy(ctx context.Context, name domain.StreamName, to io.Writer) error

	// Paste makes a stream of what Copy wrote, in place of the one that there is, which
	// must be empty. The log is to be closed then: its readers know the one before.
	//
	// Errors: [domain.ErrConflict] for a stream that has messages;
	// [domain.ErrInvalid] for what cannot be read; [domain.ErrUnavailable].
	Paste(ctx context.Context, name domain.StreamName, from io.Reader) error
}
