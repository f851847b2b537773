package migrate_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/migrate"
)

// TestWhatIsUnderstoodInPartStops: a step of which only a part is understood does not run as if
// that were all. It fails until somebody writes it, and a note says why.
func TestWhatIsUnderstoodInPartStops(t *testing.T) {
	const workflow = "on: push\njobs:\n  a:\n"
	for _, tc := range []struct{ name, format, text, want string }{
		{"http", "dagu", "steps:\n- {name: a, executor: http, command: GET https://example.org, repeatPolicy: {repeat: true, intervalSec: 5}}",
			"http is not understood"},
		{"docker", "dagu", "steps:\n- {name: a, executor: {type: docker, config: {image: alpine}}, command: rm -rf /data}", "docker is not understood"},
		{"ssh", "dagu", "steps:\n- {name: a, type: ssh, with: {host: h}, command: rm -rf /data, preconditions: [test -f /x]}", "ssh is not understood"},
		{"mail", "dagu", "steps:\n- {name: a, executor: {type: mail, config: {to: x}}, repeatPolicy: {limit: 3, repeat: true}}", "mail is not understood"},
		{"container", "dagu", "steps:\n- {name: a, container: {image: alpine}, command: 'true'}", "container is not understood"},
		{"container of all", "dagu", "container: {image: alpine}\nsteps:\n- {name: a, command: 'true'}", "in the container of the DAG"},
		{"DAG that repeats", "dagu", "steps:\n- {name: a, run: sub, repeatPolicy: {repeat: until, exitCode: [0], limit: 3}}", "of another DAG it is not understood"},
		{"DAG over a list", "dagu", "steps:\n- {name: a, run: sub, parallel: '`ls`'}", "until the list is written"},
		{"DAG with params", "dagu", "steps:\n- {name: a, run: sub, params: 'A=$(date) B=1'}", "cannot be given to a flow"},
		{"steps beside each other", "dagu", "steps:\n- [echo a, echo b]", "beside each other"},
		{"variable", "github-actions", workflow + "    env: {X: \"${{ github.sha }}\"}\n    steps: [{run: 'true'}]", "env X"},
		{"variable of all", "github-actions", "env: {X: \"${{ github.sha }}\"}\n" + workflow + "    steps: [{run: 'true'}]", "env X"},
		{"matrix", "github-actions", workflow + "    strategy: {matrix: \"${{ fromJSON(x) }}\"}\n    steps: [{run: 'true'}]", "matrix"},
		{"axis", "github-actions", workflow + "    strategy: {matrix: {os: [{a: 1}]}}\n    steps: [{run: 'true'}]", "matrix.os"},
		{"shell", "github-actions", workflow + "    steps: [{run: 'true', shell: pwsh}]", "pwsh"},
		{"workflow", "github-actions", workflow + "    uses: ./.github/workflows/b.yml\n    with: {x: \"${{ secrets.KEY }}\"}", "cannot be given to a flow"},
		{"input without a name", "github-actions", workflow + "    uses: ./.github/workflows/b.yml\n    with: {\"a b/c\": d}", "cannot be given to a flow"},
		{"workflow", "conductor", `{"name":"w","tasks":[{"type":"SUB_WORKFLOW","name":"s","taskReferenceName":"a",
			"subWorkflowParam":{"name":"b"},"inputParameters":{"x":"${workflow.input}"}}]}`,
			"cannot be given to a flow"},
		{"terminate", "conductor", `{"name":"w","tasks":[
			{"type":"TERMINATE","taskReferenceName":"a","inputParameters":{"terminationStatus":"COMPLETED"}},
			{"type":"HTTP","name":"h","taskReferenceName":"h","inputParameters":{"http_request":{"uri":"http://example.org"}}}]}`,
			"TERMINATE of a flow that succeeds"},
	} {
		t.Run(tc.format+" "+tc.name, func(t *testing.T) {
			in, err := migrate.Import(tc.format, "f", []byte(tc.text))
			if err != nil {
				t.Fatal(err)
			}
			steps := in.Blueprints[0].Steps
			at := slices.IndexFunc(steps, func(s domain.Step) bool { return s.Name == "a" || s.Name == "step_1" })
			if at < 0 {
				t.Fatalf("it is not there: %+v", steps)
			}
			s := steps[at]
			if s.Flow != nil || s.Repeat != nil || s.Listed() {
				t.Fatalf("it does something: %+v", s)
			}
			if rounds, code := play(t, s); rounds != 1 || code == 0 {
				t.Errorf("its script ends well:\n%s", s.Script)
			}
			if notes := fmt.Sprint(in.Notes); !strings.Contains(notes, tc.want) {
				t.Errorf("got %s, want %q", notes, tc.want)
			}
		})
	}
}

// TestStepsOfOtherShellsRepeatToo, and what is no script of a shell has conditions.
func TestStepsOfOtherShellsRepeatToo(t *testing.T) {
	in, err := migrate.Import("dagu", "f", []byte(`
params: {KIND: full}
steps:
- {name: a, command: python3, script: "import os\nraise SystemExit(0 if os.environ['RAMET_ROUND'] == '3' else 1)",
   repeatPolicy: {repeat: until, exitCode: [0], limit: 9}}
- {name: b, run: sub, preconditions: [test -n "$KIND", {condition: $KIND, expected: full}]}
- {name: c, command: echo c}
- {name: d, command: echo d, continueOn: {skipped: true}, precondition: test -z "$KIND"}
- {name: e, command: echo e}
`))
	if err != nil {
		t.Fatal(err)
	}
	steps := map[string]domain.Step{}
	for _, s := range in.Blueprints[0].Steps {
		steps[s.Name] = s
	}
	if rounds, code := play(t, steps["a"]); rounds != 3 || code != 0 {
		t.Errorf("a ends in round %d with code %d\n%s", rounds, code, steps["a"].Script)
	}
	for name, want := range map[string]struct{ when, needs string }{
		"a": {"", "[]"},
		"b": {`params.KIND == "full" && needs.b_precondition.result.met == "yes"`, "[a b_precondition]"},
		"c": {`needs.b.state != "skipped"`, "[b]"},
		"d": {`needs.d_precondition.result.met == "yes" && needs.c.state != "skipped"`, "[c d_precondition]"},
		"e": {"", "[d]"}, // d lets it go on
		// What looks at the preconditions comes before its step, and not where that is skipped anyway.
		"b_precondition": {"", "[a]"},
		"d_precondition": {`needs.c.state != "skipped"`, "[c]"},
	} {
		if s := steps[name]; s.When != want.when || fmt.Sprint(s.Needs) != want.needs {
			t.Errorf("%s: needs %v when %s; want %s when %s", name, s.Needs, s.When, want.needs, want.when)
		}
	}
	if s := steps["b"]; s.Flow == nil || s.Flow.Blueprint != "sub" {
		t.Errorf("b is %+v", s)
	}
	t.Setenv("KIND", "full")
	for name, want := range map[string]bool{"b_precondition": true, "d_precondition": false} {
		s := steps[name]
		s.Repeat = &domain.Repeat{Until: "met", Max: 10}
		s.Script = strings.ReplaceAll(s.Script, "met=yes", "enough=yes")
		if rounds, code := play(t, s); rounds == 1 != want || code != 0 {
			t.Errorf("%s: %d rounds, code %d\n%s", name, rounds, code, s.Script)
		}
	}
}

// TestWhatWaitedForSomebodyWaitsNoLonger than it did there: WAIT without a time, and HUMAN.
func TestWhatWaitedForSomebodyWaitsNoLonger(t *testing.T) {
	for _, tc := range []struct {
		task string
		want *domain.Approval
		note string
	}{
		{`"type":"WAIT","taskDefinition":{"timeoutSeconds":3600,"responseTimeoutSeconds":60,"timeoutPolicy":"TIME_OUT_WF"}`,
			&domain.Approval{Deadline: 3600, OnDeadline: domain.DeadlineFail}, "WAIT became an approval"},
		{`"type":"HUMAN","taskDefinition":{"timeoutSeconds":600}`, &domain.Approval{Deadline: 600, OnDeadline: domain.DeadlineFail}, ""},
		{`"type":"WAIT","taskDefinition":{"timeoutSeconds":600,"timeoutPolicy":"ALERT_ONLY"}`, nil, "WAIT became an approval"},
		{`"type":"WAIT"`, nil, "WAIT became an approval"},
		{`"type":"WAIT","inputParameters":{"duration":"2 days"},"taskDefinition":{"timeoutSeconds":600}`, nil, "timed out there after 10m0s"},
		{`"type":"WAIT","inputParameters":{"duration":"5 minutes"},"taskDefinition":{"timeoutSeconds":600}`, nil, ""},
	} {
		in, err := migrate.Import("conductor", "f", []byte(`{"name":"w","tasks":[{"name":"a","taskReferenceName":"a",`+tc.task+`}]}`))
		if err != nil {
			t.Fatal(err)
		}
		s := in.Blueprints[0].Steps[0]
		if !reflect.DeepEqual(s.Approval, tc.want) || s.Timeout != 0 || strings.Contains(tc.task, "duration") != strings.Contains(s.Script, "ramet sleep") {
			t.Errorf("%s: got %+v", tc.task, s)
		}
		if notes := fmt.Sprint(in.Notes); !strings.Contains(notes, tc.note) || tc.note == "" && strings.Contains(notes, "timed out") {
			t.Errorf("%s: noted %s", tc.task, notes)
		}
	}
}
