package jobeffect_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/ban"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/jobeffect"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/work"
)

// openJob opens an effect of the kind job on the rig.
func openJob(t testing.TB, r *rig, options map[string]any) effect.Provider {
	t.Helper()
	p, err := jobeffect.OpenJob(jobs{r})(effecttest.Definition(t, domain.EffectJob, options), effecttest.Host(t))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func call(command, payload string) effect.Call {
	return effect.Call{Tenant: tenant, TenantName: "7", CommandID: command, Effect: "tested", Payload: json.RawMessage(payload), Attempt: 1,
		Metadata: map[string]string{"trace_id": "t-9"}}
}

func TestJobSuite(t *testing.T) {
	effecttest.Run(t, effecttest.Config{Payload: json.RawMessage(`{"amount": 7}`), Open: func(t *testing.T) (effect.Provider, effecttest.Target) {
		r := newRig(t)
		return openJob(t, r, map[string]any{"script_type": "words", "script": "x"}), r
	}})
}

func TestAScriptGetsThePayload(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]any
		payload string
		script  string
		params  map[string]string
	}{
		"each field is a param": {map[string]any{"script": "x"}, `{"who":"Ann","n":7,"deep":{"a":[1]},"yes":true,"none":null}`, "x",
			map[string]string{"who": "Ann", "n": "7", "deep": `{"a":[1]}`, "yes": "true", "none": "null"}},
		"the whole of it is one param": {map[string]any{"script": "x", "param": "order"}, `[1, "two"]`, "x", map[string]string{"order": `[1, "two"]`}},
		"there is none":                {map[string]any{"script": "x"}, ``, "x", nil},
		"it has the script":            {map[string]any{"script_from_payload": true}, `{"script":"y","params":{"who":"Ann"}}`, "y", map[string]string{"who": "Ann"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			c.options["script_type"] = "words"
			c.options["env"] = map[string]any{"LANG": "C"}
			p := openJob(t, r, c.options)
			answer, err := p.Do(t.Context(), call("c-1", c.payload))
			if err != nil {
				t.Fatal(err)
			}
			ran := r.ran()
			if len(ran) != 1 || ran[0].script != c.script || ran[0].env["EFFECT_COMMAND_ID"] != "c-1" || ran[0].env["LANG"] != "C" {
				t.Errorf("got %+v", ran)
			}
			if diff := cmp.Diff(c.params, ran[0].params); diff != "" {
				t.Errorf("params (-want +got):\n%s", diff)
			}
			if got, want := string(answer), `{"job":"job:1:1","status":"finished","exit_code":0,"result":{"text":""}}`; got != want {
				t.Errorf("got the answer %s, want %s", got, want)
			}
			j, err := r.work.Show(t.Context(), tenant, domain.JobKey{Caller: 1, ID: 1})
			if err != nil || j.TraceID != "t-9" || j.Origin != "effect:tested" {
				t.Errorf("got %+v, %v", j, err)
			}
		})
	}
}

func TestAJobThatFailedIsARefusal(t *testing.T) {
	r := newRig(t)
	r.Fail(1, true)
	_, err := openJob(t, r, map[string]any{"script_type": "words", "script": "x"}).Do(t.Context(), call("c-1", ""))
	var no *effect.Refused
	if !errors.As(err, &no) {
		t.Fatalf("got %v, want a refusal", err)
	}
	if got, want := no.Cause, "job:1:1 ended in error: script_failed: no luck"; got != want {
		t.Errorf("got the cause %q, want %q", got, want)
	}
	if got, want := string(no.Answer),
		`{"job":"job:1:1","status":"error","reason":"script_failed","error":"no luck","exit_code":3,"result":{"why":"empty"}}`; got != want {
		t.Errorf("got the answer %s, want %s", got, want)
	}
}

// TestAJobWaitsForAWorkerThatHasYetToCome asks for a job of a type that nobody has served so far.
func TestAJobWaitsForAWorkerThatHasYetToCome(t *testing.T) {
	r := newRig(t)
	p := openJob(t, r, map[string]any{"script_type": "letters", "script": "{}"})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := p.Do(ctx, call("c-1", ""))
		ended <- err
	}()
	key := domain.JobKey{Caller: 1, ID: 1}
	testwait.Until(t, "the job", func() bool {
		select {
		case err := <-ended:
			t.Fatalf("the effect has ended: %v", err)
		default:
		}
		j, err := r.work.Show(t.Context(), tenant, key)
		return err == nil && j.Status == domain.JobDispatched
	})
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want that it waited", err)
	}
}

// TestACheckAsksTheContextThatIsNamed checks an effect whose type workers of one context serve.
func TestACheckAsksTheContextThatIsNamed(t *testing.T) {
	r := newRig(t)
	if err := r.work.RegisterTypes(t.Context(), tenant, []domain.ScriptType{"letters"}); err != nil {
		t.Fatal(err)
	}
	p := openJob(t, r, map[string]any{"script_type": "letters", "script": "{}"})
	if err := p.Check(t.Context(), tenant); err != nil {
		t.Errorf("in the context of the workers: %v", err)
	}
	if err := p.Check(t.Context(), tenant+1); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("in another context: got %v, want that nobody serves the type", err)
	}
}

// TestTheNextAttemptFindsTheJob ends an attempt, and then the node, while the
// job runs: the next attempt waits for the same job, which another node runs.
func TestTheNextAttemptFindsTheJob(t *testing.T) {
	r := newRig(t)
	p := openJob(t, r, map[string]any{"script_type": "words", "script": "hang"})
	arrived, release := r.Hang(true)
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-arrived; cancel() }()
	if _, err := p.Do(ctx, call("c-1", "")); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want the context's end", err)
	}
	r.stop()
	release()
	r.node("n2")
	answer, err := p.Do(t.Context(), call("c-1", ""))
	if err != nil || !strings.Contains(string(answer), `"job":"job:1:1"`) {
		t.Fatalf("got %s, %v", answer, err)
	}
	list, _, err := r.work.List(t.Context(), tenant, work.Filter{}, "")
	if err != nil || len(list) != 1 {
		t.Errorf("got %d jobs, %v, want one", len(list), err)
	}
	if r.Applied("c-1") != 1 || r.Asked("c-1") != 2 {
		t.Errorf("got %d asked, %d applied", r.Asked("c-1"), r.Applied("c-1"))
	}
}

func TestAJobThatIsGoneIsNotMadeAgain(t *testing.T) {
	r := newRig(t)
	p := openJob(t, r, map[string]any{"script_type": "words", "script": "x"})
	if _, err := p.Do(t.Context(), call("c-1", "")); err != nil {
		t.Fatal(err)
	}
	gone := board.Batch{Space: layout.SpaceOf(tenant)}
	work.Remove(&gone, domain.JobKey{Caller: 1, ID: 1})
	if err := r.board.Commit(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	_, err := p.Do(t.Context(), call("c-1", ""))
	if no := (*effect.Refused)(nil); !errors.As(err, &no) || !strings.Contains(no.Cause, "job:1:1 was made for this command and is no longer on the board") {
		t.Errorf("got %v", err)
	}
	if n := len(r.ran()); n != 1 {
		t.Errorf("got %d runs, want one", n)
	}
}

func TestWhatIsHeldUpMayBeTriedAgain(t *testing.T) {
	r := newRig(t)
	bans := ban.New(r.board)
	if _, err := bans.Set(t.Context(), domain.Ban{BanScope: domain.BanScope{Kind: domain.BanType, Context: tenant, Name: "words"},
		Level: domain.BanSubmit, By: 1, Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	cache := ban.NewCache(r.board, nil)
	if err := cache.Load(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.stop()
	r.work = work.New(r.board, work.Config{Bans: cache})
	_, err := openJob(t, r, map[string]any{"script_type": "words", "script": "x"}).Do(t.Context(), call("c-1", ""))
	if no := (*effect.Refused)(nil); err == nil || errors.As(err, &no) || !errors.Is(err, domain.ErrConflict) {
		t.Errorf("got %v, want an error after which it is tried again", err)
	}
}

func TestPayloadsThatAreNoParams(t *testing.T) {
	r := newRig(t)
	fixed := openJob(t, r, map[string]any{"script_type": "words", "script": "x"})
	free := openJob(t, r, map[string]any{"script_type": "words", "script_from_payload": true})
	for _, c := range []struct {
		p             effect.Provider
		payload, want string
	}{
		{fixed, `[1]`, "want a JSON object"},
		{fixed, `{"a b":1}`, `param "a b"`},
		{fixed, `{"a":"` + strings.Repeat("x", domain.MaxParamBytes) + `"}`, "more than"},
		{fixed, `{"a":"\u0000"}`, "NUL"},
		{free, `{}`, `want {"script"`},
		{free, `{"script":7}`, `want {"script"`},
		{free, `{"script":"x","params":[]}`, "want a JSON object"},
		{free, `{"script":"` + strings.Repeat("x", domain.MaxScriptBytes+1) + `"}`, "script"},
	} {
		_, err := c.p.Do(t.Context(), call("c-1", c.payload))
		if no := (*effect.Refused)(nil); !errors.As(err, &no) || !strings.Contains(no.Cause, c.want) {
			t.Errorf("%.40s: got %v, want a refusal with %q", c.payload, err, c.want)
		}
	}
	if n := len(r.ran()); n != 0 {
		t.Errorf("got %d runs", n)
	}
}

func TestJobOptionsThatAreWrong(t *testing.T) {
	r := newRig(t)
	for want, options := range map[string]map[string]any{
		"script_type is missing":           {"script": "x"},
		"script and script_from_payload":   {"script_type": "words"},
		"script and script_from_payload: ": {"script_type": "words", "script": "x", "script_from_payload": true},
		"param cannot be given":            {"script_type": "words", "script_from_payload": true, "param": "p"},
		`param: param "a b"`:               {"script_type": "words", "script": "x", "param": "a b"},
		"job_timeout is 1.5s":              {"script_type": "words", "script": "x", "job_timeout": "1500ms"},
		"did you mean script?":             {"script_type": "words", "scrip": "x"},
		"names that begin with RAMET_":     {"script_type": "words", "script": "x", "env": map[string]any{"RAMET_X": "1"}},
		"TOKEN asks for a secret":          {"script_type": "words", "script": "x", "env": map[string]any{"TOKEN": "Bearer ${secret:T}"}},
		"caller_id 0":                      {"script_type": "words", "script": "x", "caller": 0},
		`script type "Words"`:              {"script_type": "Words", "script": "x"},
		"priority":                         {"script_type": "words", "script": "x", "priority": 10},
		"retries":                          {"script_type": "words", "script": "x", "retries": 256},
	} {
		_, err := jobeffect.OpenJob(jobs{r})(effecttest.Definition(t, domain.EffectJob, options), effect.Host{})
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), `effect "tested": `) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestOwnWorkMayTakeItsTime(t *testing.T) {
	for kind, want := range map[domain.EffectKind]time.Duration{domain.EffectJob: 24 * time.Hour, domain.EffectFlow: 24 * time.Hour,
		domain.EffectHTTP: 30 * time.Second} {
		d, err := effect.Definition{Name: "x", Kind: kind}.Filled()
		if err != nil || d.Timeout != want {
			t.Errorf("%s: got %v, %v, want %v", kind, d.Timeout, err, want)
		}
	}
	if _, err := (effect.Definition{Name: "x", Kind: domain.EffectFlow, Timeout: 31 * 24 * time.Hour}).Filled(); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("got %v", err)
	}
}
