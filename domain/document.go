package domain

import (
	"encoding/json"
	"fmt"
	"strings"
)

// StoredBlueprint is a version of a blueprint.
type StoredBlueprint struct {
	DocumentEntry
	Blueprint Blueprint `json:"blueprint"`
}

// DocumentChange is one difference between two documents: a value that is not there
// is nil.
type DocumentChange struct {
	// Path names fields; an object of a list by its name: "steps[build].timeout".
	Path string `json:"path"`
	From any    `json:"from,omitzero"`
	To   any    `json:"to,omitzero"`
}

// Text says a change for people, in one or more lines: "- " before what was,
// "+ " before what is. Of texts with lines, those in the middle that differ
// are shown.
func (c DocumentChange) Text() string {
	from, isText := c.From.(string)
	to, areTexts := c.To.(string)
	if isText && areTexts && strings.Contains(from+to, "\n") {
		return c.Path + ":" + changedLines(from, to)
	}
	switch {
	case c.From == nil:
		return "+ " + c.Path + ": " + compactJSON(c.To)
	case c.To == nil:
		return "- " + c.Path + ": " + compactJSON(c.From)
	}
	return c.Path + ": " + compactJSON(c.From) + " -> " + compactJSON(c.To)
}

// changedLines shows the lines between those that are the same at both ends.
func changedLines(from, to string) string {
	a, b := strings.Split(from, "\n"), strings.Split(to, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	fmt.Fprintf(&out, " at line %d", head+1)
	for _, line := range a[head : len(a)-tail] {
		out.WriteString("\n  - " + line)
	}
	for _, line := range b[head : len(b)-tail] {
		out.WriteString("\n  + " + line)
	}
	return out.String()
}

// compactJSON is a value as JSON, without HTML's escapes.
func compactJSON(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a change cannot be written: " + err.Error())
	}
	return strings.TrimSuffix(out.String(), "\n")
}

// DocumentEntry is what there is to say of a version of a blueprint or a saga, without its content.
type DocumentEntry struct {
	Name      string  `json:"name"`
	Version   int     `json:"version"`
	Hash      string  `json:"hash"`
	Summary   string  `json:"summary,omitzero"`
	UpdatedMs int64   `json:"updated_ms"`
	By        ActorID `json:"by"`
}

// StoredSaga is a version of a saga's definition.
type StoredSaga struct {
	DocumentEntry
	Definition *SagaDefinition `json:"definition"`
	// Paused says that the saga takes no events until it is resumed; of saga.show alone.
	Paused bool `json:"paused,omitzero"`
}
