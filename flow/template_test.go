package flow_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

func env(pairs ...string) func(*domain.Step) {
	return func(s *domain.Step) {
		s.Env = map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			s.Env[pairs[i]] = pairs[i+1]
		}
	}
}

// TestEnvironmentsAreFilledIn: in flows of each kind, with what is known when the job runs.
func TestEnvironmentsAreFilledIn(t *testing.T) {
	for name, change := range map[string]func(*domain.Step){"a plain flow": func(*domain.Step) {}, "a flow with a keeper": mayFail} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				p := blueprint(step("a", "env DAY\nenv WHERE\nenv PLAIN\nenv MINE\nenv ASKED", change,
					env("WHERE", "${flow.blueprint}/${flow.trigger}/${flow.id}/${step}", "PLAIN", "$${params.day} $HOME", "MINE", "${params.own}-${params.day}"),
					func(s *domain.Step) { s.Params = map[string]string{"own": "of the step"} }))
				p.Params, p.Env = map[string]string{"day": "monday"}, map[string]string{"DAY": "it is ${params.day}", "MINE": "under that of the step"}
				v := r.want(r.submit(flow.Request{Plan: p, Trigger: "t1", Params: map[string]string{"day": "tuesday"},
					Env: map[string]string{"ASKED": "as it is: ${params.day} $${x}"}}), domain.FlowSucceeded)
				got := map[string]string{}
				for key, value := range v.Result {
					if name, ok := strings.CutPrefix(key, "a."); ok {
						got[name] = value
					}
				}
				want := map[string]string{"DAY": "it is tuesday", "WHERE": "test/t1/1/a", "PLAIN": "${params.day} $HOME", "MINE": "of the step-tuesday",
					"ASKED": "as it is: ${params.day} $${x}"}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestEnvironmentsHaveWhatStepsFound: params that earlier steps added, and elements of lists.
func TestEnvironmentsHaveWhatStepsFound(t *testing.T) {
	bubble(t, func(r *rig) {
		p := blueprint(step("a", "set params.rate 1.17"),
			step("b", "env IT", each(`[#{town: "Oslo", at: #{n: 3}}, #{town: "Rome", at: #{n: 4}}]`, 0), needs("a"),
				env("IT", "${index}: ${item.town} ${item.at.n} ${item.at} at ${params.rate}")),
			step("c", "results b IT", needs("b")))
		p.Params = map[string]string{"rate": "1"}
		v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowSucceeded)
		if got, want := v.Result["c.got"], `0: Oslo 3 {"n":3} at 1.17 1: Rome 4 {"n":4} at 1.17`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestAnEnvironmentThatCannotBeFilledIn ends the job for good: another attempt would find no more.
func TestAnEnvironmentThatCannotBeFilledIn(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"a field that is missing": {"${item.nam}", "env IT: there is no item.nam"},
		"a NUL":                   {"${item.nul}", "NUL"},
		"too much":                {strings.Repeat("${params.long}", 6), "more than 262144 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				p := blueprint(step("a", "env IT", each(`[#{name: "x", nul: "a\x00"}]`, 0), env("IT", c.text), func(s *domain.Step) { s.Retries = 3 }))
				p.Params = map[string]string{"long": strings.Repeat("x", 50_000)}
				v := r.want(r.submit(flow.Request{Plan: p}), domain.FlowErrored)
				if !strings.Contains(v.Error, c.want) {
					t.Errorf("got %q", v.Error)
				}
			})
		})
	}
}
