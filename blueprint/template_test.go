package blueprint_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestNamesInTemplatesAreChecked(t *testing.T) {
	const script = "script: x, script_type: shell"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"all that there is", "params: {day: x}\nsecrets: {KEY: shop}\nenv: {A: '${params.day} ${params.of_a_step} ${flow.id} ${flow.trigger} " +
			"${flow.blueprint} ${step} $${HOME} $HOME'}\n" +
			"steps:\n- {name: a, " + script + ", params: {of_a_step: y}, env: {B: '${params.of_a_step}'}}\n- {name: b, " + script +
			", each: '[1]', env: {C: '${item} ${item.x.y} ${index}'}}\n" +
			"- {name: c, effect: {target: t, params: {p: '${day} ${later} ${params.day} ${secret.KEY} $${x.y}'}}}\n", nil},
		{"a param with a slip", "params: {day: x}\nenv: {A: '${params.dya}'}\nsteps:\n- {name: a, " + script + "}\n",
			[]string{`env.A: ${params.dya}: there is no param "dya"; did you mean "day"?; give it a value under params`}},
		{"a param without its word", "params: {day: x}\nenv: {A: '${day}'}\nsteps:\n- {name: a, " + script + "}\n",
			[]string{`env.A: ${day} stands for nothing; did you mean "params.day"?; known are params.NAME, item, item.FIELD, index, step, flow.id, ` +
				`flow.trigger and flow.blueprint, ` +
				`and $${ is ${ itself`}},
		{"a param of another step", "steps:\n- {name: a, " + script + ", params: {p: x}}\n- {name: b, " + script + ", env: {A: '${params.p}'}}\n",
			[]string{`steps[1].env.A: ${params.p}: there is no param "p"; give it a value under params`}},
		{"an element without a list", "steps:\n- {name: a, " + script + ", env: {A: '${item}', B: '${index}'}}\n",
			[]string{"steps[0].env.A: ${item}: only a step with each has an element", "steps[0].env.B: ${index}: only a step with each has an element"}},
		{"what begins no name", "env: {A: '${HOME:-/root}'}\nsteps:\n- {name: a, " + script + "}\n",
			[]string{`env.A: "${HOME:-/root}" begins no name: want ${params.NAME} and the like, or $${ where the text has ${ itself`}},
		{"an effect", "steps:\n- {name: a, effect: {target: t, params: {p: '${secret.KEY} ${params.x} ${flow.id}'}}}\n", []string{
			`steps[0].effect.params.p: ${secret.KEY}: the step names no secret "KEY"; write it under its secrets, as KEY: NAME`,
			`steps[0].effect.params.p: ${params.x}: there is no param "x"; give it a value under params`,
			`steps[0].effect.params.p: ${flow.id} stands for nothing; known are NAME or params.NAME, needs.STEP.KEY, and secret.NAME, and $${ is ${ itself`}},
		{"the key of a cache", "params: {day: x}\nsteps:\n- {name: a, " + script + ", cache: {key: '${params.day} ${params.dya}', for: 1h}}\n", []string{
			`steps[0].cache.key: ${params.dya}: there is no param "dya"; did you mean "day"?; give it a value under params`}},
		{"a flow within", "params: {day: x}\nsteps:\n- {name: a, each: '[1]', key: item, flow: {blueprint: b, " +
			"params: {p: '${dya} ${item} ${index} ${key}'}, trigger: '${day}'}}\n",
			[]string{`steps[0].flow.params.p: ${dya}: there is no param "dya"; did you mean "day"?; give it a value under params`}},
		{"a hook", "on: {failed: {effect: {target: t, params: {a: '${needs.a.x} ${hook_text}', b: '${needs.b.x}', " +
			"c: '${params.x}'}}}}\nsteps:\n- {name: a, " + script + "}\n",
			[]string{`on.failed.effect.params.b: ${needs.b.x}: there is no step "b"`,
				`on.failed.effect.params.c: ${params.x}: there is no param "x"; give it a value under params`}},
		{"the environment of a hook", "params: {day: x}\non: {failed: {" + script + ", env: {A: '${params.day} ${flow.id} ${flow.blueprint} " +
			"${flow.trigger} ${step}', " +
			"B: '${params.zzz}', C: '${item}', D: '${hook_text}', E: '${x'}}}\nsteps:\n- {name: a, " + script + "}\n",
			[]string{`on.failed.env.B: ${params.zzz}: there is no param "zzz"; give it a value under params`,
				`on.failed.env.C: ${item}: only a step with each has an element`,
				`on.failed.env.D: ${hook_text} is of the params of an effect; a hook's script finds $RAMET_HOOK_TEXT, $RAMET_HOOK and $RAMET_FLOW, ` +
					`and all of it under hook in the file $RAMET_INPUT`,
				`on.failed.env.E: "${x" begins no name: want ${params.NAME} and the like, or $${ where the text has ${ itself`}},
		{"the payload of a hook", "on: {failed: {effect: {target: t, payload: 'needs.a.result.x + needs.b.result.x'}}}\nsteps:\n- {name: a, " + script + "}\n",
			[]string{`on.failed.effect.payload: needs.b: there is no step "b"`}},
		{"what a step before has left", "steps:\n- {name: a, " + script + "}\n- {name: b, needs: a, effect: {target: t, params: {p: '${needs.a.x}'}}}\n" +
			"- {name: c, effect: {target: t, params: {p: '${needs.a.x}'}}}\n",
			[]string{`steps[2].effect.params.p: ${needs.a.x}: the step does not need "a", and finds nothing of it; add it to its needs`}},
	} {
		_, err := blueprint.Parse("f", []byte("name: n\n"+c.text))
		var got []string
		if err != nil {
			for _, line := range strings.Split(err.Error(), "\n") {
				_, text, _ := strings.Cut(line, ": ")
				got = append(got, text)
			}
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}

// TestNamesInHooksOfAContextAreChecked as far as they are not those of the flow that calls them.
func TestNamesInHooksOfAContextAreChecked(t *testing.T) {
	for text, want := range map[string]string{
		"${params.of_the_flow} ${flow.id} ${step}": "",
		"${hook_text}": "on.failed.env.A: ${hook_text} is of the params of an effect",
		"${item.x}":    "on.failed.env.A: ${item.x}: only a step with each has an element",
		"${flow.name}": "on.failed.env.A: ${flow.name} stands for nothing",
	} {
		h := &domain.Hooks{Failed: &domain.Hook{Script: "x", ScriptType: domain.ScriptShell, Env: map[string]string{"A": text}}}
		if err := blueprint.ValidateHooks(h); want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	h := &domain.Hooks{Failed: &domain.Hook{Effect: &domain.EffectCall{Target: "t", Params: map[string]string{"a": "${params.x} ${needs.a.b} ${hook_text}"}}}}
	if err := blueprint.ValidateHooks(h); err != nil {
		t.Error(err)
	}
	// A secret stands for something where the hook names it, which the refusal says.
	h.Failed.Effect.Params["a"] = "${secret.KEY}"
	want := `on.failed.effect.params.a: ${secret.KEY}: the hook names no secret "KEY"; write it under its secrets, as KEY: NAME`
	if err := blueprint.ValidateHooks(h); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	h.Failed.Secrets = map[string]string{"KEY": "chat"}
	if err := blueprint.ValidateHooks(h); err != nil {
		t.Error(err)
	}
	h.Failed.Env = map[string]string{"KEY": "x"}
	if err := blueprint.ValidateHooks(h); err == nil || !strings.HasPrefix(err.Error(), "on.failed.secrets.KEY: ") {
		t.Errorf("a secret that is a variable, too: got %v", err)
	}
	h.Failed.Env, h.Failed.Secrets = nil, nil
	h.Failed.Effect.Params["a"] = "${flow.id}"
	if err := blueprint.ValidateHooks(h); err == nil {
		t.Error("an effect that names what there is not is right")
	}
}
