package migrate

import (
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file has a job be done, or skipped, as what it needs has ended: there without a condition that asks
// for it (always() and its like) a job is done only where all before it have succeeded.

// afterSkipped has a job be skipped where one was that it needs, and those that come late ask only how those
// ended that they need, directly or not. What cannot be asked here is noted.
func (w *actionsReader) afterSkipped(late map[string]bool, phase map[string]int) {
	steps, skips := map[string]*domain.Step{}, map[string]bool{}
	for i := range w.b.Steps {
		s := &w.b.Steps[i]
		steps[s.Name], skips[s.Name] = s, s.When != ""
	}
	for again := true; again; { // what needs what may be skipped may be, too
		again = false
		for _, s := range steps {
			if !skips[s.Name] && !late[s.Name] && slices.ContainsFunc(s.Needs, func(on string) bool { return skips[on] }) {
				skips[s.Name], again = true, true
			}
		}
	}
	for i := range w.b.Steps {
		s := &w.b.Steps[i]
		before := ancestors(s, steps)
		if late[s.Name] {
			w.ended(s, slices.DeleteFunc(before, func(on string) bool { return phase[on] != phase[s.Name]-1 }))
			continue
		}
		var whens []string
		for _, on := range s.Needs {
			if skips[on] && phase[on] == phase[s.Name] {
				whens = append(whens, dot("needs", on)+`.state != "skipped"`)
			}
		}
		if s.When != "" {
			whens = append(whens, s.When)
		}
		if s.When = strings.Join(whens, " && "); len(s.When) > domain.MaxWhenBytes {
			w.in.note(w.line[s.Name], "jobs.%s: its conditions are too long for `when`: it fails until they are written", s.Name)
			stop(s, "this job, where its conditions hold,")
			s.When = ""
		}
		if at := slices.IndexFunc(before, func(on string) bool { return late[on] }); at >= 0 {
			w.in.note(w.line[s.Name], "jobs.%s: it comes after %s, which is done whatever became of the jobs before that; there %s is skipped where "+
				"one of those failed or was skipped, here it is done: have %s hand on how they ended, as a result, and ask for it in `when`",
				s.Name, before[at], s.Name, before[at])
		}
	}
}

// ended has a job that comes late ask how these ended, and not all of the phase before.
func (w *actionsReader) ended(s *domain.Step, before []string) {
	of := func(join string, states ...string) string {
		var all []string
		for _, on := range before {
			for _, state := range states {
				all = append(all, dot("needs", on)+".state "+state)
			}
		}
		return "(" + strings.Join(all, join) + ")"
	}
	when := strings.NewReplacer(badState, of(" || ", `== "failed"`, `== "errored"`),
		goodState, of(" && ", `!= "failed"`, `!= "errored"`, `!= "skipped"`, `!= "skipped_by_failure"`, `!= "skipped_by_error"`)).Replace(s.When)
	if len(before) > 0 && len(when) <= domain.MaxWhenBytes {
		s.When = when
	}
}

// ancestors are what a step needs, and what that needs.
func ancestors(s *domain.Step, steps map[string]*domain.Step) []string {
	found := map[string]bool{}
	var visit func(s *domain.Step)
	visit = func(s *domain.Step) {
		for _, on := range s.Needs {
			if !found[on] && steps[on] != nil {
				found[on] = true
				visit(steps[on])
			}
		}
	}
	visit(s)
	delete(found, s.Name) // of a circle
	return slices.Sorted(maps.Keys(found))
}
