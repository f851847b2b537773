package intake

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// Limits bound a text.
type Limits struct {
	// Bytes bounds the text, and what it comes to when what its aliases stand for
	// is written out. Default: 1 MiB.
	Bytes int
	// Depth is how deep lists and objects may be nested. Default: 120, as data
	// may be nested 100 deep and stands a few levels deep itself.
	Depth int
	// Values is how many of them there may be, names among them. Default: half as
	// many as Bytes, 1,000,000 at most.
	Values int
	// Written bounds what the text comes to otherwise than Bytes does: for
	// somebody who counts that himself. Default: Bytes.
	Written int
}

func (l Limits) filled() Limits {
	l.Bytes = cmp.Or(l.Bytes, 1<<20)
	l.Depth = cmp.Or(l.Depth, 120)
	l.Values = cmp.Or(l.Values, min(max(l.Bytes/2, 1000), 1_000_000))
	l.Written = cmp.Or(l.Written, l.Bytes)
	return l
}

// Error is what is wrong with a text, and where. It is a [domain.ErrInvalid].
type Error struct {
	Line, Column int // 1 is the first; 0: it is about the whole
	Text         string
	// TooLong says that it is about the text's length.
	TooLong bool
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Text
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Text)
}

// Text is an error's text without the line, for who says that himself.
func Text(err error) string {
	if e := (*Error)(nil); errors.As(err, &e) {
		return e.Text
	}
	return err.Error()
}

// Unwrap is the kind.
func (e *Error) Unwrap() error { return domain.ErrInvalid }

func (l Limits) tooLong() *Error {
	return &Error{Text: fmt.Sprintf("the text has more than %d bytes", l.Bytes), TooLong: true}
}

func errNotUTF8() *Error { return &Error{Text: "the text is not UTF-8"} }
