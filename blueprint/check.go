package blueprint

import (
	"errors"
	"fmt"
	"maps"
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
	faults := slices.Concat(FieldFaults(b), expressionFaults(b), hookFaults(b), templateFaults(b))
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

// CompileEach reads the `each` of a step, whose value is a list, which is over the same
// names.
//
// Errors: as [condition.Compile].
func CompileEach(text string) (*condition.Condition, error) {
	return condition.CompileList(text, "params", "needs")
}

// CompileKey reads the `key` of a step: the name of an element of its list, `item`.
//
// Errors: as [condition.Compile].
func CompileKey(text string) (*condition.Condition, error) { return condition.Compile(text, "item") }

// CompileKeys reads the same to name all elements of a list, `items`, at once.
//
// Errors: as [condition.Compile].
func CompileKeys(text string) (*condition.Condition, error) {
	return condition.CompileList("items.map(|item| "+text+"\n)", "items")
}

// CompileUntil reads the `until` of a step that is repeated, which is over the same names as its
// `when`, `result`: what the newest round left, and `round`: which that was, from 1 on.
//
// Errors: as [condition.Compile].
func CompileUntil(text string) (*condition.Condition, error) {
	return condition.Compile(text, "params", "needs", "result", "round")
}

// CompilePayload reads the payload of an effect's step, which is over the same
// names.
//
// Errors: as [condition.Compile].
func CompilePayload(text string) (*condition.Condition, error) { return CompileWhen(text) }

// CompileHook reads the payload of a hook's effect; the values of its names, in order, are
// the flow's `params`, what has come of it, `hook`, and what steps have left, `needs`.
//
// Errors: as [condition.Compile].
func CompileHook(text string) (*condition.Condition, error) {
	return condition.Compile(text, "params", "hook", "needs")
}

// hookFaults compiles the payloads of hooks.
func hookFaults(b *domain.Blueprint) (faults []domain.Fault) {
	e := newExpressions(b)
	for _, on := range domain.HookOns {
		h := b.On.Of(on)
		if h == nil || h.Effect == nil || h.Effect.Payload == "" || len(h.Effect.Payload) > domain.MaxWhenBytes {
			continue
		}
		path := "on." + string(on) + ".effect.payload"
		c, err := CompileHook(strings.TrimRight(h.Effect.Payload, " \t\r\n"))
		if err != nil {
			faults = append(faults, expressionFault(path, err))
			continue
		}
		for _, f := range append(c.Faults(false), e.names(c, func(int, string) string { return "" })...) {
			faults = append(faults, domain.Fault{Path: path, Text: f.Text, Line: int(f.Pos.Line), Column: int(f.Pos.Col)})
		}
	}
	return faults
}

// expressionFaults compiles the steps' conditions and payloads.
func expressionFaults(b *domain.Blueprint) (faults []domain.Fault) {
	e := newExpressions(b)
	for i := range b.Steps {
		s := &b.Steps[i]
		faults = e.add(faults, i, "when", s.When)
		faults = e.add(faults, i, "each", s.Each)
		if s.Repeat != nil {
			faults = e.add(faults, i, "repeat.until", s.Repeat.Until)
		}
		for _, axis := range s.Matrix.Lists() {
			text, _ := s.Matrix.Axis(axis)
			faults = e.add(faults, i, "matrix."+axis, text)
		}
		faults = e.add(faults, i, "key", s.Key)
		if s.Effect != nil {
			faults = e.add(faults, i, "effect.payload", s.Effect.Payload)
		}
		if s.Approval != nil && s.Approval.Notice != nil {
			faults = e.add(faults, i, "approval.notice.payload", s.Approval.Notice.Payload)
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

func newExpressions(b *domain.Blueprint) expressions {
	e := expressions{b, make(map[string]int, len(b.Steps))}
	for i := range b.Steps {
		e.steps[b.Steps[i].Name] = i
	}
	return e
}

// add adds what is wrong with an expression.
func (e *expressions) add(faults []domain.Fault, i int, field, text string) []domain.Fault {
	// Cut, so that what is missing at the end is missed there.
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" || len(text) > domain.MaxWhenBytes {
		return faults
	}
	path := stepPath(i, field)
	compile := CompileWhen
	switch field {
	case "key":
		compile = CompileKey
	case "repeat.until":
		compile = CompileUntil
	}
	c, err := compile(text)
	if err == nil {
		for _, f := range append(c.Faults(field == "when" || field == "repeat.until"), e.needs(i, c, strings.HasSuffix(field, ".payload"))...) {
			faults = append(faults, domain.Fault{Path: path, Text: f.Text, Line: int(f.Pos.Line), Column: int(f.Pos.Col)})
		}
		return faults
	}
	return append(faults, expressionFault(path, err))
}

// expressionFault says that a text is no expression.
func expressionFault(path string, err error) domain.Fault {
	f := domain.Fault{Path: path, Text: err.Error()}
	if e := (*rhai.Error)(nil); errors.As(err, &e) {
		in := e.Innermost()
		f.Text = "it is no Rhai expression: " + in.Text()
		f.Line, f.Column = int(in.Position().Line), int(in.Position().Col)
	}
	return f
}

// ofNeed are the fields of a step in needs.
var ofNeed = []string{"state", "result", "results"}

// needs are the names in needs that the step does not find there: those of steps that need
// not have ended before it. What a job evaluates, direct, has what the job is told: the steps
// that its own needs, and those of smaller phases.
func (e *expressions) needs(i int, c *condition.Condition, direct bool) []condition.Fault {
	s := &e.b.Steps[i]
	return e.names(c, func(k int, name string) string {
		if !slices.Contains(s.Needs, name) && e.b.Steps[k].Phase >= s.Phase && (direct || !follows(e.b, i, k, e.steps)) {
			return fmt.Sprintf("needs.%s: the step does not need %q, and finds nothing of it; add it to its needs", name, name)
		}
		return ""
	})
}

// names are the names in needs that stand for nothing: there is no such step, or apart says
// why nothing of it is found.
func (e *expressions) names(c *condition.Condition, apart func(step int, name string) string) (faults []condition.Fault) {
	c.Fields("needs", func(fields []string, pos rhai.Pos) {
		name, text := fields[0], ""
		k, known := e.steps[name]
		switch {
		case !known:
			text = fmt.Sprintf("needs.%s: there is no step %q%s", name, name, meant(name, slices.Sorted(maps.Keys(e.steps))))
		case apart(k, name) != "":
			text = apart(k, name)
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
