package blueprint_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
)

// single is a step that runs a script.
func single(name string, needs ...string) domain.Step {
	return domain.Step{Name: name, Script: "x", ScriptType: "shell", Needs: needs}
}

func TestFaultsOfABlueprint(t *testing.T) {
	far := int64(-2)
	tests := []struct {
		name string
		plan domain.Blueprint
		want []string
	}{
		{"a right one has none", domain.Blueprint{Name: "n",
			Steps: []domain.Step{single("b", "a"), single("a"), {Name: "c", Kind: domain.StepApproval, Phase: 3}}}, nil},
		{"nothing", domain.Blueprint{}, []string{
			`name: name "": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`, "steps: there are none: want at least one"}},
		{"numbers out of range", domain.Blueprint{Name: "n", Version: -1, Priority: 10, MaxParallel: -1, OnError: "stop", Steps: []domain.Step{
			{Name: "a", Script: "x", ScriptType: "shell", Retries: 256, Timeout: domain.MaxTimeout + 1, Phase: 1001, Weight: -1, Priority: -1,
				When: strings.Repeat("1", 8193)}}},
			[]string{
				"version: -1: want 1 to 2147483647, or none for the next", "priority: 10: want 0 to 9", "max_parallel: -1: want 1 or more, or 0 for no bound",
				`on_error: "stop": want abort or continue`, "steps[0].priority: -1: want 0 to 9", "steps[0].retries: 256: want 0 to 255",
				"steps[0].timeout: 2592001 s, the limit is 2592000 (30 days)", "steps[0].phase: 1001: want 0 to 1000", "steps[0].weight: -1: want 1 to 1000000",
				"steps[0].when: 8193 bytes, the limit is 8192"}},
		{"maps, in the order of their names", domain.Blueprint{Name: "n", Params: map[string]string{"2": "", "1": "", "ok": "\x00"},
			Env:    map[string]string{"RAMET_X": "", "B": "\x00"},
			Output: map[string]string{"z": "a", "b": "q.x", "y": "a.x"}, Steps: []domain.Step{{Name: "a", Script: "x\x00", ScriptType: "shell",
				Affinity: map[string]string{"-": "", "long": strings.Repeat("x", 65)}}}},
			[]string{
				`params.1: param "1": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
				`params.2: param "2": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
				"params.ok: param ok has a NUL byte", "env.B: B has a NUL byte",
				`env.RAMET_X: "RAMET_X": names that begin with RAMET_ are set by the runner`, "steps[0].script: it has a NUL byte",
				`steps[0].affinity.-: label "-": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
				"steps[0].affinity.long: 65 bytes, the limit is 64", `output.b: there is no step "q"`, `output.z: "a": want "<step>.<key>"`}},
		{"params that are one variable", domain.Blueprint{Name: "n", Params: map[string]string{"day": "1"}, Steps: []domain.Step{
			{Name: "a", Script: "x", ScriptType: "shell", Params: map[string]string{"a-b": "", "a_b": ""}},
			{Name: "b", Script: "x", ScriptType: "shell", Params: map[string]string{"DAY": "2"}},
			{Name: "c", Script: "x", ScriptType: "shell", Params: map[string]string{"day": "2"}},
			{Name: "d", Kind: domain.StepEffect, Effect: &domain.EffectCall{Target: "t", Params: map[string]string{"x": "", "X": ""}}}}},
			[]string{"steps[0].params: params a-b and a_b are one variable for a script, RAMET_PARAM_A_B: give one of them another name",
				"steps[1].params: params day and DAY are one variable for a script, RAMET_PARAM_DAY: give one of them another name"}},
		{"kinds and what they have", domain.Blueprint{Name: "n", Steps: []domain.Step{
			{Name: "a", Kind: "loop"}, {Name: "b", Kind: domain.StepShard, Script: "x", ScriptType: "v"},
			{Name: "c", Kind: domain.StepPack, Script: "x", ScriptType: "v"},
			{Name: "d", Kind: domain.StepApproval, Script: "x", Effect: &domain.EffectCall{}}, {Name: "e", Effect: &domain.EffectCall{Kind: "http"}},
			{Name: "f", Kind: domain.StepSingle, Script: "x", ScriptType: "V", Shard: &domain.Shard{Count: 1}, Pack: &domain.Pack{Size: 1}},
			{Name: "g", Script: "x", ScriptType: "v", Shard: &domain.Shard{Count: 1, Window: 1001}},
			{Name: "h", Script: "x", ScriptType: "v", Pack: &domain.Pack{Size: 1, End: &far}}}},
			[]string{
				`steps[0].kind: "loop": want single, shard, pack, each, approval, effect or flow`, "steps[1].shard: a step of kind shard needs shard.count",
				"steps[2].pack: a step of kind pack needs pack.size, and pack.end or pack.endless", "steps[3].script: a step of kind approval has no script",
				"steps[3].effect: the step is of kind approval", "steps[4].effect: a step of kind effect needs effect.target, the name of an effect",
				`steps[5].script_type: script type "V": want a lower-case name such as python, shell or v`, "steps[5].shard: the step is of kind single",
				"steps[5].pack: the step is of kind single", "steps[6].shard: window 1001: want 1 to 1000", "steps[7].pack: end -2: want 0 or more, or -1 for none"}},
		{"lists and products", domain.Blueprint{Name: "n", Steps: []domain.Step{
			{Name: "a", Script: "x", ScriptType: "v", Each: "[1]", Matrix: domain.Matrix{"x": json.RawMessage("[1]")}},
			{Name: "b", Script: "x", ScriptType: "v", Matrix: domain.Matrix{"1": json.RawMessage("[1]"), "n": json.RawMessage("7"), "o": json.RawMessage("null"),
				"x": json.RawMessage(`""`), "y": json.RawMessage(`"` + strings.Repeat("x", 8<<10+1) + `"`)}, Key: strings.Repeat("x", 4<<10+1), Window: 1001},
			{Name: "c", Script: "x", ScriptType: "v", Matrix: domain.Matrix{"x": ones(400), "y": ones(400)}},
			{Name: "d", Script: "x", ScriptType: "v", Key: "item", Kind: domain.StepSingle, Matrix: domain.Matrix{"x": ones(1)}},
			{Name: "e", Script: "x", ScriptType: "v", Kind: domain.StepEach},
			{Name: "f", Script: "x", ScriptType: "v", Matrix: domain.Matrix{"x": json.RawMessage(`[1, {"a": 1e400}]`)}}}},
			[]string{
				"steps[0].matrix: each is given too; want one of them",
				`steps[1].matrix.1: axis "1": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
				"steps[1].matrix.n: want a list, or a Rhai expression over params and needs whose value is one",
				"steps[1].matrix.o: want a list, or a Rhai expression over params and needs whose value is one",
				"steps[1].matrix.x: want a list, or a Rhai expression over params and needs whose value is one",
				"steps[1].matrix.y: 8193 bytes, the limit is 8192", "steps[1].window: 1001: want 1 to 1000", "steps[1].key: 4097 bytes, the limit is 4096",
				"steps[2].matrix: the product of its lists has more than 100000 elements; a pack has no such bound",
				"steps[3].matrix: the step is of kind single", "steps[3].key: it names the elements of a step with each or matrix",
				"steps[4].each: a step of kind each needs each, an expression whose value is a list, or matrix, lists by name",
				`steps[5].matrix.x[1]: {"a": 1e400} is no value that expressions and scripts can have: want numbers up to 1.7e308, or a text in quotes`}},
		{"effects", domain.Blueprint{Name: "n", Steps: []domain.Step{
			{Name: "a", Effect: &domain.EffectCall{Target: "pay", Payload: "#{}"}}, {Name: "b", Effect: &domain.EffectCall{Target: "https://bank/pay"}},
			{Name: "c", Effect: &domain.EffectCall{Target: "pay", Params: map[string]string{"a": "1", "1": "b"}, Payload: "#{}"}},
			{Name: "d", Effect: &domain.EffectCall{Target: "pay", Payload: strings.Repeat("x", 8<<10+1)}},
			{Name: "e", Effect: &domain.EffectCall{Target: "pay"}, At: "7", Affinity: map[string]string{"zone": "eu", "effect": "x"}}}},
			[]string{
				`steps[1].effect.target: effect "https://bank/pay": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
				`steps[2].effect.params.1: param "1": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
				"steps[2].effect.payload: effect.params are given too; want one of them", "steps[3].effect.payload: 8193 bytes, the limit is 8192",
				"steps[4].at: a step of kind effect runs here, on a node that has the effect",
				"steps[4].affinity.effect: it says which node has an effect, which effect.target says already"}},
		{"needs", domain.Blueprint{Name: "n", Steps: []domain.Step{single("load", "load", "laod", "Load", "x"), single("late", "load", "load"), single("late")}},
			[]string{
				`steps[2].name: "late" is the name of steps[1] too: each step needs its own`, "steps[0].needs[0]: the step needs itself",
				`steps[0].needs[1]: there is no step "laod"; did you mean "load"?`, `steps[0].needs[2]: there is no step "Load"; did you mean "load"?`,
				`steps[0].needs[3]: there is no step "x"`, `steps[1].needs[1]: "load" is named twice`}},
		{"a circle", domain.Blueprint{Name: "n", Steps: []domain.Step{single("start"), single("a", "start", "c"), single("b", "a"), single("c", "b")}},
			[]string{"steps[1].needs: steps need each other in a circle: a -> c -> b -> a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			for range 3 { // maps are gone through in any order
				var got []string
				for _, f := range blueprint.FieldFaults(&test.plan) {
					got = append(got, f.String())
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Fatalf("(-want +got):\n%s", diff)
				}
			}
			if err := blueprint.ValidateFields(&test.plan); (err != nil) != (test.want != nil) || err != nil && !errors.Is(err, domain.ErrInvalid) {
				t.Errorf("Validate: got %v", err)
			}
		})
	}
}

func TestValidateSaysTheFirstFaultAndHowManyMore(t *testing.T) {
	b := domain.Blueprint{Name: "n", Priority: -1, MaxParallel: -1}
	if err, want := blueprint.ValidateFields(&b), `blueprint "n": priority: -1: want 0 to 9 (and 2 more)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestFaultsAreBounded(t *testing.T) {
	watched.Alone(t)
	b := domain.Blueprint{Name: "n"}
	for i := range domain.MaxSteps + 1 {
		b.Steps = append(b.Steps, single(fmt.Sprint(i)))
	}
	if n := len(blueprint.FieldFaults(&b)); n != 50 {
		t.Errorf("got %d", n)
	}
	// A long line is no deep recursion, and no circle.
	b.Steps = nil
	for i := range domain.MaxSteps {
		b.Steps = append(b.Steps, single(fmt.Sprintf("s%d", i), fmt.Sprintf("s%d", (i+1)%domain.MaxSteps)))
	}
	if got := blueprint.FieldFaults(&b); len(got) != 1 || got[0].Path != "steps[0].needs" {
		t.Errorf("a circle of all: got %d faults", len(got))
	}
	b.Steps[domain.MaxSteps-1].Needs = nil
	if got := blueprint.FieldFaults(&b); len(got) != 0 {
		t.Errorf("a line: got %v", got)
	}
}

// ones is an axis of n values.
func ones(n int) json.RawMessage { return json.RawMessage("[" + strings.Repeat("1,", n-1) + "1]") }
