package blueprint

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
)

// Validate checks a blueprint that did not come as a text.
//
// Errors: *[Error] with all that is wrong, without lines.
func Validate(b *domain.Blueprint) error {
	if faults := check(b, domain.MaxBlueprintBytes); len(faults) > 0 {
		for i := range faults {
			faults[i].Line, faults[i].Column = 0, 0 // there is no text
		}
		return document.NewError("", faults)
	}
	return nil
}

// check finds all that is wrong. A fault's line and column are those within an
// expression, 0 where it is not about one.
func check(b *domain.Blueprint, most int) []domain.Fault {
	faults := append(b.Check(), expressionFaults(b)...)
	if n := len(b.Steps); most <= domain.MaxBlueprintBytes && n > domain.MaxSteps {
		faults = append(faults, domain.Fault{Path: "steps", Text: fmt.Sprintf(
			"%d steps, the limit of a stored blueprint is %d; a flow of up to %d can be submitted with its blueprint", n, domain.MaxSteps, domain.MaxFlowSteps)})
	}
	if n := len(Canonical(b)); n > most {
		faults = append(faults, domain.Fault{Path: "steps", Text: fmt.Sprintf(
			"with its scripts it has %d bytes as JSON, the limit is %d; put large data into files or params", n, most)})
	}
	return faults
}

// CompileWhen reads the `when` of a step; the values of its names, in order,
// are the flow's `params`, and `needs`: state and result of each step before it.
//
// Errors: as [condition.Compile].
func CompileWhen(text string) (*condition.Condition, error) {
	return condition.Compile(text, "params", "needs")
}

// CompilePayload reads the payload of an effect's step, which is over the same
// names.
//
// Errors: as [condition.Compile].
func CompilePayload(text string) (*condition.Condition, error) { return CompileWhen(text) }

// expressionFaults compiles the steps' conditions and payloads.
func expressionFaults(b *domain.Blueprint) (faults []domain.Fault) {
	e := expressions{b, make(map[string]int, len(b.Steps))}
	for i := range b.Steps {
		e.steps[b.Steps[i].Name] = i
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		faults = e.add(faults, i, "when", s.When)
		if s.Effect != nil {
			faults = e.add(faults, i, "effect.payload", s.Effect.Payload)
		}
		if len(faults) >= document.MaxFaults {
			return faults[:document.MaxFaults]
		}
	}
	return faults
}

// expressions are those of a blueprint's steps.
type expressions struct {
	b     *domain.Blueprint
	steps map[string]int // by name
}

// add adds what is wrong with an expression.
func (e *expressions) add(faults []domain.Fault, i int, field, text string) []domain.Fault {
	// Cut, so that what is missing at the end is missed there.
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" || len(text) > domain.MaxWhenBytes {
		return faults
	}
	path := stepPath(i, field)
	c, err := CompileWhen(text)
	if err == nil {
		for _, f := range append(c.Faults(field == "when"), e.needs(i, c)...) {
			faults = append(faults, domain.Fault{Path: path, Text: f.Text, Line: int(f.Pos.Line), Column: int(f.Pos.Col)})
		}
		return faults
	}
	f := domain.Fault{Path: path, Text: err.Error()}
	if e := (*rhai.Error)(nil); errors.As(err, &e) {
		in := e.Innermost()
		f.Text = "it is no Rhai expression: " + in.Text()
		f.Line, f.Column = int(in.Position().Line), int(in.Position().Col)
	}
	return append(faults, f)
}

// ofNeed are the fields of a step in needs.
var ofNeed = []string{"state", "result"}

// needs are the names in needs that the step does not find there: those of steps that
// it does not need, and that are of no phase before its own.
func (e *expressions) needs(i int, c *condition.Condition) (faults []condition.Fault) {
	s := &e.b.Steps[i]
	c.Fields("needs", func(fields []string, pos rhai.Pos) {
		name, text := fields[0], ""
		k, known := e.steps[name]
		switch {
		case !known:
			text = fmt.Sprintf("needs.%s: there is no step %q%s", name, name, meant(name, s.Needs))
		case !slices.Contains(s.Needs, name) && e.b.Steps[k].Phase >= s.Phase:
			text = fmt.Sprintf("needs.%s: the step does not need %q, and finds nothing of it; add it to its needs", name, name)
		case len(fields) > 1 && !slices.Contains(ofNeed, fields[1]):
			text = fmt.Sprintf("needs.%s.%s: of a step there are state and result%s", name, fields[1], meant(fields[1], ofNeed))
		default:
			return
		}
		faults = append(faults, condition.Fault{Pos: pos, Text: text})
	})
	return faults
}

func meant(name string, known []string) string {
	if near := domain.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}
