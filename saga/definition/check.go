package definition

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/machine"
)

// Validate checks a definition that did not come as a text.
//
// Errors: *[Error] with all that is wrong, without lines.
func Validate(d *domain.SagaDefinition) error {
	faults := machine.Check(d)
	if n := len(Canonical(d)); n > domain.MaxSagaBytes {
		faults = append(faults, domain.Fault{Text: tooLong(n)})
	}
	if len(faults) == 0 {
		return nil
	}
	for i := range faults {
		faults[i].Line, faults[i].Column = 0, 0 // there is no text
	}
	return document.NewError("", faults)
}
