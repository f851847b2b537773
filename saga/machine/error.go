package machine

import (
	"errors"
	"fmt"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// ProgramError says why a program could not handle an event. It comes again
// whenever that is tried: it is a [domain.ErrInvalid].
type ProgramError struct {
	// Path is the part of the definition: "script", "nodes[2].expr"; "" where
	// it is about the event or the instance.
	Path string
	// Line and Column are those within that text; 0 where it is about none.
	Line, Column int
	Text         string
}

func (e *ProgramError) Error() string {
	switch {
	case e.Path == "":
		return e.Text
	case e.Line == 0:
		return e.Path + ": " + e.Text
	}
	return fmt.Sprintf("%s: line %d, column %d: %s", e.Path, e.Line, e.Column, e.Text)
}

func (e *ProgramError) Unwrap() error { return domain.ErrInvalid }

// maxErrorText bounds what a script may say by throwing.
const maxErrorText = 2000 // bytes

// programError reads what Rhai says.
func programError(err error) *ProgramError {
	var p *ProgramError
	if errors.As(err, &p) {
		return p
	}
	var e *value.Error
	if !errors.As(err, &e) {
		return &ProgramError{Text: domain.CutText(err.Error(), maxErrorText)}
	}
	in := e.Innermost()
	return &ProgramError{
		Text: domain.CutText(in.Text(), maxErrorText),
		Line: int(in.Position().Line), Column: int(in.Position().Col),
	}
}

func failf(format string, args ...any) *ProgramError {
	return &ProgramError{Text: domain.CutText(fmt.Sprintf(format, args...), maxErrorText)}
}

// VersionError is an event of a schema version that the definition does not
// take. It is a [domain.ErrInvalid].
type VersionError struct {
	Type              string
	Version, Min, Max int // Min, Max 0: no bound
}

func (e *VersionError) Error() string {
	want := fmt.Sprintf("%d to %d", e.Min, e.Max)
	switch {
	case e.Max == 0:
		want = fmt.Sprintf("%d or more", e.Min)
	case e.Min == 0:
		want = fmt.Sprintf("%d at the most", e.Max)
	case e.Min == e.Max:
		want = fmt.Sprintf("%d", e.Min)
	}
	return fmt.Sprintf("event %q has schema version %d, want %s", e.Type, e.Version, want)
}

func (e *VersionError) Unwrap() error { return domain.ErrInvalid }
