package flow

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Plan is a flow's blueprint, prepared for [Advance]. It does not change.
type Plan struct {
	*domain.Blueprint
	index map[string]int
	needs [][]int
	// followers are the steps that need each step.
	followers [][]int
	// order has every step after those it needs and after all of smaller phases, rank
	// is where each step stands in it. Flows on boards remember ranks: the order of a
	// blueprint is the same for ever.
	order, rank []int
	// phases are the steps of each phase, the smallest first, phase is which of these
	// each step is of.
	phases  [][]int
	phase   []int
	weight  float64  // of all steps together
	sharded bool     // a step has indexes
	leaf    []bool   // nobody needs it
	bytes   []int    // about: of what each of a step's jobs is written with
	queues  []string // that it could fill
}

// NewPlan prepares a valid blueprint.
func NewPlan(b *domain.Blueprint) *Plan {
	n := len(b.Steps)
	p := &Plan{Blueprint: b, index: make(map[string]int, n), needs: make([][]int, n), followers: make([][]int, n), phase: make([]int, n),
		leaf: make([]bool, n), bytes: make([]int, n)}
	for i := range b.Steps {
		s := &b.Steps[i]
		p.index[s.Name] = i
		p.leaf[i] = true
		p.bytes[i] = len(s.Script) + mapBytes(b.Params) + mapBytes(s.Params) + mapBytes(s.Env)
		p.weight += float64(s.WeightOr())
		p.sharded = p.sharded || s.KindOr() == domain.StepShard || s.KindOr() == domain.StepEach
	}
	p.sortPhases()
	told := make([]int, len(p.phases)) // bytes of what is told of each phase's steps
	for i := range b.Steps {
		told[p.phase[i]] += len(b.Steps[i].Name) + needBytes
	}
	for i := range b.Steps {
		if p.phase[i] > 0 {
			p.bytes[i] += told[p.phase[i]-1]
		}
		for _, need := range b.Steps[i].Needs {
			on := p.index[need]
			p.needs[i] = append(p.needs[i], on)
			p.followers[on] = append(p.followers[on], i)
			p.bytes[i] += len(need) + needBytes
			p.leaf[on] = false
		}
	}
	p.sort()
	p.queues = p.crowds()
	return p
}

// sortPhases finds the steps of each phase.
func (p *Plan) sortPhases() {
	of := map[int][]int{}
	for i := range p.Steps {
		of[p.Steps[i].Phase] = append(of[p.Steps[i].Phase], i)
	}
	for n, phase := range slices.Sorted(maps.Keys(of)) {
		p.phases = append(p.phases, of[phase])
		for _, i := range of[phase] {
			p.phase[i] = n
		}
	}
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
	open := make([]int, len(p.Steps))
	var ready []int
	for i, needs := range p.needs {
		open[i] = len(needs)
		if len(needs) == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		i := ready[0]
		ready = ready[1:]
		p.order = append(p.order, i)
		for _, f := range p.followers[i] {
			depth[f] = max(depth[f], depth[i]+1)
			if open[f]--; open[f] == 0 {
				ready = append(ready, f)
			}
		}
	}
	slices.SortStableFunc(p.order, func(a, b int) int {
		return cmp.Or(cmp.Compare(p.Steps[a].Phase, p.Steps[b].Phase), cmp.Compare(depth[a], depth[b]), cmp.Compare(a, b))
	})
	p.rank = make([]int, len(p.Steps))
	for rank, i := range p.order {
		p.rank[i] = rank
	}
}

// plain reports whether the flow's jobs can all be made at once, with the
// board counting down their followers: single steps that start when all they
// need has succeeded, and nothing else. A script that speaks of steps may change
// one that has not begun, which only a keeper does.
func (p *Plan) plain() bool {
	if p.MaxParallel > 0 || p.Concurrency != nil || p.Rate != nil {
		return false
	}
	for i := range p.Steps {
		s := &p.Steps[i]
		if !s.KindOr().One() || s.Phase != p.Steps[0].Phase || s.MayFail || s.MaySkip || s.When != "" || s.After != 0 || s.Repeat != nil || s.Cache != nil ||
			strings.Contains(s.Script, domain.SettingPrefix) {
			return false
		}
	}
	return true
}
