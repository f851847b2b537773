package flow_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// keyed is a blueprint of a name whose flows share a key.
func keyed(name string, c domain.Concurrency, text string) *domain.Blueprint {
	b := blueprint(step("a", text), step("b", "sleep 1s", needs("a")))
	b.Name, b.Concurrency, b.Params = name, &c, map[string]string{"customer": "acme"}
	return b
}

// noLine checks that nobody stands in line any more.
func (r *rig) noLine(key string) {
	r.Helper()
	if n, err := r.board.Len(r.ctx, 1, layout.FlowLineOf(key)); err != nil || n[0] != 0 {
		r.Errorf("%d stand in line for %s, %v", n, key, err)
	}
}

func TestFlowsOfOneKeyGoInOrder(t *testing.T) {
	for most := 1; most <= 3; most++ {
		t.Run(fmt.Sprint(most), func(t *testing.T) {
			bubble(t, func(r *rig) {
				var ids []domain.FlowID
				for i := range 12 {
					b := keyed([]string{"one", "two"}[i%2], domain.Concurrency{Key: "c-${params.customer}", Max: most}, "sleep 10s")
					ids = append(ids, r.submit(flow.Request{Plan: b}))
					time.Sleep(time.Second)
				}
				last := int64(0)
				for _, id := range ids {
					v := r.want(id, domain.FlowSucceeded, "a succeeded", "b succeeded")
					if v.FinishedMs < last {
						t.Errorf("flow %d overtook another", id)
					}
					last = v.FinishedMs
				}
				if r.words.peak() != most {
					t.Errorf("%d jobs ran at once, want %d", r.words.peak(), most)
				}
				r.noLine("c-acme")
			})
		})
	}
}

func TestFlowsOfOtherKeysDoNotWait(t *testing.T) {
	bubble(t, func(r *rig) {
		var ids []domain.FlowID
		for i := range 8 {
			b := keyed("one", domain.Concurrency{Key: "${customer}"}, "sleep 10s")
			b.Params["customer"] = fmt.Sprint("c", i)
			ids = append(ids, r.submit(flow.Request{Plan: b}))
		}
		for _, id := range ids {
			r.want(id, domain.FlowSucceeded)
		}
		if r.words.peak() != len(ids) {
			t.Errorf("%d ran at once, want %d", r.words.peak(), len(ids))
		}
	})
}

func TestAFlowIsCancelledWhileItWaitsForItsKey(t *testing.T) {
	bubble(t, func(r *rig) {
		c := domain.Concurrency{Key: "k"}
		first := r.submit(flow.Request{Plan: keyed("one", c, "gate a")})
		time.Sleep(time.Second)
		second := r.submit(flow.Request{Plan: keyed("one", c, "")})
		time.Sleep(time.Second)
		third := r.submit(flow.Request{Plan: keyed("one", c, "")})
		time.Sleep(time.Second)
		x, err := r.flows.Explain(r.ctx, tenant, third)
		if want := `it waits for its concurrency key "k", which 1 may hold at once: flow:1, flow:2 of 2 before it`; err != nil || x.Text != want {
			r.Errorf("got %q, %v, want %q", x.Text, err, want)
		}
		if a := r.audit(); len(a.Stuck)+len(a.Repaired) > 0 {
			r.Errorf("the audit found %+v", a)
		}
		r.mustAct(second, flow.Order{Verb: flow.OrderCancel})
		r.want(second, domain.FlowCancelled, "a skipped_by_error")
		if v := r.show(third); v.Final() || r.words.running() != 1 {
			r.Errorf("the third did not go on waiting: %+v", v)
		}
		r.mustAct(first, flow.Order{Verb: flow.OrderCancel})
		r.want(first, domain.FlowCancelled)
		r.want(third, domain.FlowSucceeded)
		r.noLine("k")
	})
}

func TestWhatBecomesOfOneMore(t *testing.T) {
	bubble(t, func(r *rig) {
		first := r.submit(flow.Request{Plan: keyed("one", domain.Concurrency{Key: "k"}, "gate a")})
		time.Sleep(time.Second)
		skipped := r.submit(flow.Request{Plan: keyed("one", domain.Concurrency{Key: "k", WhenFull: domain.FullSkip}, "")})
		if v := r.want(skipped, domain.FlowCancelled); !strings.Contains(v.Error, "when_full: skip") {
			r.Errorf("it was skipped because %q", v.Error)
		}
		waits := r.submit(flow.Request{Plan: keyed("one", domain.Concurrency{Key: "k"}, "")})
		time.Sleep(time.Second)
		newest := r.submit(flow.Request{Plan: keyed("one", domain.Concurrency{Key: "k", WhenFull: domain.FullCancelOld}, "")})
		r.want(newest, domain.FlowSucceeded)
		for _, old := range []domain.FlowID{first, waits} {
			v := r.want(old, domain.FlowCancelled)
			if want := domain.FlowKey(newest) + " took its place"; !strings.HasPrefix(v.Error, want) {
				t.Errorf("flow %d: got error %q, want %q", old, v.Error, want)
			}
		}
		r.noLine("k")
	})
}

func TestARetriedFlowWaitsForItsKeyAgain(t *testing.T) {
	bubble(t, func(r *rig) {
		c := domain.Concurrency{Key: "k"}
		first := r.submit(flow.Request{Plan: keyed("one", c, "crashonce\nsleep 5s")})
		r.want(first, domain.FlowErrored)
		second := r.submit(flow.Request{Plan: keyed("one", c, "sleep 30s")})
		time.Sleep(time.Second)
		r.mustAct(first, flow.Order{Verb: flow.OrderRetry})
		a, b := r.want(second, domain.FlowSucceeded), r.want(first, domain.FlowSucceeded)
		if r.words.peak() != 1 || a.FinishedMs > b.FinishedMs {
			r.Errorf("%d ran at once", r.words.peak())
		}
		r.noLine("k")
	})
}

func TestKeysThatNameNoParamAreRefused(t *testing.T) {
	bubble(t, func(r *rig) {
		for want, c := range map[string]domain.Concurrency{
			`has no param "other"`:           {Key: "x-${params.other}"},
			"concurrency.max: -1":            {Key: "k", Max: -1},
			"concurrency.max: 1001":          {Key: "k", Max: 1001},
			"concurrency.key: want the name": {},
			"did you mean \"wait\"":          {Key: "k", WhenFull: "wai"},
		} {
			got, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: keyed("one", c, "")}})
			if err == nil {
				err = got[0].Err
			}
			if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(fmt.Sprint(err), want) {
				r.Errorf("got %v, want %s", err, want)
			}
		}
	})
}

// A flow that is part of one which holds its key does not wait for that, however deep it is.
func TestAPartOfAFlowSharesItsKey(t *testing.T) {
	key := &domain.Concurrency{Key: "c-${params.customer}"}
	params := map[string]string{"customer": "acme"}
	inner, middle := named("inner", params, step("work", "sleep 5s")), named("middle", params, call("in", "inner", nil))
	inner.Concurrency = key
	within(t, newCatalog(inner, middle), func(r *rig) {
		p := blueprint(step("a", ""), call("mid", "middle", nil, needs("a")))
		p.Params, p.Concurrency = params, key
		id := r.submit(flow.Request{Plan: p})
		time.Sleep(time.Second)
		other := r.submit(flow.Request{Plan: keyed("other", *key, "")})
		first := r.want(id, domain.FlowSucceeded, "mid succeeded")
		if v := r.want(other, domain.FlowSucceeded); v.FinishedMs < first.FinishedMs {
			t.Error("another flow of the key did not wait for all of it")
		}
		r.noLine("c-acme")
	})
}
