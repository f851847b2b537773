package sagatest

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
)

// file is a file of tests.
type file struct {
	Saga        string         `json:"saga"`
	Correlation string         `json:"correlation"`
	Start       domain.Instant `json:"start"`
	Cases       []testCase     `json:"cases"`

	def      *domain.SagaDefinition
	warnings []domain.Fault
}

type testCase struct {
	Name        string `json:"name"`
	Correlation string `json:"correlation"`
	Given       []move `json:"given"`
	Then        []move `json:"then"`
}

// move is something that happens.
type move struct {
	After  *domain.Span    `json:"after"`
	At     *domain.Instant `json:"at"`
	Event  *event          `json:"event"`
	Result *result         `json:"result"`
	Expect *expect         `json:"expect"`

	line int
}

type event struct {
	Type        string             `json:"type"`
	Payload     json.RawMessage    `json:"payload"`
	Version     int                `json:"version"`
	ID          string             `json:"id"`
	Source      domain.EventSource `json:"source"`
	Of          string             `json:"of"`
	AggregateID string             `json:"aggregate_id"`
	Metadata    map[string]string  `json:"metadata"`
}

type result struct {
	Step    string            `json:"step"`
	Undo    string            `json:"undo"`
	Effect  string            `json:"effect"`
	Type    domain.ResultType `json:"type"`
	Payload json.RawMessage   `json:"payload"`
}

type expect struct {
	State    *string            `json:"state"`
	Status   *string            `json:"status"`
	Outcome  *string            `json:"outcome"`
	Data     json.RawMessage    `json:"data"`
	DataIs   json.RawMessage    `json:"data_is"`
	Work     *[]json.RawMessage `json:"work"`
	Timers   *map[string]string `json:"timers"`
	Steps    map[string]string  `json:"steps"`
	Deferred *[]string          `json:"deferred"`
	Ignored  *bool              `json:"ignored"`
	Held     *bool              `json:"held"`
	Error    string             `json:"error"`
}

// defaultStart is when a case begins: 2026-01-01T00:00:00Z.
const defaultStart = 1_767_225_600_000

// read reads a file of tests, and the saga that it is for.
//
// Errors: *[document.Error], of either; those of [domain.FileErrorf].
func read(path string) (*file, error) {
	in, err := document.Open(path, "test", maxBytes)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	r, values := document.Read(in.Text, aTest, document.Options{
		What: "a test, with `saga:` and `cases:`", Hint: "make two files of it", MaxBytes: maxBytes,
	})
	f := &file{Correlation: "1", Start: defaultStart}
	if len(r.Faults()) == 0 {
		text, err := json.Marshal(values)
		if err != nil {
			panic("BUG: what was read cannot be written: " + err.Error())
		}
		if err := json.Unmarshal(text, f); err != nil {
			panic("BUG: what was read does not fit: " + err.Error())
		}
		f.check(r)
	}
	if faults := r.Faults(); len(faults) > 0 {
		return nil, document.NewError(path, faults)
	}
	f.def, f.warnings, err = definition.LintFile(filepath.Join(filepath.Dir(path), f.Saga))
	return f, err
}

// check says what the table cannot, and keeps where moves stand.
func (f *file) check(r *document.Reader) {
	wrong := func(path, text string) { r.Add(domain.Fault{Path: path, Text: text}) }
	if f.Saga == "" {
		wrong("saga", "it is missing; want the file of the saga")
	} else if !filepath.IsLocal(f.Saga) {
		wrong("saga", "want a path within the folder of this file")
	}
	if len(f.Cases) == 0 {
		wrong("cases", "there are none: want at least one")
	}
	for i := range f.Cases {
		c := &f.Cases[i]
		at := fmt.Sprintf("cases[%d]", i)
		if c.Name == "" {
			wrong(at, "it has no name")
		}
		if c.Correlation == "" {
			c.Correlation = f.Correlation
		}
		if err := domain.ValidateCorrelation(c.Correlation); err != nil {
			wrong(at, err.Error())
		}
		for name, moves := range map[string][]move{"given": c.Given, "then": c.Then} {
			for k := range moves {
				path := fmt.Sprintf("%s.%s[%d]", at, name, k)
				moves[k].line = r.Line(path)
				if text := moves[k].fault(); text != "" {
					wrong(path, text)
				}
			}
		}
	}
}

// fault says what is wrong with a move, "" for nothing.
func (m *move) fault() string {
	switch {
	case m.After == nil && m.At == nil && m.Event == nil && m.Result == nil:
		return "nothing happens; want event, result, after or at"
	case m.After != nil && m.At != nil:
		return "after and at are both given; want one of them"
	case m.Event != nil && m.Result != nil:
		return "event and result are both given; want one of them"
	case m.Event != nil && m.Event.Type == "":
		return "the event has no type"
	case m.Result == nil:
		return ""
	}
	given := 0
	for _, s := range []string{m.Result.Step, m.Result.Undo, m.Result.Effect} {
		if s != "" {
			given++
		}
	}
	if given != 1 {
		return "of what is it the result? want one of step, undo and effect"
	}
	return ""
}

// what names a move for people.
func (m *move) what() string {
	switch {
	case m.Event != nil:
		return "event " + m.Event.Type
	case m.Result == nil:
		return "time passes"
	}
	typ := string(m.Result.Type)
	if typ == "" {
		typ = string(domain.ResultSucceeded)
	}
	switch r := m.Result; {
	case r.Step != "":
		return "result of step " + r.Step + ": " + typ
	case r.Undo != "":
		return "result of undoing step " + r.Undo + ": " + typ
	default:
		return "result of effect " + r.Effect + ": " + typ
	}
}
