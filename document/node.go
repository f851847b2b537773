package document

import (
	"errors"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// noun is the first word of what is wanted.
func (o Options) noun() string {
	_, noun, _ := strings.Cut(o.What, " ")
	noun, _, _ = strings.Cut(noun, ",")
	return noun
}

// readNode reads a text of one YAML or JSON document; the fault is "" where
// there is none.
func readNode(text []byte, opts Options) (*yaml.Node, domain.Fault) {
	// What it comes to written out is counted by the reader, and only of the
	// fields that there are.
	n, err := intake.Parse(text, intake.Limits{Bytes: opts.MaxBytes, Values: max(opts.MaxBytes/8, 1000), Written: math.MaxInt})
	if wrong := (*intake.Error)(nil); errors.As(err, &wrong) {
		f := domain.Fault{Line: wrong.Line, Column: wrong.Column, Text: wrong.Text}
		if wrong.TooLong {
			f.Text += "; " + opts.Hint
		}
		return nil, f
	}
	if n == nil {
		return nil, fault(nil, "the text is empty; want %s", opts.What)
	}
	return n, domain.Fault{}
}
