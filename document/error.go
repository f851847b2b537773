package document

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// MaxFaults is how many faults an error has at the most: nobody reads more.
const MaxFaults = 50

const (
	maxFaultText = 400 // bytes; names of strangers are quoted in it
	maxFaultPath = 200
)

// NewError keeps the first faults of a text, each short.
func NewError(file string, faults []domain.Fault) *Error {
	faults = slices.Clone(faults)
	slices.SortStableFunc(faults, func(a, b domain.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	faults = faults[:min(len(faults), MaxFaults)]
	for i := range faults {
		faults[i].Text, faults[i].Path = Clip(faults[i].Text, maxFaultText), Clip(faults[i].Path, maxFaultPath)
	}
	return &Error{File: Clip(file, maxFaultPath), Faults: faults}
}

// Clip makes a text one short line.
func Clip(s string, most int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Error is all that is wrong with a document. It is a [domain.ErrInvalid].
type Error struct {
	// File is the name that the text was given, "" where it has none.
	File   string
	Faults []domain.Fault // at least one, in the order of the text
}

// Error has a line for each fault: "file:line:column: path: what is wrong".
func (e *Error) Error() string { return strings.Join(e.Lines(), "\n") }

// Lines are those of Error.
func (e *Error) Lines() []string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = f.String()
		switch {
		case e.File == "":
		case f.Line > 0:
			lines[i] = e.File + ":" + lines[i]
		default:
			lines[i] = e.File + ": " + lines[i]
		}
	}
	return lines
}

func (e *Error) Unwrap() error { return domain.ErrInvalid }
