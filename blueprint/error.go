package blueprint

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// maxFaults is how many faults an error has at the most: nobody reads more.
const maxFaults = 50

const (
	maxFaultText = 400 // bytes; names of strangers are quoted in it
	maxFaultPath = 200
)

// newError keeps the first faults of a text, each short.
func newError(file string, faults []domain.Fault) *Error {
	faults = slices.Clone(faults)
	slices.SortStableFunc(faults, func(a, b domain.Fault) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	faults = faults[:min(len(faults), maxFaults)]
	for i := range faults {
		faults[i].Text, faults[i].Path = clip(faults[i].Text, maxFaultText), clip(faults[i].Path, maxFaultPath)
	}
	return &Error{File: clip(file, maxFaultPath), Faults: faults}
}

// clip makes a text one short line.
func clip(s string, most int) string {
	s = strings.ReplaceAll(s, "\n", " ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return s
}

// Error is all that is wrong with a blueprint. It is a [domain.ErrInvalid].
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

// stepPath is the path of a step's field.
func stepPath(i int, field string) string { return "steps[" + strconv.Itoa(i) + "]." + field }
