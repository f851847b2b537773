package jobeffect_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/jobeffect"
)

// openFlow opens an effect of the kind flow on the rig.
func openFlow(t testing.TB, r *rig, options map[string]any) effect.Provider {
	t.Helper()
	p, err := jobeffect.OpenFlow(flows{r})(effecttest.Definition(t, domain.EffectFlow, options), effecttest.Host(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFlowSuite(t *testing.T) {
	effecttest.Run(t, effecttest.Config{Payload: json.RawMessage(`{"amount": 7}`), Open: func(t *testing.T) (effect.Provider, effecttest.Target) {
		r := newRig(t)
		return openFlow(t, r, map[string]any{"blueprint": "settle"}), r
	}, Features: effecttest.Features{
		NoAnswer: "the flow engine bounds results itself",
		NoAway:   "check has nothing to look for: each context has blueprints of its own",
	}})
}

func TestAFlowOfAPayload(t *testing.T) {
	r := newRig(t)
	r.Answer(effect.MaxAnswer)
	p := openFlow(t, r, map[string]any{"blueprint": "settle"})
	for range 2 {
		answer, err := p.Do(t.Context(), call("018f5b1e-0000-7000-8000-000000000001", `{"amount":7}`))
		if err != nil {
			t.Fatal(err)
		}
		var got struct {
			Flow           domain.FlowID
			Status, Reason string
			Result         struct{ Truncated bool }
		}
		if err := json.Unmarshal(answer, &got); err != nil || got.Flow != 1 || got.Status != "finished" || got.Reason != "succeeded" || !got.Result.Truncated {
			t.Errorf("got %.200s, %v", answer, err)
		}
		if len(answer) > effect.MaxAnswer {
			t.Errorf("the answer has %d bytes", len(answer))
		}
	}
	ran := r.ran()
	if len(ran) != 1 {
		t.Fatalf("got %d runs, want one", len(ran))
	}
	if diff := cmp.Diff(map[string]string{"amount": "7", "currency": "EUR"}, ran[0].params); diff != "" {
		t.Errorf("params (-want +got):\n%s", diff)
	}
	v, err := r.flows.Show(t.Context(), tenant, 1)
	if err != nil || v.Trigger != "018f5b1e-0000-7000-8000-000000000001" {
		t.Errorf("got %+v, %v", v, err)
	}
}

func TestAFlowThatFailedIsARefusal(t *testing.T) {
	r := newRig(t)
	r.Fail(1, true)
	_, err := openFlow(t, r, map[string]any{"blueprint": "settle"}).Do(t.Context(), call("c-1", ""))
	var no *effect.Refused
	if !errors.As(err, &no) || !strings.HasPrefix(no.Cause, "flow 1 ended in error: failed: ") || !strings.Contains(string(no.Answer), `"status":"error"`) {
		t.Errorf("got %v, %s", err, no.Answer)
	}
}

func TestAnyCommandIDMakesATrigger(t *testing.T) {
	r := newRig(t)
	p := openFlow(t, r, map[string]any{"blueprint": "settle"})
	for _, id := range []string{"c-1", "c/1", "c|1", strings.Repeat("c", 100), "ü"} {
		for range 2 {
			if _, err := p.Do(t.Context(), call(id, "")); err != nil {
				t.Errorf("%q: %v", id, err)
			}
		}
	}
	if n := len(r.ran()); n != 5 {
		t.Errorf("got %d runs, want one for each command", n)
	}
}

func TestABlueprintThatIsNotThereIsARefusal(t *testing.T) {
	r := newRig(t)
	for _, options := range []map[string]any{{"blueprint": "other"}, {"blueprint": "settle", "version": 2}} {
		_, err := openFlow(t, r, options).Do(t.Context(), call("c-1", ""))
		if no := (*effect.Refused)(nil); !errors.As(err, &no) || !strings.Contains(no.Cause, "there is no blueprint") {
			t.Errorf("%v: got %v", options, err)
		}
	}
}

func TestFlowOptionsThatAreWrong(t *testing.T) {
	r := newRig(t)
	for want, options := range map[string]map[string]any{
		`blueprint ""`:                 {},
		`blueprint "a b"`:              {"blueprint": "a b"},
		"version is -1":                {"blueprint": "settle", "version": -1},
		"caller is 0":                  {"blueprint": "settle", "caller": 0},
		"priority is 10":               {"blueprint": "settle", "priority": 10},
		`param: param "a b"`:           {"blueprint": "settle", "param": "a b"},
		"names that begin with RAMET_": {"blueprint": "settle", "env": map[string]any{"RAMET_X": "1"}},
		`unknown field "script"`:       {"blueprint": "settle", "script": "x"},
	} {
		_, err := jobeffect.OpenFlow(flows{r})(effecttest.Definition(t, domain.EffectFlow, options), effect.Host{})
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
