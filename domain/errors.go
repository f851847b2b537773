package domain

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"
)

// The kinds of error. Layers wrap them, callers ask with errors.Is, and one
// table at the doors turns them into words, HTTP statuses and exit codes.
var (
	ErrNotFound    = errors.New("not found")
	ErrConflict    = errors.New("conflict")
	ErrInvalid     = errors.New("invalid")
	ErrForbidden   = errors.New("forbidden")
	ErrUnavailable = errors.New("unavailable")
	// ErrExhausted is too much for now: the same may go well later. ErrLimit is too
	// much for good, unless something else is given up.
	ErrExhausted = errors.New("exhausted")
	ErrLimit     = errors.New("over a limit")
)

// kindError carries a sentence of its own and unwraps to a kind, so that the kind's word is not repeated in texts people read.
type kindError struct {
	kind error
	text string
}

func (e *kindError) Error() string { return e.text }
func (e *kindError) Unwrap() error { return e.kind }

// Invalidf returns an error of kind [ErrInvalid] that reads exactly as given.
func Invalidf(format string, args ...any) error {
	return &kindError{ErrInvalid, fmt.Sprintf(format, args...)}
}

// Conflictf returns an error of kind [ErrConflict] that reads exactly as given.
func Conflictf(format string, args ...any) error {
	return &kindError{ErrConflict, fmt.Sprintf(format, args...)}
}

// NotFoundf returns an error of kind [ErrNotFound] that reads exactly as given.
func NotFoundf(format string, args ...any) error {
	return &kindError{ErrNotFound, fmt.Sprintf(format, args...)}
}

// Unavailablef returns an error of kind [ErrUnavailable] that reads exactly as given.
func Unavailablef(format string, args ...any) error {
	return &kindError{ErrUnavailable, fmt.Sprintf(format, args...)}
}

// Exhaustedf returns an error of kind [ErrExhausted] that reads exactly as given.
func Exhaustedf(format string, args ...any) error {
	return &kindError{ErrExhausted, fmt.Sprintf(format, args...)}
}

// Limitf returns an error of kind [ErrLimit] that reads exactly as given.
func Limitf(format string, args ...any) error {
	return &kindError{ErrLimit, fmt.Sprintf(format, args...)}
}

// ErrUnauthenticated says that a caller could not prove who it is. It is a [ErrForbidden].
var ErrUnauthenticated = Forbiddenf("not authenticated")

// Unauthenticatedf returns an error of kind [ErrUnauthenticated] that reads exactly as given.
func Unauthenticatedf(format string, args ...any) error {
	return &kindError{ErrUnauthenticated, fmt.Sprintf(format, args...)}
}

// Forbiddenf returns an error of kind [ErrForbidden] that reads exactly as given.
func Forbiddenf(format string, args ...any) error {
	return &kindError{ErrForbidden, fmt.Sprintf(format, args...)}
}

// FileErrorf returns an error that reads exactly as given, of the kind that
// fits err, which came of a file that somebody named: one that is not there is [ErrNotFound], one that may not be read
// [ErrForbidden], a disk that is full [ErrUnavailable]; what else cannot be read as a file is [ErrInvalid].
func FileErrorf(err error, format string, args ...any) error {
	kind := ErrInvalid
	switch {
	case errors.Is(err, fs.ErrNotExist):
		kind = ErrNotFound
	case errors.Is(err, fs.ErrPermission):
		kind = ErrForbidden
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		kind = ErrUnavailable
	}
	return &kindError{kind, fmt.Sprintf(format, args...)}
}
