package flow_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// Who may write jobs of actor 12 says on their records that they are of a flow
// of actor 1's, as a node would write it.
func TestAJobIsOfNoFlowOfAnotherCaller(t *testing.T) {
	for name, more := range map[string][]string{
		"a plain one":                  {"flow_env", "true"},
		"one that a keeper made":       {"flow_env", "true", "stepped", "true", "step", "a"},
		"one that was queued by us":    {"flow_env", "true", "queued_ms", "1"},
		"one with more of our fields":  {"flow_env", "true", "queued_ms", "1", "stepped", "true", "attempt", "3", "needs", "{}"},
		"one that ends by itself":      {"flow_env", "true", "status", "error", "reason", "script_failed"},
		"one that is of another's now": {"flow_env", "true", "caller_id", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				id := r.submit(flow.Request{Env: map[string]string{"SECRET": "s"}, Jobs: []*domain.Job{job(3, "gate open\nset x 41"), job(7, "set y 5", 3)}})
				for n, script := range []string{"fail on purpose", "set params.p 1"} {
					key := domain.JobKey{Caller: 12, ID: domain.JobID(n + 1)}
					r.seedJob(fmt.Sprint(key.ID), script, "[]")
					r.hset(key.String(), append(more, "flow_id", fmt.Sprint(id))...)
					r.lpush(key.String())
					r.until12(key)
				}
				// One that is ended by hand tells nobody either.
				r.seedJob("9", "set z 1", "[]")
				r.hset("job:12:9", append(more, "flow_id", fmt.Sprint(id), "status", "waiting_for_prerequisites")...)
				_, _ = r.work.Cancel(r.ctx, tenant, domain.JobKey{Caller: 12, ID: 9}, 12)
				close(r.words.gate("open"))
				v := r.want(id, domain.FlowSucceeded)
				if v.Progress != "100.00" || len(v.Result) == 0 {
					t.Errorf("got %+v", v)
				}
				recs, err := r.board.Get(r.ctx, 1, layout.FlowParams(id))
				if err != nil || recs[0] != nil {
					t.Errorf("params of the flow: %v, %v", recs, err)
				}
				for _, in := range r.words.seen {
					if stranger := in.Job[:7] == "job:12:"; stranger == (in.env["SECRET"] == "s") {
						t.Errorf("%s found %v", in.Job, in.env)
					}
				}
			})
		})
	}
}

// A flow that is not there yet may be made any moment: no job waits for it to
// tell it something.
func TestAJobIsOfNoFlowThatIsYetToCome(t *testing.T) {
	bubble(t, func(r *rig) {
		r.seedJob("1", "gate forged\nfail on purpose", "[]")
		r.hset("job:12:1", "flow_id", "1", "queued_ms", "1", "stepped", "true")
		r.lpush("job:12:1")
		id := r.submit(flow.Request{Jobs: []*domain.Job{job(3, "gate open")}})
		if id != 1 {
			t.Fatalf("flow %d, want 1", id)
		}
		close(r.words.gate("forged"))
		r.until12(domain.JobKey{Caller: 12, ID: 1})
		close(r.words.gate("open"))
		r.want(id, domain.FlowSucceeded)
	})
}

// until12 waits until a job has ended, one way or the other.
func (r *rig) until12(key domain.JobKey) {
	r.Helper()
	if _, err := r.work.Wait(r.ctx, tenant, key); err != nil {
		r.Fatal(err)
	}
}
