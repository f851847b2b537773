package flow

import (
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// This file has which steps the expressions of a step find in needs: all that come before it,
// those that it needs, those that these need, and those of smaller phases. Only those that an
// expression names are read: of a chain of thousands each would read all before it.

// sought are the steps that expressions name.
type sought struct {
	names []string
	// all is set where an expression takes needs as a whole.
	all bool
}

// has reports whether a step is among them.
func (of sought) has(step string) bool { return of.all || slices.Contains(of.names, step) }

// soughtBy are those of Rhai expressions over the names that steps have. What cannot be read
// here finds all steps, never none: whoever evaluates it says what is wrong with it.
func soughtBy(compile func(string) (*condition.Condition, error), expressions ...string) (of sought) {
	for _, text := range expressions {
		if !strings.Contains(text, "needs") {
			continue
		}
		c, err := compile(text)
		if err != nil {
			return sought{all: true}
		}
		names, all := c.Takes("needs")
		of.names, of.all = append(of.names, names...), of.all || all
	}
	return of
}

// soughtByList are those of what a step is done for each element of.
func soughtByList(s *domain.Step) sought {
	expressions := []string{s.Each}
	for _, axis := range s.Matrix.Lists() {
		text, _ := s.Matrix.Axis(axis)
		expressions = append(expressions, text)
	}
	return soughtBy(blueprint.CompileEach, expressions...)
}

// soughtByCall are those of the templates of a flow that a step makes.
func soughtByCall(call *domain.FlowCall) sought {
	return soughtByTemplates(append(slices.Collect(maps.Values(call.Params)), call.Trigger)...)
}

// soughtByTemplates are those that templates name.
func soughtByTemplates(texts ...string) (of sought) {
	for _, text := range texts {
		for _, place := range template.Parse(text).Names() {
			if path := strings.Split(place, "."); path[0] == "needs" && len(path) > 1 {
				of.names = append(of.names, path[1])
			}
		}
	}
	return of
}

// earlier are the steps that come before one, of those that are sought. Of all, those that are
// nearest come first; there is a bound, as for what jobs are told.
func (p *Plan) earlier(i int, told []int, of sought) (steps []int) {
	if !of.all && len(of.names) == 0 {
		return nil
	}
	if of.all {
		steps = slices.Concat(p.needs[i], told)
		for _, on := range p.behind(i) {
			if !slices.Contains(steps, on) {
				steps = append(steps, on)
			}
		}
		return steps[:min(len(steps), maxNeeds)]
	}
	var behind []int
	for _, name := range of.names {
		on, known := p.index[name]
		if !known || slices.Contains(steps, on) {
			continue
		}
		if before := slices.Contains(p.needs[i], on) || p.phase[on] < p.phase[i]; !before {
			if behind == nil {
				behind = p.behind(i)
			}
			if !slices.Contains(behind, on) {
				continue
			}
		}
		steps = append(steps, on)
	}
	return steps
}

// behind are all the steps that one needs, directly or through others, the nearest first.
func (p *Plan) behind(i int) (steps []int) {
	seen := newMarks(len(p.Steps))
	seen.add(i)
	for from, at := i, 0; ; at++ {
		for _, on := range p.needs[from] {
			if !seen.has(on) {
				seen.add(on)
				steps = append(steps, on)
			}
		}
		if at == len(steps) {
			return steps
		}
		from = steps[at]
	}
}
