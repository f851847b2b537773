package flow_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/work"
)

// This file has what Advance decides about the flows that steps make.

func TestAdvanceChildren(t *testing.T) {
	no := flow.ChildAnswer{Err: "there can be none"}
	ends := func(p *play, id domain.FlowID, how work.Outcome) {
		p.step(flow.Facts{Ended: []work.Ending{p.kids.of[id].end(how)}})
	}
	after := func(steps ...domain.Step) *domain.Blueprint { return blueprint(append(steps, step("first", ""))...) }
	runParts(t, []part{
		{"a child that was made beside one that cannot be is waited for", after(call("a", "child", nil, needs("first")), call("b", "child", nil, needs("first"))),
			func(p *play) {
				p.kids.refusals[0] = no
				p.end("first s")
				p.want("a errored", "b open")
				p.wantEnd("", "")
				ends(p, 1, work.OutcomeSucceeded)
				p.want("b succeeded")
				p.wantEnd(domain.FlowErrored, "there can be none")
			}},
		{"a child of a keeper that died is stopped with its flow", after(call("a", "child", nil, needs("first"), each("list", 4))), func(p *play) {
			p.lists["a"] = flow.ListAnswer{Count: 5}
			p.kids.refusals[0] = flow.ChildAnswer{Later: "another lives"}
			p.end("first s")
			p.want("a open")
			clear(p.kids.refusals)
			p.ask(p.facts(flow.Facts{}))
			p.must(flow.Order{Verb: flow.OrderCancel})
			p.want("a open")
			if len(p.last.StopFlows) != 4 {
				t.Errorf("to be stopped are %v, want four children", p.last.StopFlows)
			}
			p.step(flow.Facts{Ended: []work.Ending{p.kids.of[1].end(work.OutcomeCancelled), p.kids.of[2].end(work.OutcomeCancelled),
				p.kids.of[3].end(work.OutcomeCancelled), p.kids.of[4].end(work.OutcomeSucceeded)}})
			p.want("a errored")
			p.wantEnd(domain.FlowCancelled, "cancelled by actor 9")
		}},
		{"what begins when a child cannot be is made", blueprint(call("a", "child", nil, needs("first")), step("first", ""),
			step("last", "", phase(1))), func(p *play) {
			p.kids.refusals[0] = no
			p.end("first s")
			p.want("a errored", "last running")
			p.end("last s")
			p.wantEnd(domain.FlowErrored, "there can be none")
		}},
		{"a child that has had its time is told so in a round that aborts, too", after(call("a", "child", nil, func(s *domain.Step) { s.Timeout = 2 }),
			step("w", "", needs("first"), when("true"))), func(p *play) {
			p.whens["w"] = flow.WhenAnswer{Err: "no such name"}
			p.now = p.now.Add(2 * time.Second)
			p.end("first s")
			p.want("a running", "w errored")
			if len(p.last.StopFlows) != 1 {
				t.Errorf("to be stopped are %v, want one child", p.last.StopFlows)
			}
		}},
	})
}
