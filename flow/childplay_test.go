package flow_test

import (
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/work"
)

// This file has the flows that the steps of a play make, as a board would have them.

// children are all of them. A child is known by its place beside the list of its step.
type children struct {
	at    map[childPlace]*child
	of    map[domain.FlowID]*child
	lists int // the record where the next list of a step lies
	// refusals say of steps why no child can be made for them.
	refusals map[int]flow.ChildAnswer
	// untold are ends that are still to be told, because nobody knew the child when it ended.
	untold []work.Ending
	steps  map[domain.FlowID]int
}

type childPlace struct {
	list int
	id   int64
}

// child is a flow that a step has made.
type child struct {
	id     domain.FlowID
	step   int
	live   bool
	nth    int64 // which of its ends is the last, or, while it lives, the next
	ended  work.Outcome
	gone   bool // deleted
	byHand bool // started again by somebody, and not for its step
}

func newChildren() *children {
	return &children{at: map[childPlace]*child{}, of: map[domain.FlowID]*child{}, refusals: map[int]flow.ChildAnswer{}, steps: map[domain.FlowID]int{}}
}

// list is the list of a step that makes flows: it has a place of its own, also where it has only one element.
func (c *children) list(s *domain.Step, l flow.ListAnswer) flow.ListAnswer {
	if !s.Listed() {
		l = flow.ListAnswer{Count: 1}
	}
	l.First = c.lists
	c.lists += 10
	return l
}

// answer finds the child of a unit, or makes it, unless only what was made is wanted.
func (c *children) answer(step int, st *flow.StepState, id int64, only bool) flow.ChildAnswer {
	at := childPlace{st.List, id}
	var gone domain.FlowID
	for _, u := range slices.Concat(st.Open, st.Lost) {
		if u.ID == id && u.Flow == 0 {
			gone = u.Gone
		}
	}
	made := c.at[at]
	if made != nil && made.id != gone {
		switch {
		case made.gone:
			c.untold = append(c.untold, work.Ending{Flow: made.id, Nth: 1, Outcome: work.OutcomeErrored, Text: "it was deleted"})
		case !made.live:
			c.untold = append(c.untold, made.ending())
		}
		return flow.ChildAnswer{Flow: made.id}
	}
	if only {
		return flow.ChildAnswer{}
	}
	if no := c.refusals[step]; no != (flow.ChildAnswer{}) {
		return no
	}
	made = &child{id: domain.FlowID(len(c.of) + 1), step: step, live: true, nth: 1}
	c.at[at], c.of[made.id] = made, made
	return flow.ChildAnswer{Flow: made.id}
}

// end ends a child that lives.
func (c *child) end(how work.Outcome) work.Ending {
	c.live, c.ended, c.byHand = false, how, false
	return c.ending()
}

func (c *child) ending() work.Ending {
	return work.Ending{Flow: c.id, Nth: c.nth, Outcome: c.ended, Text: "the text of " + domain.FlowKey(c.id)}
}

// start starts a child again that has ended.
func (c *child) start() { c.live, c.nth = true, c.nth+2 }

// took notes what was decided about children. gone are those that were to be started again and are not there any more.
func (c *children) took(next flow.State, d flow.Decisions) (gone []domain.FlowID) {
	for i := range next.Steps {
		for _, u := range next.Steps[i].Open {
			if u.Flow != 0 {
				c.steps[u.Flow] = i
			}
		}
	}
	for _, e := range d.AgainFlows {
		switch it := c.of[e.Flow]; {
		case it.gone:
			gone = append(gone, e.Flow)
		case it.live: // somebody was faster
			it.byHand = false
		case it.ended == work.OutcomeSucceeded:
			c.untold = append(c.untold, it.ending())
		default:
			it.start()
		}
	}
	return gone
}

// living are those that live.
func (c *children) living() (list []*child) {
	for id := range domain.FlowID(len(c.of)) {
		if it := c.of[id+1]; it.live {
			list = append(list, it)
		}
	}
	return list
}

// over are those that have ended and are still there.
func (c *children) over() (list []*child) {
	for id := range domain.FlowID(len(c.of)) {
		if it := c.of[id+1]; !it.live && !it.gone {
			list = append(list, it)
		}
	}
	return list
}
