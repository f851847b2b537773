package flow

import (
	"context"

	"github.com/ramet-run/ramet/domain"
)

// This file has what a played flow has instead of the board: the lists of its steps, and the
// flows that they make, which are not played themselves. How such a flow ends, and what it
// leaves, a case says as it does of a job.

// trialChild is what the flow of a unit is given.
type trialChild struct {
	params  map[string]string
	trigger string
	run     bool // it is among those that are run
}

// at is an element; "null" of a step that is done once.
func (l list) at(index int64) item {
	it := item{text: "null"}
	if int(index) < len(l.items) {
		it.text = l.items[index]
	}
	if int(index) < len(l.names) {
		it.name = l.names[index]
	}
	return it
}

// listOf is the list of a step, or why there is none.
func (p *trialPlay) listOf(ctx context.Context, i int, needs map[string]needed) (list, string) {
	s, params := &p.plan.Steps[i], stepParams(p.plan, i, p.added)
	l, fault, _ := makeList(s, func(text string) ([]string, string, error) { // nothing waits, so there is no error
		items, fault := evalList(ctx, text, params, needs)
		return items, fault, nil
	}, func(items []string) ([]string, string, error) {
		names, fault := evalNames(ctx, s.Key, items)
		return names, fault, nil
	})
	return l, fault
}

// child makes the flow of a unit, or says why it cannot be.
func (p *trialPlay) child(at ChildAt, needs map[string]needed) ChildAnswer {
	l := p.items[at.Step]
	it := l.at(at.ID)
	params, trigger, err := callOf(p.plan.Steps[at.Step].Flow, templateValue(stepParams(p.plan, at.Step, p.added), needs, it, at.ID))
	if err != nil {
		return ChildAnswer{Err: err.Error()}
	}
	p.flows++
	p.children[at] = trialChild{params: params, trigger: trigger}
	return ChildAnswer{Flow: p.flows, Key: it.name}
}

// takeChildren has the flows of a step run that were made in this round.
func (p *trialPlay) takeChildren(i int, st *StepState) {
	if p.plan.Steps[i].KindOr() != domain.StepFlow {
		return
	}
	for _, u := range st.Open {
		at := ChildAt{i, u.ID}
		if c := p.children[at]; u.Flow != 0 && !c.run {
			c.run = true
			p.children[at] = c
			p.jobs, p.of = append(p.jobs, u), append(p.of, i)
		}
	}
}
