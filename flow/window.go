package flow

import (
	"cmp"
	"context"
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// This file keeps large flows from filling their queue: it is first in, first out, so
// whatever comes after them, a flow of three steps of the same context, waits for all
// that stands there, at each of its steps anew.

const (
	// flowWindow is how many unfinished jobs all steps of a flow have, where so many
	// wait in their queue that this says nothing against it.
	flowWindow = domain.MaxWindow
	// leastWindow is the part of a window that is always used: one over this.
	leastWindow = 5
	// soonMost is how many jobs of a flow that has begun go before those of others
	// that have not: followers of one job, not a fan-out.
	soonMost = 16
)

// narrowed is how many unfinished jobs there may be of what has a window, where some
// wait in the queue. While those are more than the window it shrinks by the square:
// five that share a queue fill it with less than two windows together, and a hundred
// are bounded by their fifths. Each sees the same queue, so their shares are equal.
func narrowed(window, queued int) int {
	if queued <= window {
		return window
	}
	part := float64(window) / float64(queued)
	return max(int(float64(window)*part*part), window/leastWindow, 1)
}

// stepQueue is the queue of a step's jobs.
func stepQueue(b *domain.Blueprint, s *domain.Step) string {
	j := domain.Job{ScriptType: s.ScriptType, Priority: cmp.Or(s.Priority, b.Priority), Affinity: s.Affinity, At: s.At}
	if s.KindOr() == domain.StepEffect {
		j.ScriptType, j.Affinity = domain.ScriptEffect, over(s.Affinity, map[string]string{domain.LabelEffect: s.Effect.Target})
	}
	return queue.Of(&j)
}

// crowds are the queues that the flow could fill.
func (p *Plan) crowds() (queues []string) {
	large := len(p.Steps) > flowWindow/leastWindow
	for i := range p.Steps {
		if k := p.Steps[i].KindOr(); large && k.One() || k == domain.StepShard || k == domain.StepPack || k == domain.StepEach {
			queues = append(queues, stepQueue(p.Blueprint, &p.Steps[i]))
		}
	}
	slices.Sort(queues)
	return slices.Compact(queues)
}

// queued are the lengths of the queues that a flow could fill. One that cannot be read
// bounds nothing.
func (t *tending) queued(ctx context.Context, plan *Plan) map[string]int {
	if len(plan.queues) == 0 {
		return nil
	}
	lengths, err := t.board.Len(ctx, t.ref.space, plan.queues...)
	if err != nil {
		return nil
	}
	queued := make(map[string]int, len(lengths))
	for i, n := range lengths {
		queued[plan.queues[i]] = n
	}
	return queued
}

// window is how many unfinished jobs a step may have now.
func (m *maker) window(i int, st *StepState) int {
	if len(m.f.Queued) == 0 {
		return st.Split.Window
	}
	return narrowed(st.Split.Window, m.f.Queued[stepQueue(m.p.Blueprint, &m.p.Steps[i])])
}

// crowd bounds what the flow makes while its queues are long.
func (m *maker) crowd() {
	for _, n := range m.f.Queued {
		if n > flowWindow {
			m.parallel = min(m.parallel, narrowed(flowWindow, n)-m.s.Sums.Open)
		}
	}
}

// soon reports whether jobs go before those that wait: a few, of steps that need some
// which have ended. So it is with those of flows that no keeper moves on.
func (p *Plan) soon(places []Place) bool {
	return len(places) <= soonMost && !slices.ContainsFunc(places, func(at Place) bool {
		return !p.Steps[at.Step].KindOr().One() || len(p.needs[at.Step]) == 0 && p.phase[at.Step] == 0
	})
}
