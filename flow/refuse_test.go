package flow_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/work"
)

// all are the keys of the test's context.
func all(t *testing.T, b board.Board) (keys []string) {
	t.Helper()
	for cursor := ""; ; {
		page, next, err := b.Keys(t.Context(), 1, "", cursor, 1000)
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, page...)
		if cursor = next; cursor == "" {
			slices.Sort(keys)
			return keys
		}
	}
}

// TestWhatIsWrongIsRefused submits flows that cannot be: each is refused with a
// text that says why, and nothing is written.
func TestWhatIsWrongIsRefused(t *testing.T) {
	plan := func(steps ...domain.Step) flow.Request { return flow.Request{Plan: blueprint(steps...)} }
	jobs := func(list ...*domain.Job) flow.Request { return flow.Request{Jobs: list} }
	changed := func(name string, c domain.StepChange) flow.Request {
		q := plan(step("a", ""), step("s", "", shards(3, 1)))
		q.Steps = map[string]domain.StepChange{name: c}
		return q
	}
	many := slices.Repeat([]*domain.Job{job(1, "")}, 1_000_001)
	large := blueprint()
	for i := range 34 {
		large.Steps = append(large.Steps, step(fmt.Sprint("s", i), strings.Repeat("x", 1_000_000)))
	}
	tooMany := map[string]string{}
	for i := range domain.MaxParams + 1 {
		tooMany[fmt.Sprint("p", i)] = ""
	}
	cases := []struct {
		name string
		q    flow.Request
		want string
	}{
		{"nothing to make", flow.Request{}, "got 0 of them"},
		{"two things at once", flow.Request{Plan: blueprint(step("a", "")), Jobs: []*domain.Job{job(1, "")}}, "got 2 of them"},
		{"a blueprint that is not stored", flow.Request{Blueprint: "none"}, `"none"`},
		{"no steps", plan(), "there are none"},
		{"steps that need each other", plan(step("a", "", needs("c")), step("b", "", needs("a")), step("c", "", needs("b"))), "circle: "},
		{"a step that needs itself", plan(step("a", "", needs("a"))), "needs itself"},
		{"a step that is needed and not there", plan(step("alpha", ""), step("b", "", needs("alpah"))), `did you mean "alpha"`},
		{"a step that is needed twice", plan(step("a", ""), step("b", "", needs("a", "a"))), "named twice"},
		{"two steps of one name", plan(step("a", ""), step("a", "")), "needs its own"},
		{"a need of a later phase", plan(step("a", "", phase(2)), step("b", "", needs("a"), phase(1))), "comes after"},
		{"no shards", plan(step("a", "", shards(0, 1))), "count 0"},
		{"too many shards", plan(step("a", "", shards(domain.MaxShards+1, 1))), "count 1000001"},
		{"packs of no size", plan(step("a", "", packs(0, 0, 9))), "size 0"},
		{"packs that end and do not", plan(step("a", "", packs(1, 0, 9), func(s *domain.Step) { s.Pack.Endless = true })), "want one of them"},
		{"a window that is too wide", plan(step("a", "", shards(9, domain.MaxWindow+1))), "window"},
		{"a script type nobody runs", plan(step("a", "", func(s *domain.Step) { s.ScriptType = "cobol" })), `"cobol"`},
		{"a condition that is no expression", plan(step("a", "", maySkip, when("let x = ("))), "when"},
		{"a script with a NUL byte", plan(step("a", "x\x00y")), "NUL"},
		{"a name with a NUL byte", plan(step("a\x00", "")), "name"},
		{"a param with a NUL byte", flow.Request{Plan: blueprint(step("a", "")), Params: map[string]string{"p": "\x00"}}, "NUL"},
		{"an environment with a NUL byte", flow.Request{Plan: blueprint(step("a", "")), Env: map[string]string{"P": "\x00"}}, "NUL"},
		{"a trigger with a NUL byte", flow.Request{Plan: blueprint(step("a", "")), Trigger: "t\x00"}, "trigger"},
		{"a trigger that is too long", flow.Request{Plan: blueprint(step("a", "")), Trigger: strings.Repeat("t", 300)}, "trigger"},
		{"too many params", flow.Request{Plan: blueprint(step("a", "")), Params: tooMany}, "513 params"},
		{"params that are too large", flow.Request{Plan: blueprint(step("a", "")),
			Params: map[string]string{"p": strings.Repeat("x", domain.MaxParamBytes+1)}}, "bytes"},
		{"a blueprint of 34 megabytes", flow.Request{Plan: large}, "bytes"},
		{"an unknown policy", flow.Request{Plan: blueprint(step("a", "")), OnError: "panic"}, "abort or continue"},
		{"a skip of no step", flow.Request{Plan: blueprint(step("a", "")), Skip: []string{"z"}}, `no step "z"`},
		{"a skip that is not allowed", flow.Request{Plan: blueprint(step("a", "")), Skip: []string{"a"}}, "may_skip"},
		{"a change of no step", changed("z", domain.StepChange{Window: 2}), `no step "z"`},
		{"a split of a step that is not", changed("a", domain.StepChange{Size: 2}), "not split"},
		{"a change to what is wrong", changed("s", domain.StepChange{Count: -4}), "count -4"},
		{"a negative window", changed("s", domain.StepChange{Window: -1}), "window -1"},
		{"retries that do not fit", changed("a", domain.StepChange{Retries: new(-1)}), "retries"},

		{"jobs that depend on each other", jobs(job(1, "", 3), job(2, "", 1), job(3, "", 2)), "circle"},
		{"a job that depends on itself", jobs(job(1, "", 1)), "itself"},
		{"a job that depends on none of the flow", jobs(job(1, ""), job(2, "", 7)), "job 7, which is not in the flow"},
		{"a job that depends on another twice", jobs(job(1, ""), job(2, "", 1, 1)), "twice"},
		{"two jobs of one id", jobs(job(1, ""), job(1, "")), "two jobs"},
		{"jobs without ids", jobs(job(0, ""), job(0, "")), "need ids"},
		{"a million jobs and one", flow.Request{Jobs: many}, "1000001 jobs in one flow, the limit is 10000"},
		{"a job's script with a NUL byte", jobs(job(1, "x\x00")), "NUL"},
		{"a job's script that is too large", jobs(job(1, strings.Repeat("x", domain.MaxScriptBytes+1))), "bytes"},
		{"a job of a type nobody runs", jobs(&domain.Job{ID: 1, Script: "x", ScriptType: "cobol"}), `"cobol"`},
		{"a job of the largest id among others", jobs(job(math.MaxUint32, ""), job(2, "", 9)), "job 9"},
		{"steps of a flow of jobs", flow.Request{Jobs: []*domain.Job{job(1, "")}, Skip: []string{"a"}}, "no steps"},
	}
	b := memboard.Open()
	defer b.Close()
	e := flow.New(b, work.New(b, work.Config{Served: func(t domain.ScriptType) bool { return t == "words" }}), flow.Config{})
	before := all(t, b)
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			c.q.Caller = 1
			got, err := e.Submit(t.Context(), tenant, []flow.Request{c.q})
			if err != nil {
				t.Fatal(err)
			}
			err = got[0].Err
			if !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, domain.ErrNotFound) || !strings.Contains(fmt.Sprint(err), c.want) {
				t.Errorf("got %v, want a refusal with %q", err, c.want)
			}
			if n := len(fmt.Sprint(err)); n > 1000 {
				t.Errorf("the refusal has %d bytes", n)
			}
			if diff := cmp.Diff(before, all(t, b)); diff != "" {
				t.Errorf("it left something on the board (-before +after):\n%s", diff)
			}
		})
	}
	t.Run("too many flows at once", func(t *testing.T) {
		if _, err := e.Submit(t.Context(), tenant, make([]flow.Request, flow.MaxSubmit+1)); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("got %v", err)
		}
	})
	t.Run("one that is wrong among others is refused alone", func(t *testing.T) {
		good, bad := flow.Request{Caller: 1, Plan: blueprint(step("a", ""))}, flow.Request{Caller: 1}
		got, err := e.Submit(t.Context(), tenant, []flow.Request{good, bad, good})
		if err != nil || got[0].Err != nil || got[1].Err == nil || got[2].Err != nil || got[0].ID == got[2].ID {
			t.Errorf("got %+v, %v", got, err)
		}
	})
}

// TestNumbersThatWereChosenByHandArePassedOver: jobs may bring numbers of their own, and the
// flows of the same actor come to be all the same.
func TestNumbersThatWereChosenByHandArePassedOver(t *testing.T) {
	bubble(t, func(r *rig) {
		const taken = 3000
		for from := domain.JobID(1); from <= taken; from += 100 {
			var list []*domain.Job
			for id := from; id < from+100; id++ {
				list = append(list, &domain.Job{ID: id, CallerID: 1, ContextID: tenant, Script: "x", ScriptType: "other"})
			}
			if _, err := r.work.Submit(r.ctx, tenant, list); err != nil {
				r.Fatal(err)
			}
		}
		for range 3 {
			r.want(r.submit(flow.Request{Plan: blueprint(step("a", ""), step("b", "", needs("a")))}), domain.FlowSucceeded)
		}
	})
}
