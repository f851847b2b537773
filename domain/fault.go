package domain

import "fmt"

// Fault is one thing that is wrong in a document: where, as a path of field
// names and indexes ("steps[2].needs[0]"), and what would be right.
type Fault struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Line and Column count from 1; 0 where the document's text is not known.
	Line   int `json:"line,omitzero"`
	Column int `json:"column,omitzero"`
}

// String says it in a line.
func (f Fault) String() string {
	text := f.Text
	if f.Path != "" {
		text = f.Path + ": " + text
	}
	if f.Line > 0 {
		return fmt.Sprintf("%d:%d: %s", f.Line, f.Column, text)
	}
	return text
}
