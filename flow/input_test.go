package flow_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// TestInputsAreCheckedBeforeAFlowBegins: in each way in which one can be asked for.
func TestInputsAreCheckedBeforeAFlowBegins(t *testing.T) {
	bubble(t, func(r *rig) {
		ten := "10"
		p := blueprint(step("a", "env GOT", env("GOT", "${params.rows} of ${params.towns}")))
		p.Inputs = []domain.TypedField{{Name: "rows", Type: domain.TypeInteger, Default: &ten}, {Name: "towns", Type: domain.TypeList, Required: true}}
		v := r.want(r.submit(flow.Request{Plan: p, Params: map[string]string{"towns": "Oslo, Rome"}}), domain.FlowSucceeded)
		if got, want := v.Result["a.GOT"], `10 of ["Oslo","Rome"]`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if v.Params["rows"] != "10" {
			t.Errorf("the flow has the params %v", v.Params)
		}
		for name, c := range map[string]struct {
			params map[string]string
			any    bool
			want   string
		}{
			"a missing one":                      {nil, false, "needs towns"},
			"a missing one, of a payload":        {nil, true, "needs towns"},
			"an unknown one":                     {map[string]string{"towns": "a", "row": "3"}, false, `did you mean "rows"?`},
			"a wrong value":                      {map[string]string{"towns": "a", "rows": "x"}, false, "want a whole number"},
			"a wrong value, of a payload":        {map[string]string{"towns": "a", "rows": "x"}, true, "want a whole number"},
			"a variable that nobody has filled":  {map[string]string{"towns": "a", "rows": "${n}"}, false, "want a whole number"},
			"a wrong value beside what is known": {map[string]string{"towns": "[1"}, false, "want a list"},
		} {
			receipts, err := r.flows.Submit(r.ctx, tenant, []flow.Request{{Caller: 1, Plan: p, Params: c.params, AnyParams: c.any}})
			if err == nil {
				err = receipts[0].Err
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}
		}
	})
}
