package blueprint_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// steps is a right blueprint with these steps.
func steps(list string) string { return "name: n\nsteps:\n" + list }

func TestAWholeBlueprintIsRead(t *testing.T) {
	end := int64(999)
	want := &domain.Blueprint{
		Name: "nightly", Version: 3, Summary: "all fields", Priority: 4,
		Params: map[string]string{"region": "eu", "n": "5", "ok": "true", "day": "2026-01-31", "x": "0x1F"},
		Env:    map[string]string{"LANG": "C", "N": "1.50"}, UniqueAlive: true, MaxParallel: 7, OnError: domain.OnErrorContinue,
		After: 1769824800000, Duration: 5400, Retention: 90, Output: map[string]string{"sum": "a.sum"},
		Steps: []domain.Step{
			{Name: "a", Kind: domain.StepSingle, Summary: "first", Script: "echo a\n", ScriptType: "shell", Params: map[string]string{"p": "1"},
				Env: map[string]string{"E": "2"}, Timeout: 60, Retries: 2, MayFail: true, MaySkip: true, When: "params.n > 3", After: 5,
				Weight: 10, Duration: 3600, Priority: 1, Affinity: map[string]string{"disk": "ssd"}, At: "9", Checkpoint: true},
			{Name: "b", Script: "b", ScriptType: "rhai", Needs: []string{"a"}, Shard: &domain.Shard{Count: 8, Start: 2, Window: 3}},
			{Name: "c", Script: "c", ScriptType: "python", Needs: []string{"a", "b"}, Pack: &domain.Pack{Size: 100, Start: 1, End: &end, FirstID: 4, Window: 5}},
			{Name: "d", Script: "d", ScriptType: "v", Phase: 1, Pack: &domain.Pack{Size: 1, Endless: true}},
			{Name: "e", Kind: domain.StepApproval, Phase: 2},
			{Name: "f", Phase: 2, Effect: &domain.EffectCall{Kind: "http", Target: "shop", Params: map[string]string{"path": "/"}}, When: "false"},
		},
	}
	texts := map[string]string{
		"YAML": `
name: nightly
version: 3
summary: all fields
priority: 4
params: {region: eu, n: 5, ok: true, day: 2026-01-31, x: 0x1F}
env: {LANG: C, N: 1.50}
unique_alive: true
max_parallel: 7
on_error: continue
after: 2026-01-31T02:00:00Z
duration: 1h30m
retention: "90"
output: {sum: a.sum}
steps:
  - name: a
    kind: single
    summary: first
    script: |
      echo a
    script_type: shell
    params: {p: 1}
    env: {E: 2}
    timeout: 60
    retries: 2
    may_fail: true
    may_skip: true
    when: params.n > 3
    after: 5
    weight: 10
    duration: 1h
    priority: 1
    affinity: {disk: ssd}
    at: "9"
    checkpoint: true
  - {name: b, script: b, script_type: rhai, needs: a, shard: {count: 8, start: 2, window: 3}}
  - {name: c, script: c, script_type: python, needs: [a, b], pack: {size: 100, start: 1, end: 999, first_id: 4, window: 5}}
  - {name: d, script: d, script_type: v, phase: 1, pack: {size: 1, endless: true}}
  - {name: e, kind: approval, phase: 2}
  - {name: f, phase: 2, effect: {kind: http, target: shop, params: {path: /}}, when: false}
`,
		"JSON": `{"name":"nightly","version":3,"summary":"all fields","priority":4,
"params":{"region":"eu","n":5,"ok":true,"day":"2026-01-31","x":"0x1F"},"env":{"LANG":"C","N":1.50},"unique_alive":true,
"max_parallel":7,"on_error":"continue","after":1769824800000,"duration":5400,"retention":"90","output":{"sum":"a.sum"},"steps":[
{"name":"a","kind":"single","summary":"first","script":"echo a\n","script_type":"shell","params":{"p":1},"env":{"E":"2"},"timeout":"60s",
"retries":2,"may_fail":true,"may_skip":true,"when":"params.n > 3","after":"1970-01-01T00:00:00.005Z","weight":10,"duration":"3600",
"priority":1,"affinity":{"disk":"ssd"},"at":"9","checkpoint":true,"needs":[]},
{"name":"b","script":"b","script_type":"rhai","needs":"a","shard":{"count":8,"start":2,"window":3}},
{"name":"c","script":"c","script_type":"python","needs":["a","b"],"pack":{"size":100,"start":1,"end":999,"first_id":4,"window":5}},
{"name":"d","script":"d","script_type":"v","phase":1,"pack":{"size":1,"endless":true}},
{"name":"e","kind":"approval","phase":2,"script":null},
{"name":"f","phase":2,"effect":{"kind":"http","target":"shop","params":{"path":"/"}},"when":false}]}`,
	}
	for form, text := range texts {
		got, err := blueprint.Parse("x", []byte(text))
		if err != nil {
			t.Errorf("%s: %v", form, err)
			continue
		}
		if got.Steps[0].Needs != nil && len(got.Steps[0].Needs) == 0 {
			got.Steps[0].Needs = nil // none, either way
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", form, diff)
		}
		again, err := blueprint.Parse("", blueprint.YAML(got))
		if diff := cmp.Diff(want, again); err != nil || diff != "" {
			t.Errorf("%s, printed and read again: %v (-want +got):\n%s", form, err, diff)
		}
	}
}

func TestWhatAnchorsStandForIsRead(t *testing.T) {
	got, err := blueprint.Parse("", []byte(`
name: n
steps:
  - &first {name: a, script: &text "echo hi", script_type: shell, retries: 3, env: &env {A: 1, B: 2}}
  - {<<: *first, name: b, env: {<<: *env, B: 3}}
  - {<<: [{timeout: 5}, *first], name: c, script: *text, retries: 1}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []domain.Step{
		{Name: "a", Script: "echo hi", ScriptType: "shell", Retries: 3, Env: map[string]string{"A": "1", "B": "2"}},
		{Name: "b", Script: "echo hi", ScriptType: "shell", Retries: 3, Env: map[string]string{"A": "1", "B": "3"}},
		{Name: "c", Script: "echo hi", ScriptType: "shell", Retries: 1, Timeout: 5, Env: map[string]string{"A": "1", "B": "2"}},
	}
	if diff := cmp.Diff(want, got.Steps); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatIsWrongIsNamedWithItsPlace(t *testing.T) {
	const ok = "script: x, script_type: shell"
	tests := []struct {
		name, text string
		want       []string
	}{
		{"an empty text", "", []string{"f: the text is empty; want a blueprint, with `name:` and `steps:`"}},
		{"comments only", "# nothing\n", []string{"f: the text is empty; want a blueprint, with `name:` and `steps:`"}},
		{"a list", "- a\n", []string{"f:1:1: got a list, want fields such as `name:`"}},
		{"a null", "null", []string{"f:1:1: got nothing, want fields such as `name:`"}},
		{"what is no YAML", "name: n\nsteps: [\n", []string{"f:2:1: did not find expected node content"}},
		{"no UTF-8", "name: \xff", []string{"f: the text is not UTF-8"}},
		{"two documents", steps("- {name: a, " + ok + "}\n---\nname: m\n"), []string{"f:4:1: here begins a second document; want one"}},
		{"no name and no steps", "summary: s", []string{
			`f:1:1: name: name "": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			"f:1:1: steps: there are none: want at least one"}},
		{"empty steps", "name: n\nsteps: []", []string{"f:2:8: steps: there are none: want at least one"}},
		{"an unknown field", steps("- {name: a, " + ok + ", retrys: 2}"), []string{`f:3:44: steps[0].retrys: unknown field "retrys"; did you mean "retry"?`}},
		{"depends", steps("- {name: a, " + ok + "}\n- {name: b, " + ok + ", depends: [a]}"),
			[]string{`f:4:44: steps[1].depends: unknown field "depends"; did you mean "needs"?`}},
		{"dependends", steps("- {name: a, " + ok + ", dependends: [a]}"), []string{`f:3:44: steps[0].dependends: unknown field "dependends"; did you mean "needs"?`}},
		{"a field that is nothing like another", "zzz: 1\n" + steps("- {name: a, "+ok+"}"), []string{
			`f:1:1: zzz: unknown field "zzz"; known are name, version, summary, priority, params, inputs, env, secrets, unique_alive, ` +
				`max_parallel, on_error, on, concurrency, rate, after, ` +
				`duration, retention, steps, output`}},
		{"a field that stands twice", steps("- name: a\n  script: x\n  script_type: shell\n  script: y\n"),
			[]string{"f:6:3: steps[0].script: it stands twice, at line 4 too"}},
		{"a field that stands twice in JSON",
			"{\"name\": \"n\",\n \"name\": \"m\", \"steps\": [{\"name\": \"a\", \"script\": \"x\", \"script_type\": \"shell\"}]}", []string{
				"f:2:2: name: it stands twice, at line 1 too"}},
		{"wrong types", "name: 5\npriority: high\nunique_alive: yes\nafter: tomorrow\nduration: 1.5s\nsteps: none\n", []string{
			"f:1:7: name: got the number 5, want a text",
			`f:2:11: priority: got the text "high", want a whole number from 0 to 9`,
			`f:3:15: unique_alive: got the text "yes", want true or false`,
			`f:4:8: after: got the text "tomorrow", want an instant, as 2026-01-31T02:00:00Z, or Unix milliseconds`,
			`f:5:11: duration: got the text "1.5s", want a span of time, as 90, 90s, 1h30m or 2d`,
			"f:6:8: steps: got the text \"none\", want a list, of which each item has fields such as `name:`"}},
		{"wrong types in steps", steps("- {name: a, " + ok + ", retries: 1.5, needs: {b: 1}, params: [1], shard: 8}\n- just a text\n-\n"), []string{
			"f:3:53: steps[0].retries: got the number 1.5, want a whole number from 0 to 255",
			"f:3:65: steps[0].needs: got fields, want a list of texts, or one",
			"f:3:81: steps[0].params: got a list, want names with values",
			"f:3:93: steps[0].shard: got the number 8, want fields such as `count:`",
			"f:4:3: steps[1]: got the text \"just a text\", want fields such as `name:`",
			"f:5:2: steps[2]: got nothing, want fields such as `name:`"}},
		{"wrong types in maps and lists", steps("- {name: a, " + ok + ", needs: [1, [a]], env: {A: , B: [1]}}"), []string{
			"f:3:52: steps[0].needs[0]: got the number 1, want a text",
			"f:3:55: steps[0].needs[1]: got a list, want a text",
			"f:3:70: steps[0].env.A: it has no value; write \"\" for an empty one",
			"f:3:75: steps[0].env.B: got a list, want a text, a number, true or false"}},
		{"a name that is no text", "? [a]\n: 1\n" + steps("- {name: a, "+ok+"}"), []string{"f:1:3: want a name here, got a list"}},
		{"a circle", steps("- {name: a, " + ok + ", needs: c}\n- {name: b, " + ok + ", needs: a}\n- {name: c, " + ok + ", needs: [b]}"), []string{
			"f:3:51: steps[0].needs: steps need each other in a circle: a -> c -> b -> a"}},
		{"a step that needs itself", steps("- {name: a, " + ok + ", needs: [a]}"), []string{"f:3:52: steps[0].needs[0]: the step needs itself"}},
		{"a need that is not there", steps("- {name: build, " + ok + "}\n- {name: b, " + ok + ", needs: biuld}"), []string{
			`f:4:51: steps[1].needs[0]: there is no step "biuld"; did you mean "build"?`}},
		{"a need that is there twice", steps("- {name: a, " + ok + "}\n- {name: b, " + ok + ", needs: [a, a]}"),
			[]string{`f:4:55: steps[1].needs[1]: "a" is named twice`}},
		{"a need of a later phase", steps("- {name: a, " + ok + ", phase: 2}\n- {name: b, " + ok + ", phase: 1, needs: [a]}"), []string{
			`f:4:62: steps[1].needs[0]: "a" is of phase 2, which comes after this step's phase 1`}},
		{"two steps of one name", steps("- {name: a, " + ok + "}\n- {name: a, " + ok + "}"), []string{
			`f:4:10: steps[1].name: "a" is the name of steps[0] too: each step needs its own`}},
		{"no shards", steps("- {name: a, " + ok + ", shard: {count: 0}}"), []string{"f:3:51: steps[0].shard: count 0: want 1 to 1000000"}},
		{"a pack with two ends", steps("- {name: a, " + ok + ", pack: {size: 1, end: 1, endless: true}}"), []string{
			"f:3:50: steps[0].pack: it has an end and is endless; want one of them"}},
		{"a step without a script", steps("- name: a\n"), []string{
			"f:3:3: steps[0].script: a step of kind single needs a script",
			`f:3:3: steps[0].script_type: script type "": want a lower-case name such as python, shell or v`}},
		{"an approval with a script", steps("- {name: a, kind: approval, script: x}"), []string{"f:3:37: steps[0].script: a step of kind approval has no script"}},
		{"an approval that is to be over in time", steps("- {name: a, kind: approval, timeout: 5m, retries: 1, retry: {on: errored}}"), []string{
			"f:3:38: steps[0].timeout: an approval waits until somebody decides: leave it out, and give approval.deadline to one that must not take too long",
			"f:3:51: steps[0].retries: an approval is asked for once: leave it out; after a rejection `ramet flow retry --failed` asks anew",
			"f:3:61: steps[0].retry: an approval is asked for once: leave it out; after a rejection `ramet flow retry --failed` asks anew"}},
		{"a kind that there is not", steps("- {name: a, " + ok + ", kind: parallel}"),
			[]string{`f:3:50: steps[0].kind: "parallel": want single, shard, pack, each, approval, effect or flow`}},
		{"an axis that is no list", steps("- {name: a, " + ok + ", matrix: {os: [a], go: 3}}"), []string{
			"f:3:66: steps[0].matrix.go: want a list, or a Rhai expression over params and needs whose value is one"}},
		{"a list that is no expression", steps("- {name: a, " + ok + ", each: [1, 2]}\n- {name: b, " + ok + ", each: ''}"), []string{
			`f:3:50: steps[0].each: got a list, want a text, a number, true or false; it is a Rhai expression: a list that is written out goes ` +
				`into quotes, as '[1, 2]' or '["a", "b"]'; one in a param is parse_json(params.NAME)`,
			`f:4:50: steps[1].each: it is empty: it is a Rhai expression: a list that is written out goes into quotes, as '[1, 2]' or '["a", ` +
				`"b"]'; one in a param is parse_json(params.NAME)`}},
		{"rules of a matrix", steps("- {name: a, " + ok + ", matrix: {os: [a], exclude: [{oss: a}, {}], include: [1]}}"), []string{
			`f:3:72: steps[0].matrix.exclude[0]: the matrix has no list "oss"; did you mean "os"?`,
			`f:3:82: steps[0].matrix.exclude[1]: it is empty`, `f:3:97: steps[0].matrix.include[0]: want an object, as {os: linux}`}},
		{"repeated for nothing", steps("- {name: a, " + ok + ", repeat: {until: 'result.x == needs.b.state', max: 0, evry: 3}}\n- {name: c, " + ok +
			", shard: {count: 2}, repeat: {until: 'true', max: 1}}\n- {name: d, kind: approval, repeat: {until: 'true', max: 1}}"), []string{
			`f:3:79: steps[0].repeat.until: needs.b: there is no step "b"`, `f:3:94: steps[0].repeat.max: 0: want 1 to 10000, how many rounds there may be`,
			`f:3:97: steps[0].repeat.evry: unknown field "evry"; did you mean "every"?`,
			`f:4:71: steps[1].repeat: a step of many jobs is not repeated; make it a blueprint of its own, and repeat a step of kind flow that runs it`,
			`f:5:37: steps[2].repeat: a step of kind approval is not repeated: it asks once, and has a deadline`}},
		{"a matrix that is a list", steps("- {name: a, " + ok + ", matrix: [a]}"), []string{
			"f:3:52: steps[0].matrix: got a list, want names with values"}},
		{"names that need what is not there", steps("- {name: a, " + ok + ", matrix: {os: 'needs.b.x'}, key: 'params.x'}"), []string{
			`f:3:64: steps[0].matrix.os: needs.b: there is no step "b"`, "f:3:77: steps[0].key: it is no Rhai expression: Syntax error: Undefined variable: params"}},
		{"an effect without a target", steps("- {name: a, effect: {kind: http}}"), []string{
			"f:3:21: steps[0].effect: a step of kind effect needs effect.target, the name of an effect"}},
		{"a payload that is no expression", steps("- {name: a, effect: {target: pay, payload: 'params.x +'}}"), []string{
			"f:3:55: steps[0].effect.payload: it is no Rhai expression: Syntax error: Script is incomplete"}},
		{"an effect's own names", steps("- {name: a, effect: {url: pay}}"), []string{
			`f:3:22: steps[0].effect.url: unknown field "url"; did you mean "target"?`}},
		{"names of params and variables", steps("- {name: a, " + ok + ", params: {1x: 1}, env: {RAMET_JOB: 1, A-B: 2}}"), []string{
			`f:3:57: steps[0].params.1x: param "1x": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			`f:3:78: steps[0].env.RAMET_JOB: "RAMET_JOB": names that begin with RAMET_ are set by the runner`,
			`f:3:86: steps[0].env.A-B: "A-B" is no name of an environment variable`}},
		{"an output of no step", steps("- {name: a, " + ok + "}\noutput: {x: b.y, z: a}"), []string{
			`f:4:13: output.x: there is no step "b"`,
			`f:4:21: output.z: "a": want "<step>.<key>"`}},
		{"a condition on one line", steps("- {name: a, " + ok + ", when: params.n >}"),
			[]string{"f:3:60: steps[0].when: it is no Rhai expression: Syntax error: Script is incomplete"}},
		{"a condition in quotes", steps("- name: a\n  script: x\n  script_type: shell\n  when: \"1 + * 2\"\n"), []string{
			"f:6:14: steps[0].when: it is no Rhai expression: Syntax error: Unexpected '*'"}},
		{"a condition in a block", steps("- name: a\n  script: x\n  script_type: shell\n  when: |\n    params.n > 3 &&\n      1 + * 2\n"), []string{
			"f:8:11: steps[0].when: it is no Rhai expression: Syntax error: Unexpected '*'"}},
		{"a condition that is a statement", steps("- {name: a, " + ok + ", when: \"let x = 1\"}"), []string{
			"f:3:51: steps[0].when: it is no Rhai expression: Syntax error: Unexpected 'let'"}},
		{"a condition over steps, fields and functions that there are not", steps("- {name: load, " + ok + "}\n- name: b\n  script: x\n  script_type: shell\n" +
			"  needs: load\n  when: needs.laod.state == \"x\" && nosuch(1) || needs.load.stat.strats_with(params.p) || needs.c.state\n- {name: c, " + ok + "}"),
			[]string{
				`f:8:15: steps[1].when: needs.laod: there is no step "laod"; did you mean "load"?`,
				`f:8:36: steps[1].when: there is no function "nosuch"`,
				`f:8:55: steps[1].when: needs.load.stat: of a step there are state and result; did you mean "state"?`,
				`f:8:65: steps[1].when: there is no function "strats_with"; did you mean "starts_with"?`,
				`f:8:96: steps[1].when: needs.c: the step does not need "c", and finds nothing of it; add it to its needs`}},
		{"a condition over what is there", steps("- {name: load, " + ok + ", retrys: 1}\n- {name: b, phase: 1, " + ok +
			", when: 'needs.load.result.n.parse_int() > 3 && needs.len() > 0'}"),
			[]string{`f:3:47: steps[0].retrys: unknown field "retrys"; did you mean "retry"?`}},
		{"a condition that is a text", steps("- {name: a, " + ok + ", when: '\"text\"'}"), []string{
			"f:3:51: steps[0].when: it is a text, want what is true or false"}},
		{"all that is wrong is told at once", steps("- {name: a, " + ok + ", retrys: 1, phase: -1, retry: {on: never}, needs: b}\n- {name: b, " + ok +
			", needs: [a, q]}"), []string{
			`f:3:44: steps[0].retrys: unknown field "retrys"; did you mean "retry"?`, "f:3:62: steps[0].phase: -1: want 0 to 1000",
			`f:3:78: steps[0].retry.on[0]: "never": want errored or failed`,
			`f:3:93: steps[0].needs[0]: "b" is of phase 0, which comes after this step's phase -1`,
			"f:3:93: steps[0].needs: steps need each other in a circle: a -> b -> a", `f:4:55: steps[1].needs[1]: there is no step "q"`}},
		{"inputs", "name: n\nparams: {n: many}\ninputs:\n- {name: n, type: integer}\n- {name: t, type: txt}\n- {name: n}\n- {name: a b}\n" +
			"- {name: r, required: true, default: 1}\n" +
			"- {name: p, pattern: '('}\n- {name: f, type: flag, min: 1}\n- {name: m, min: x}\n- {name: e, type: integer, enum: [one]}\n" +
			"- {name: d, type: span, default: soon}\n" +
			"- {name: q, type: number, pattern: x}\n- {name: l, type: list, enum: [a]}\nsteps:\n- {name: a, " + ok + "}\n", []string{
			`f:2:13: params.n: "many", want a whole number`,
			`f:5:19: inputs[1].type: "txt": want text, number, integer, flag, list, instant or span; did you mean "text"?`,
			`f:6:10: inputs[2].name: "n" is the name of inputs[0] too: each needs its own`,
			`f:7:10: inputs[3].name: input "a b": want a letter or '_' first, then letters, digits, '_' and '-', up to 64 in all`,
			"f:8:38: inputs[4].default: what is required has none: leave out one of the two",
			"f:9:22: inputs[5].pattern: \"(\" is no regular expression: error parsing regexp: missing closing ): `(`",
			"f:10:30: inputs[6].min: a value of type flag has none", `f:11:18: inputs[7].min: "x": want a number`,
			`f:12:35: inputs[8].enum[0]: "one", want a whole number`, `f:13:34: inputs[9].default: "soon", want a span, as 1h30m`,
			"f:14:36: inputs[10].pattern: a value of type number has none", "f:15:31: inputs[11].enum: a value of type list has none"}},
		{"a file in a text without a folder", steps("- {name: a, file: x.sh}"), []string{
			"f:3:19: steps[0].file: a file is read only by the command line, next to the blueprint's own file; give its text as script"}},
		{"what follows from another fault is not said", steps("- {nam: a, " + ok + "}\n- {name: b, " + ok + ", needs: [a]}"), []string{
			`f:3:4: steps[0].nam: unknown field "nam"; did you mean "name"?`}},
		{"a tag of one's own", steps("- {name: a, script: !run x, script_type: shell}"), []string{"f:3:21: steps[0].script: got \"x\", want a text"}},
		{"an anchor in a circle", "name: n\nsteps: &s\n- *s\n", []string{"f:3:3: the alias stands in what it stands for"}},
		{"a merge in a circle", "name: n\nsteps:\n- &a {<<: *a, name: a}\n", []string{"f:3:11: the alias stands in what it stands for"}},
		{"a merge of a text", steps("- {<<: x, name: a, " + ok + "}"), []string{"f:3:8: steps[0]: \"<<\" wants an alias of fields, got the text \"x\""}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := blueprint.Parse("f", []byte(test.text))
			if !errors.Is(err, domain.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			if diff := cmp.Diff(test.want, strings.Split(err.Error(), "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestHostileTextsAreRefusedSoon: each of these would cost gigabytes or
// minutes, were it gone into.
func TestHostileTextsAreRefusedSoon(t *testing.T) {
	var laughs strings.Builder
	laughs.WriteString("name: n\nparams:\n  a0: &a0 {<<: {}}\nsteps:\n- &b0 [x]\n")
	for i := range 30 {
		fmt.Fprintf(&laughs, "- &b%d [%s]\n", i+1, strings.Repeat(fmt.Sprintf("*b%d,", i), 10))
	}
	script := strings.Repeat("x", 1<<19)
	texts := map[string]string{
		"ten megabytes":                         "name: n\n" + strings.Repeat("# long\n", 10<<20/7),
		"a billion laughs":                      laughs.String(),
		"a large step a hundred thousand times": "name: n\nsteps:\n- &a {name: a, script: " + script + ", script_type: shell}\n" + strings.Repeat("- *a\n", 100_000),
		"a large mapping merged often": "name: n\nparams: &p {" + manyParams(20_000) + "}\nsteps:\n- {params: {<<: [" +
			strings.Repeat("*p,", 100_000) + "]}}\n",
		"deep brackets":            "name: n\nsteps: " + strings.Repeat("[", 500_000),
		"deep mappings":            "name: n\nsteps: " + strings.Repeat("{a: ", 250_000),
		"deep JSON":                `{"steps":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + "}",
		"a million unknown fields": manyFields(120_000),
		"a million faults":         "name: n\nsteps: [" + strings.Repeat("1,", 500_000) + "]",
		"a long name":              "name: " + strings.Repeat("n", 1<<19) + "\nsteps: [{name: a}]",
		"a long unknown field":     strings.Repeat("n", 1<<19) + ": 1\nsteps: [{name: a}]",
		"many needs of many steps": manyNeeds(9000),
	}
	for name, text := range texts {
		t.Run(name, func(t *testing.T) {
			_, err := blueprint.Parse("f", []byte(text))
			wrong := (*blueprint.Error)(nil)
			if !errors.As(err, &wrong) || len(wrong.Faults) > 50 || len(err.Error()) > 40<<10 {
				t.Fatalf("got %.300v", err)
			}
		})
	}
}

func manyParams(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "p%d: 1,", i)
	}
	return b.String()
}

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x%d: 1\n", i)
	}
	return b.String()
}

func manyNeeds(n int) string {
	var b strings.Builder
	b.WriteString("name: n\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&b, "- {name: a_rather_long_name_of_a_step_%d, script: x, script_type: v, needs: b_%d}\n", i, i)
	}
	return b.String()
}

func TestABlueprintOfTheMostStepsIsRead(t *testing.T) {
	var b strings.Builder
	b.WriteString("name: n\nsteps:\n- {name: s0, script: x, script_type: v}\n")
	for i := 1; i < domain.MaxSteps; i++ {
		fmt.Fprintf(&b, "- {name: s%d, script: x, script_type: v, needs: s%d}\n", i, i-1)
	}
	got, err := blueprint.Parse("", []byte(b.String()))
	if err != nil || len(got.Steps) != domain.MaxSteps {
		t.Fatalf("got %.200v", err)
	}
	b.WriteString("- {name: last, script: x, script_type: v}\n")
	_, err = blueprint.Parse("", []byte(b.String()))
	if err == nil || err.Error() != "3:1: steps: 10001 steps, the limit of a stored blueprint is 10000; a flow of up to 100000 can be "+
		"submitted with its blueprint" {
		t.Errorf("got %.200v", err)
	}
}

func TestWhatComesToTooMuchIsRefused(t *testing.T) {
	folder := t.TempDir()
	write(t, folder, "a.sh", strings.Repeat("x", 600_000))
	write(t, folder, "b.yaml", steps("- {name: a, file: a.sh}\n- {name: b, file: a.sh}\n"))
	_, err := blueprint.ParseFile(filepath.Join(folder, "b.yaml"))
	if err == nil || !strings.Contains(err.Error(), "with its scripts it has 12") {
		t.Errorf("got %.200v", err)
	}
}

func write(t *testing.T, folder, name, text string) {
	t.Helper()
	path := filepath.Join(folder, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestManyUnknownFieldsAreNoWork looks for near names of no more fields than
// are told of: of as many as fit into a text it took 8 s.
func TestManyUnknownFieldsAreNoWork(t *testing.T) {
	var text strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&text, "k%d: 1\n", i)
	}
	allocs := testing.AllocsPerRun(1, func() {
		_, err := blueprint.Parse("", []byte(text.String()))
		wrong := (*blueprint.Error)(nil)
		if !errors.As(err, &wrong) || !strings.Contains(wrong.Faults[0].Text, `unknown field "k0"`) {
			t.Errorf("got %v", err)
		}
	})
	if allocs > 40*10_000 {
		t.Errorf("got %.0f allocations for a field", allocs/10_000)
	}
}
