package migrate_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/migrate"
)

// A condition of a job is `when`, or stops its script until somebody writes it.
func TestConditionsOfJobs(t *testing.T) {
	for cond, want := range map[string]string{
		"inputs.level == 'high'":                                             `params.level == "high"`,
		"${{ inputs.level == 'it''s' }}":                                     `params.level == "it's"`,
		"github.event.inputs.level != '' || inputs.level":                    `(params.level != "" || params.level == "true")`,
		"!inputs.level && !(inputs.level == 'x' && true)":                    `!(params.level == "true") && !(params.level == "x" && true)`,
		"needs.first.outputs.the-tag == 'v1'":                                `needs.first.result.the_tag == "v1"`,
		"'success' == needs.first.result":                                    `(needs.first.state == "succeeded")`,
		"needs.first.result != 'failure'":                                    `(needs.first.state != "failed" && needs.first.state != "errored")`,
		"contains(inputs.level, 'h') && endsWith(needs.first.outputs.n,'1')": `params.level.contains("h") && needs.first.result.n.ends_with("1")`,
		"success() && inputs.level == 1":                                     `params.level == "1"`,
		"always()":                                                           "",
		"always() && inputs.level == 'a'":                                    `params.level == "a"`,
		"failure()":                                                          `(needs.first.state == "failed" || needs.first.state == "errored")`,
		"!cancelled()":                                                       "",
		"success() || failure()": `((needs.first.state != "failed" && needs.first.state != "errored" && needs.first.state != "skipped"` +
			` && needs.first.state != "skipped_by_failure" && needs.first.state != "skipped_by_error")` +
			` || (needs.first.state == "failed" || needs.first.state == "errored"))`,
		"github.ref == 'refs/heads/main'":         "stops: github.ref has no counterpart",
		"needs.second.outputs.x == 'y'":           "stops: it does not need the job",
		"inputs.level == ":                        "stops: it ends too early",
		"inputs.level = 'a'":                      "stops: ",
		"contains(inputs.level":                   "stops: contains(…): a parenthesis is missing",
		"hashFiles('x') == 'y'":                   "stops: hashFiles() has no counterpart",
		strings.Repeat("!", 100) + "inputs.level": "stops: it ends too early",
		strings.Repeat("(", 100) + "inputs.level": "stops: it ends too early",
	} {
		workflow := fmt.Sprintf("on: {workflow_dispatch: {inputs: {level: }}}\njobs:\n  first: {steps: [{run: x}]}\n"+
			"  job:\n    needs: first\n    if: %q\n    steps: [{run: make}]\n", cond)
		in, err := migrate.Import("github-actions", "ci.yml", []byte(workflow))
		if err != nil {
			t.Errorf("%s: %v", cond, err)
			continue
		}
		s, notes := &in.Blueprints[0].Steps[1], fmt.Sprint(in.Notes)
		if text, stops := strings.CutPrefix(want, "stops: "); stops {
			before, _, _ := strings.Cut(s.Script, "make")
			if s.When != "" || !strings.Contains(before, "UNKNOWN:?the condition ") || !strings.Contains(notes, text) {
				t.Errorf("%s: got when %q, the script %q and the notes %s, want that it stops, and %q", cond, s.When, s.Script, notes, text)
			}
		} else if s.When != want || strings.Contains(s.Script, "UNKNOWN") {
			t.Errorf("%s: got %q, want %q; %s", cond, s.When, want, notes)
		}
		if late := strings.Contains(cond, "always()") || strings.Contains(cond, "failure()") || strings.Contains(cond, "cancelled()"); late != (s.Phase == 1) {
			t.Errorf("%s: it is of phase %d", cond, s.Phase)
		}
	}
}

// TestNoConditionIsPassedOver: a job that is a workflow of its own has no script that could
// stop, and a condition may be too long.
func TestNoConditionIsPassedOver(t *testing.T) {
	long := strings.Repeat("inputs.level == 'a' || ", 1000) + "inputs.level == 'b'"
	for name, job := range map[string]string{
		"of a workflow": "{if: \"hashFiles('x') == 'y'\", uses: ./.github/workflows/other.yml, with: {level: high}}",
		"too long":      "{if: \"" + long + "\", steps: [{run: make}]}",
	} {
		in, err := migrate.Import("github-actions", "ci.yml", []byte("on: push\njobs:\n  job: "+job+"\n"))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s := &in.Blueprints[0].Steps[0]
		if s.Flow != nil || s.When != "" || !strings.HasPrefix(s.Script, "set -e\n: \"${UNKNOWN:?the condition ") {
			t.Errorf("%s: it is not stopped: %+v", name, s)
		}
	}
}

// What stands in single quotes, and a variable over a secret of the same name, mean what they meant there.
func TestValuesOfWorkflows(t *testing.T) {
	in, err := migrate.Import("github-actions", "ci.yml", []byte(`
env: {T: "${{ secrets.T }}", PLAIN: "${HOME}"}
jobs:
  a:
    env: {T: plain, OTHER: "${{ env.PLAIN }}/${{ github.workflow }}"}
    steps:
      - run: |
          # it's a comment
          echo '${{ inputs.a }}' "${{ inputs.a }}" ${{ secrets.S }} # it's
`))
	if err != nil {
		t.Fatal(err)
	}
	b := in.Blueprints[0]
	s := &b.Steps[0]
	if want := "echo ''\"${RAMET_PARAM_A}\"'' \"${RAMET_PARAM_A}\" ${S} # it's\n"; !strings.Contains(s.Script, want) {
		t.Errorf("got the script %q, want %q in it", s.Script, want)
	}
	if b.Env["PLAIN"] != "$${HOME}" || s.Env["OTHER"] != "$${HOME}/${flow.blueprint}" || s.Env["T"] != "plain" || b.Secrets["T"] != "T" || s.Secrets["S"] != "S" {
		t.Errorf("got env %v, secrets %v; of the step %v, %v", b.Env, b.Secrets, s.Env, s.Secrets)
	}
}
