package keyspace

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file has the rules for flows.

var (
	putFlow  = &Rule{needs: always(layout.FlowCaller), beside: flowState, decide: decidePutFlow}
	dropFlow = &Rule{needs: always(), beside: flowState, decide: decideDropFlow}
)

// flowState is the record that a keeper has of a flow which it looks after.
func flowState(key string) string {
	id, err := domain.ParseFlowKey(key)
	if err != nil {
		return ""
	}
	return layout.FlowState(id)
}

// decidePutFlow keeps a flow readable, leaves alone what a keeper looks after, and
// lets flows of foreign programs be looked for.
func decidePutFlow(q *Request, c *Change, seen Seen) (Outcome, error) {
	id, err := domain.ParseFlowKey(c.Key)
	if err != nil || domain.FlowKey(id) != c.Key {
		return Outcome{}, domain.Invalidf("%.255q is no key of a flow: want flow:<id>, for example flow:33", c.Key)
	}
	if err := c.identical(map[string]uint64{"id": uint64(id), "context_id": uint64(q.Space)}); err != nil {
		return Outcome{}, err
	}
	if _, err := layout.DecodeFlow(c.Key, c.Set); err != nil {
		return Outcome{}, err
	}
	will, _ := c.text(layout.FlowCaller)
	for _, text := range []string{seen.get(layout.FlowCaller), will} {
		if text == "" {
			continue
		}
		if n, err := strconv.ParseUint(text, 10, 32); err != nil || domain.ActorID(n) != q.Who && q.Who != domain.Operator {
			return Outcome{}, domain.Forbiddenf("%s: caller_id %.20q is not you: flows are written in one's own name; write %d", c.Key, text, q.Who)
		}
	}
	out, err := notKept(c.Key, seen)
	out.Alarm, out.At = layout.FlowScan, q.Now.Truncate(flowScanEvery).Add(flowScanEvery)
	return out, err
}

// flowScanEvery is how often flows of foreign programs are looked for while
// they write some.
const flowScanEvery = 500 * time.Millisecond

// notKept refuses what a keeper looks after already.
func notKept(key string, seen Seen) (Outcome, error) {
	if seen.Beside {
		return Outcome{}, domain.Conflictf("%s is looked after by the node, and no longer written by others; see `ramet flow`", key)
	}
	return Outcome{Absent: flowState(key)}, nil
}

// decideDropFlow leaves flows that a keeper looks after to `ramet flow delete`,
// which takes away what belongs to them too. What is no flow has none.
func decideDropFlow(_ *Request, c *Change, seen Seen) (Outcome, error) { return notKept(c.Key, seen) }
