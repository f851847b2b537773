package blueprint

import (
	"errors"
	"strings"

	"github.com/ramet-run/ramet/condition"
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
		return newError("", faults)
	}
	return nil
}

// check finds all that is wrong. A fault's line and column are those within an
// expression, 0 where it is not about one.
func check(b *domain.Blueprint) []domain.Fault {
	faults := append(b.Check(), whenFaults(b)...)
	if n := len(Canonical(b)); n > domain.MaxBlueprintBytes {
		f := fault(nil, "with its scripts it has %d bytes as JSON, the limit is %d; put large data into files or params", n, domain.MaxBlueprintBytes)
		f.Path = "steps"
		faults = append(faults, f)
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

// whenFaults compiles the steps' conditions.
func whenFaults(b *domain.Blueprint) (faults []domain.Fault) {
	for i := range b.Steps {
		// Cut, so that what is missing at the end is missed there.
		when := strings.TrimRight(b.Steps[i].When, " \t\r\n")
		if when == "" || len(when) > domain.MaxWhenBytes {
			continue
		}
		_, err := CompileWhen(when)
		if err == nil {
			continue
		}
		f := domain.Fault{Path: stepPath(i, "when"), Text: err.Error()}
		if e := (*rhai.Error)(nil); errors.As(err, &e) {
			in := e.Innermost()
			f.Text = "it is no Rhai expression: " + in.Text()
			f.Line, f.Column = int(in.Position().Line), int(in.Position().Col)
		}
		if faults = append(faults, f); len(faults) == maxFaults {
			break
		}
	}
	return faults
}
