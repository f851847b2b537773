package flow

import (
	"cmp"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// Plan is a flow's blueprint, prepared for [Advance]. It does not change.
type Plan struct {
	*domain.Blueprint
	index map[string]int
	needs [][]int
	// order has every step after those it needs and after all of smaller phases.
	order []int
	leaf  []bool // nobody needs it
	bytes []int  // about: of what each of a step's jobs is written with
}

// sharded reports whether a step has indexes.
func (p *Plan) sharded() bool {
	return slices.ContainsFunc(p.Steps, func(s domain.Step) bool { return s.KindOr() == domain.StepShard })
}

// NewPlan prepares a valid blueprint.
func NewPlan(b *domain.Blueprint) *Plan {
	n := len(b.Steps)
	p := &Plan{Blueprint: b, index: make(map[string]int, n), needs: make([][]int, n), leaf: make([]bool, n), bytes: make([]int, n)}
	for i := range b.Steps {
		p.index[b.Steps[i].Name] = i
		p.leaf[i] = true
		p.bytes[i] = len(b.Steps[i].Script) + mapBytes(b.Params) + mapBytes(b.Steps[i].Params) + mapBytes(b.Steps[i].Env)
	}
	phases := map[int]int{} // bytes of what is told of a phase's steps
	for i := range b.Steps {
		phases[b.Steps[i].Phase] += len(b.Steps[i].Name) + needBytes
	}
	for i := range b.Steps {
		before := -1
		for phase := range phases {
			if phase < b.Steps[i].Phase {
				before = max(before, phase)
			}
		}
		p.bytes[i] += phases[before]
		for _, need := range b.Steps[i].Needs {
			on := p.index[need]
			p.needs[i] = append(p.needs[i], on)
			p.bytes[i] += len(need) + needBytes
			p.leaf[on] = false
		}
	}
	p.sort()
	return p
}

// needBytes is what a job is told of a step that it needs, besides its name.
const needBytes = 48

func mapBytes(m map[string]string) (n int) {
	for name, value := range m {
		n += len(name) + len(value)
	}
	return n
}

// sort finds the order: by phase, and within one by depth.
func (p *Plan) sort() {
	depth := make([]int, len(p.Steps))
	followers := make([][]int, len(p.Steps))
	open := make([]int, len(p.Steps))
	var ready []int
	for i, needs := range p.needs {
		open[i] = len(needs)
		if len(needs) == 0 {
			ready = append(ready, i)
		}
		for _, on := range needs {
			followers[on] = append(followers[on], i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		p.order = append(p.order, i)
		for _, f := range followers[i] {
			depth[f] = max(depth[f], depth[i]+1)
			if open[f]--; open[f] == 0 {
				ready = append(ready, f)
			}
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Steps[a].Phase, p.Steps[b].Phase), cmp.Compare(depth[a], depth[b]), cmp.Compare(a, b))
	})
}

// plain reports whether the flow's jobs can all be made at once, with the
// board counting down their followers: single steps that start when all they
// need has succeeded, and nothing else.
func (p *Plan) plain() bool {
	if p.MaxParallel > 0 {
		return false
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if !s.KindOr().One() || s.Phase != p.Steps[0].Phase || s.MayFail || s.MaySkip || s.When != "" || s.After != 0 {
			return false
		}
	}
	return true
}
