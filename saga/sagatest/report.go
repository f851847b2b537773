package sagatest

import (
	"bufio"
	"fmt"
	"io"

	"github.com/ramet-run/ramet/domain"
)

// Report is what came of a file of tests.
type Report struct {
	File     string `json:"file"`
	Saga     string `json:"saga"`
	SagaFile string `json:"saga_file"`
	Cases    []Case `json:"cases"`
	// Warnings are what in the saga can have no effect.
	Warnings []domain.Fault `json:"warnings,omitzero"`
}

// Case is what came of one case.
type Case struct {
	Name  string `json:"name"`
	Moves int    `json:"moves"` // that were made
	// Failure is the first move that was not as expected; nil: there was none.
	Failure *Failure `json:"failure,omitzero"`
}

// Failure is a move that was not as expected.
type Failure struct {
	Move  string   `json:"move"` // "then[2]"
	What  string   `json:"what"` // "event OrderPlaced"
	Line  int      `json:"line"`
	Lines []string `json:"lines"` // "state: got "paying", want "shipping""
}

// Failed is how many cases were not as expected.
func (r *Report) Failed() (n int) {
	for i := range r.Cases {
		if r.Cases[i].Failure != nil {
			n++
		}
	}
	return n
}

// Text writes the report for people. quiet leaves out the cases that are as
// expected.
func (r *Report) Text(w io.Writer, quiet bool) error {
	out := bufio.NewWriter(w)
	for _, f := range r.Warnings {
		fmt.Fprintf(out, "%s:%s (warning)\n", r.SagaFile, f)
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		if c.Failure == nil {
			if !quiet {
				fmt.Fprintf(out, "ok    %s\n", c.Name)
			}
			continue
		}
		f := c.Failure
		fmt.Fprintf(out, "FAIL  %s\n      %s:%d: %s, %s\n", c.Name, r.File, f.Line, f.Move, f.What)
		for _, line := range f.Lines {
			fmt.Fprintf(out, "        %s\n", line)
		}
	}
	failed := r.Failed()
	if failed == 0 {
		fmt.Fprintf(out, "ok    %s: %s of saga %s\n", r.File, count(len(r.Cases), "case"), r.Saga)
	} else {
		fmt.Fprintf(out, "FAIL  %s: %d of %s of saga %s\n", r.File, failed, count(len(r.Cases), "case"), r.Saga)
	}
	return out.Flush()
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
