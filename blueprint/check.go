package blueprint

import (
	"errors"
	"fmt"
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
	if faults := check(b); len(faults) > 0 {
		for i := range faults {
			faults[i].Line, faults[i].Column = 0, 0 // there is no text
		}
		return document.NewError("", faults)
	}
	return nil
}

// check finds all that is wrong. A fault's line and column are those within an
// expression, 0 where it is not about one.
func check(b *domain.Blueprint) []domain.Fault {
	faults := append(b.Check(), expressionFaults(b)...)
	if n := len(Canonical(b)); n > domain.MaxBlueprintBytes {
		faults = append(faults, domain.Fault{Path: "steps", Text: fmt.Sprintf(
			"with its scripts it has %d bytes as JSON, the limit is %d; put large data into files or params", n, domain.MaxBlueprintBytes)})
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
	for i := range b.Steps {
		s := &b.Steps[i]
		faults = addExpression(faults, stepPath(i, "when"), s.When)
		if s.Effect != nil {
			faults = addExpression(faults, stepPath(i, "effect.payload"), s.Effect.Payload)
		}
		if len(faults) >= document.MaxFaults {
			return faults[:document.MaxFaults]
		}
	}
	return faults
}

// addExpression adds what is wrong with an expression.
func addExpression(faults []domain.Fault, path, text string) []domain.Fault {
	// Cut, so that what is missing at the end is missed there.
	text = strings.TrimRight(text, " \t\r\n")
	if text == "" || len(text) > domain.MaxWhenBytes {
		return faults
	}
	_, err := CompileWhen(text)
	if err == nil {
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
