package resp

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for flows.

// putFlow keeps a flow readable, leaves alone what a keeper looks after, and
// lets flows of foreign programs be looked for.
func putFlow(x *call, c *change) error {
	id, err := domain.ParseFlowKey(c.l.key)
	if err != nil || domain.FlowKey(id) != c.l.key {
		return domain.Invalidf("%.255q is no key of a flow: want flow:<id>, for example flow:33", c.l.key)
	}
	if err := c.identical(map[string]uint64{"id": uint64(id), "context_id": uint64(x.s.space())}); err != nil {
		return err
	}
	if _, err := layout.DecodeFlow(c.l.key, c.set); err != nil {
		return err
	}
	if err := x.s.load(c.l, layout.FlowCaller); err != nil {
		return err
	}
	for _, text := range []string{c.l.get(layout.FlowCaller), first(c.text(layout.FlowCaller))} {
		if text == "" {
			continue
		}
		if n, err := strconv.ParseUint(text, 10, 32); err != nil || domain.ActorID(n) != x.c.who.Actor && x.c.who.Actor != domain.Operator {
			return domain.Forbiddenf("%s: caller_id %.20q is not you: flows are written in one's own name; write %d", c.l.key, text, x.c.who.Actor)
		}
	}
	if err := x.notKept(id, c.l.key); err != nil {
		return err
	}
	x.s.batch.SetAlarm(layout.FlowScan, x.s.now.Truncate(flowScanEvery).Add(flowScanEvery))
	return nil
}

// flowScanEvery is how often flows of foreign programs are looked for while
// they write some.
const flowScanEvery = 500 * time.Millisecond

func first(s string, _ bool) string { return s }

// notKept refuses what a keeper looks after already.
func (x *call) notKept(id domain.FlowID, key string) error {
	state, err := x.s.as(layout.FlowState(id), board.KindRecord)
	if err == nil {
		err = x.s.load(state, layout.FlowStateCaller)
	}
	if err != nil {
		return err
	}
	if state.record.read > 0 {
		return domain.Conflictf("%s is looked after by the node, and no longer written by others; see `ramet flow`", key)
	}
	x.s.batch.Absent(state.key)
	return nil
}

// dropFlow leaves flows that a keeper looks after to `ramet flow delete`, which
// takes away what belongs to them too.
func dropFlow(x *call, l *leaf) error {
	id, err := domain.ParseFlowKey(l.key)
	if err != nil {
		return nil // no flow, and nothing hangs on it
	}
	return x.notKept(id, l.key)
}
