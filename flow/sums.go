package flow

import (
	"math/bits"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// Sums are what a round must know of all steps of a flow without reading each: they
// are kept up with every step that changes. A rank is where a step stands in the
// order of the plan.
type Sums struct {
	// Round grows with each commit: who reads the steps one after the other knows by
	// it that they belong together.
	Round int64 `json:"round,omitempty"`
	// Steps is how many there are, Size how many of them lie in one record.
	Steps int `json:"steps,omitempty"`
	Size  int `json:"size,omitempty"`
	// Undone are the steps that have not ended, Begun those of them that have begun.
	Undone int `json:"undone"`
	Begun  int `json:"begun,omitempty"`
	// Deciding are the steps that wait for a person.
	Deciding int `json:"deciding,omitempty"`
	// Open are the units whose job has not ended, Bad those that did not end well, Gaps
	// what is remembered because of these.
	Open int `json:"open,omitempty"`
	Bad  int `json:"bad,omitempty"`
	Gaps int `json:"gaps,omitempty"`
	// Done is how much is done, by weight.
	Done float64 `json:"done,omitempty"`
	// Phase is the smallest whose steps have not all ended, as its number in the plan;
	// Left how many these are.
	Phase int `json:"phase,omitempty"`
	Left  int `json:"left,omitempty"`
	// Told are the steps of the phase before of which the jobs of this one are told.
	Told []int `json:"told,omitempty"`
	// Ready are the ranks of the steps that have room for more units, Made of those that
	// are open although there are no more, Stopped of those that have begun in what was
	// aborted or cancelled.
	Ready   Ranges `json:"ready,omitempty"`
	Made    Ranges `json:"made,omitempty"`
	Stopped Ranges `json:"stopped,omitempty"`
	// Waiting are the ranks of the steps that could begin but for an instant, of which
	// UntilMs is the first, or, where Held is set, for something else: a ban, or that
	// nobody has asked for their condition yet.
	Waiting Ranges `json:"waiting,omitempty"`
	UntilMs int64  `json:"until_ms,omitempty"`
	Held    bool   `json:"held,omitempty"`
}

// spread is a state with sums instead of its steps, and the steps.
func spread(p *Plan, s State) (head State, steps []StepState) {
	head, steps = s, make([]StepState, len(p.Steps))
	head.Steps, head.Sums = nil, nil
	a := newAdvancer(p, head, whole(s.Steps), Facts{})
	sums := a.s.Sums
	for i := range steps {
		st, _ := a.at(i)
		if steps[i] = *st; st.Status == domain.StepDormant && st.Met == len(p.needs[i]) || st.Status.Begun() && st.dated() {
			sums.wait(p.rank[i], 1) // what it waits for, if anything, is found out at once
		}
	}
	return a.s, steps
}

// awaits is what a flow waits for beside its jobs, "" where that is nothing.
func (s *Sums) awaits() domain.FlowAwaits {
	switch {
	case s.Undone == 0:
		return ""
	case s.Deciding > 0:
		return domain.AwaitsDecision
	case s.Begun == 0:
		return domain.AwaitsOthers
	}
	return ""
}

// clone copies the sums, so that they can be changed.
func (s *Sums) clone() *Sums {
	c := *s
	c.Ready, c.Made, c.Stopped, c.Waiting = slices.Clone(s.Ready), slices.Clone(s.Made), slices.Clone(s.Stopped), slices.Clone(s.Waiting)
	c.Told = slices.Clone(s.Told)
	return &c
}

// count adds n times what a step is to the sums.
func (s *Sums) count(p *Plan, i int, st *StepState, n int) {
	if !st.Status.Done() {
		s.Undone += n
		if p.phase[i] == s.Phase {
			s.Left += n
		}
	}
	if st.Status.Begun() {
		s.Begun += n
		if p.Steps[i].KindOr() == domain.StepApproval {
			s.Deciding += n
		}
	}
	s.Open += n * len(st.Open)
	s.Bad += n * len(st.Bad)
	s.Gaps += n * st.gaps()
	s.Done += float64(n) * float64(p.Steps[i].WeightOr()) * st.progress()
}

// put sees to it that a rank is among others, or not.
func put(ranks Ranges, rank int, in bool) Ranges {
	if at := int64(rank); in {
		return ranks.Add(at, at)
	} else {
		return ranks.Without(at)
	}
}

// wait keeps a step that could begin but for an instant; 0 is for something else.
func (s *Sums) wait(rank int, until domain.Instant) {
	s.Waiting = put(s.Waiting, rank, true)
	switch at := int64(until); {
	case at == 0:
		s.Held = true
	case s.UntilMs == 0 || at < s.UntilMs:
		s.UntilMs = at
	}
}

// marks are ranks of steps that a round looks at.
type marks []uint64

func newMarks(steps int) marks { return make(marks, (steps+63)/64) }

func (m marks) add(rank int) { m[rank/64] |= 1 << (rank % 64) }

func (m marks) has(rank int) bool { return m[rank/64]>>(rank%64)&1 == 1 }

// take takes out the first rank from one on; -1 where there is none.
func (m marks) take(from int) int {
	for w := from / 64; w < len(m); w++ {
		if m[w] != 0 {
			bit := bits.TrailingZeros64(m[w])
			m[w] &^= 1 << bit
			return w*64 + bit
		}
	}
	return -1
}

// meets reports whether one of them is among ranks.
func (m marks) meets(ranks Ranges) bool {
	if len(ranks) == 0 {
		return false
	}
	for w, word := range m {
		for ; word != 0; word &= word - 1 {
			if ranks.has(int64(w*64 + bits.TrailingZeros64(word))) {
				return true
			}
		}
	}
	return false
}
