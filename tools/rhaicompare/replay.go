package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

// tally counts answers by the first level at which they differ.
type tally [Words + 1]int

func (t tally) String() string {
	total := t[Same] + t[What] + t[Where] + t[Words]
	return fmt.Sprintf("%d cases: %d agree; differ in %s: %d, in %s: %d, in %s: %d",
		total, t[Same], What, t[What], Where, t[Where], Words, t[Words])
}

// replay asks both engines all cases and holds the answers against the recorded ones. It prints each of our differences
// and returns how many there are that are not intended.
func replay(w io.Writer, cases []Case, reference, ours asker) (int, error) {
	fmt.Fprintf(w, "== replay: %d recorded cases\n", len(cases))
	var theirTally, ourTally tally
	var theirs []string
	unintended := 0
	for _, c := range cases {
		ref, err := reference.Ask(c)
		if err != nil {
			return 0, err
		}
		got, err := ours.Ask(c)
		if err != nil {
			return 0, err
		}
		refLevel, _ := grade(c, ref)
		theirTally[refLevel]++
		if refLevel != Same {
			theirs = append(theirs, c.ID)
		}
		level, want := grade(c, got)
		ourTally[level]++
		if level == Same {
			continue
		}
		fmt.Fprintf(w, "-- %s differs in %s %v\n   src       %.400q\n   recorded  %.600s\n   ours      %.600s\n", c.ID, level, c.Tags, c.Src, text(want), text(got))
		if refLevel != Same {
			fmt.Fprintf(w, "   reference %.600s\n", text(ref))
		}
		if k := intention(c, want, got); k != nil {
			fmt.Fprintf(w, "   intended: %s\n", k.name)
		} else {
			unintended++
		}
	}
	fmt.Fprintf(w, "reference: %s\n", theirTally)
	if len(theirs) > 0 {
		slices.Sort(theirs)
		fmt.Fprintf(w, "           %v\n", theirs)
	}
	fmt.Fprintf(w, "ours:      %s\n", ourTally)
	return unintended, nil
}

// record answers all cases of a file anew: a new version of the reference may answer otherwise.
func record(file string, reference asker) error {
	cases, err := loadCases(file)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, c := range cases {
		answer, err := reference.Ask(c)
		if err != nil {
			return err
		}
		c.NoOptimizer, c.NoMetadata = nil, nil
		b.WriteString(ready(c, answer) + "\n")
	}
	return os.WriteFile(file, []byte(b.String()), 0o644)
}

// ready is the case with the reference's answer, as a line for the cases file.
func ready(c Case, reference Answer) string {
	c.Answer = reference
	return text(c)
}
