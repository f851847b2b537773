package flow_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	blueprints "github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// paced is a blueprint of which so many flows of a customer begin in a minute.
func paced(name string, perMinute int) *domain.Blueprint {
	b := blueprint(step("a", ""))
	b.Name, b.Rate, b.Params = name, &domain.Rate{Key: "c-${params.customer}", PerMinute: perMinute}, map[string]string{"customer": "acme"}
	return b
}

func TestFlowsOfARateBeginWithPauses(t *testing.T) {
	bubble(t, func(r *rig) {
		var ids []domain.FlowID
		begun := time.Now()
		for i := range 8 {
			ids = append(ids, r.submit(flow.Request{Plan: paced([]string{"one", "two"}[i%2], 6)}))
			time.Sleep(time.Millisecond)
		}
		other := r.submit(flow.Request{Plan: paced("one", 6), Params: map[string]string{"customer": "else"}})
		if v := r.want(other, domain.FlowSucceeded); time.UnixMilli(v.FinishedMs).Sub(begun) > time.Second {
			t.Errorf("a flow of another key ended after %v", time.UnixMilli(v.FinishedMs).Sub(begun))
		}
		x, err := r.flows.Explain(r.ctx, tenant, ids[7])
		if want := begun.Add(70 * time.Second); err != nil || x.Standing != domain.StandingDelayed || x.NextMs < want.UnixMilli() ||
			x.NextMs > want.Add(time.Second).UnixMilli() || !strings.Contains(x.Text, "that is its turn") {
			t.Errorf("explained: got %+v, %v, want its turn in 70 s", x, err)
		}
		for i, id := range ids {
			v := r.want(id, domain.FlowSucceeded)
			after := time.UnixMilli(v.StartedMs).Sub(begun)
			if want := time.Duration(i) * 10 * time.Second; after < want || after > want+time.Second {
				t.Errorf("flow %d of a rate of 6 began after %v, want %v", i, after, want)
			}
		}
		if a := r.audit(); len(a.Repaired)+len(a.Stuck) > 0 {
			t.Errorf("audit: %+v", a)
		}
		time.Sleep(3 * time.Minute)
		if keys, _, err := r.board.Keys(r.ctx, 1, "ramet:rate:", "", 10); err != nil || len(keys) > 0 {
			t.Errorf("%v are left, %v", keys, err)
		}
	})
}

// What could not begin in time, here as it was paused, begins with pauses all the same.
func TestFlowsThatMissTheirSlotsTakeOthers(t *testing.T) {
	bubble(t, func(r *rig) {
		var ids []domain.FlowID
		for range 6 {
			plan := paced("one", 6)
			plan.Steps[0].Script = "failonce"
			ids = append(ids, r.submit(flow.Request{Plan: plan}))
			time.Sleep(time.Millisecond)
		}
		for _, id := range ids[1:] {
			if err := r.flows.Pause(r.ctx, tenant, id, true); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(10 * time.Minute)
		for _, id := range ids[1:] {
			if err := r.flows.Pause(r.ctx, tenant, id, false); err != nil {
				t.Fatal(err)
			}
		}
		var begun []int64
		for _, id := range ids {
			begun = append(begun, r.want(id, domain.FlowFailed).StartedMs)
		}
		slices.Sort(begun)
		for i := range begun[1:] {
			if pause := begun[i+1] - begun[i]; pause < 9_900 {
				t.Errorf("flow %d of a rate of 6 began %d ms after the one before it", i+1, pause)
			}
		}
		redone := time.Now()
		r.mustAct(ids[5], flow.Order{Verb: flow.OrderRetry, Failed: true, By: 1})
		if v := r.want(ids[5], domain.FlowSucceeded); time.Since(redone) > time.Second {
			t.Errorf("one that has begun and is started again waited until %v", v.FinishedMs)
		}
	})
}

func TestAFlowIsCancelledWhileItWaitsForItsSlot(t *testing.T) {
	bubble(t, func(r *rig) {
		r.want(r.submit(flow.Request{Plan: paced("one", 1)}), domain.FlowSucceeded)
		second := r.submit(flow.Request{Plan: paced("one", 1)})
		time.Sleep(time.Second)
		r.mustAct(second, flow.Order{Verb: flow.OrderCancel, By: 1})
		r.want(second, domain.FlowCancelled)
		begun := time.Now()
		v := r.want(r.submit(flow.Request{Plan: paced("one", 1)}), domain.FlowSucceeded) // the slot of the second is not given again
		if after := time.UnixMilli(v.StartedMs).Sub(begun); after < 110*time.Second || after > 2*time.Minute {
			t.Errorf("the third began after %v, want two minutes after the first", after)
		}
	})
}

func TestARateAndAConcurrencyKey(t *testing.T) {
	bubble(t, func(r *rig) {
		plan := func() *domain.Blueprint {
			b := paced("one", 60)
			b.Concurrency = &domain.Concurrency{Key: "k"}
			b.Steps[0].Script = "sleep 5s"
			return b
		}
		begun := time.Now()
		var ids []domain.FlowID
		for range 3 {
			ids = append(ids, r.submit(flow.Request{Plan: plan()}))
			time.Sleep(10 * time.Millisecond)
		}
		for i, id := range ids {
			v := r.want(id, domain.FlowSucceeded)
			if after, want := time.UnixMilli(v.StartedMs).Sub(begun), time.Duration(i)*5*time.Second; after < want || after > want+time.Second {
				t.Errorf("flow %d began after %v, want %v: the slot comes after the key", i, after, want)
			}
		}
	})
}

func TestARecordOfARateThatIsNoNumber(t *testing.T) {
	bubble(t, func(r *rig) {
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.Set("ramet:rate:c-acme", board.Field{Name: "next_ms", Value: "soon"})); err != nil {
			t.Fatal(err)
		}
		r.want(r.submit(flow.Request{Plan: paced("one", 1)}), domain.FlowSucceeded)
	})
}

func TestARecordOfARateThatIsAnotherKindOfThing(t *testing.T) {
	bubble(t, func(r *rig) {
		b := board.Batch{Space: 1}
		if err := r.board.Commit(r.ctx, *b.PushLeft("ramet:rate:c-acme", "x")); err != nil {
			t.Fatal(err)
		}
		first := r.want(r.submit(flow.Request{Plan: paced("one", 1)}), domain.FlowSucceeded)
		second := r.want(r.submit(flow.Request{Plan: paced("one", 1)}), domain.FlowSucceeded)
		if pause := second.StartedMs - first.StartedMs; pause < 59_900 {
			t.Errorf("the second began %d ms after the first: the record was not written anew", pause)
		}
	})
}

func TestRatesThatMakeNoSense(t *testing.T) {
	for want, rate := range map[string]domain.Rate{
		`rate.key: the blueprint has no param "custommer"; did you mean "customer"?`: {Key: "${params.custommer}", PerMinute: 1},
		"rate.per_minute: 0: want 1 to 6000":                                         {Key: "k"},
		"rate.per_minute: 6001: want 1 to 6000":                                      {Key: "k", PerMinute: 6001},
		"rate.key: want the name":                                                    {PerMinute: 1},
	} {
		b := paced("one", 1)
		b.Rate = &rate
		if err := blueprints.ValidateFields(b); err == nil || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
