package migrate_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/migrate"
)

// TestRunsOfActionsAreProcesses: what one of them does to its shell is not the next one's affair.
func TestRunsOfActionsAreProcesses(t *testing.T) {
	for _, tc := range []struct {
		name, steps string
		code        int
		want        string // in the file said
	}{
		{"an exit ends its own run alone", "[{run: exit 0}, {run: echo next >>said}]", 0, "next"},
		{"set +e and cd do not leak", `[{run: "set +e; mkdir d; cd d"}, {run: "echo here >>said; false; echo on >>said"}]`, 1, "here"},
		{"a run is one of bash", `[{run: "[[ ab == a* ]] && echo bash >>said"}]`, 0, "bash"},
		{"bash that is not named has no pipefail", `[{run: "false | true; echo on >>said"}]`, 0, "on"},
		{"bash that is named has", `[{run: "false | true; echo on >>said", shell: bash}]`, 1, ""},
		{"a shell with options", `[{run: "false | true; echo on >>said", shell: "bash -eo pipefail {0}"}]`, 1, ""},
		{"what reads its input finds no script", `[{run: "cat >in\necho on >>said", shell: bash},
			{run: "import sys\nsys.stdin.read()\nopen('said','a').write('py')", shell: python}]`, 0, "on\npy"},
		{"a line that ends here-documents", `[{run: "echo a >>said\ntrue <<SCRIPT\nSCRIPT\necho \"it's\" >>said", shell: bash}]`, 0, "a\nit's"},
		{"a run that may fail stops where it fails", `[{run: "echo a >>said; false; echo b >>said", continue-on-error: true}, {run: echo c >>said}]`, 0, "a\nc"},
		{"a folder that is not there is no other", `[{run: echo a >>said, working-directory: nowhere, continue-on-error: true}]`, 0, ""},
		{"values go on", `[{run: "echo V=1 >>$GITHUB_ENV"}, {run: echo $V >>said}]`, 0, "1"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in, err := migrate.Import("github-actions", "f", []byte("on: push\njobs: {a: {steps: "+tc.steps+"}}"))
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir(t.TempDir())
			_, code := play(t, in.Blueprints[0].Steps[0])
			said, _ := os.ReadFile("said")
			if (code != 0) != (tc.code != 0) || strings.TrimSpace(string(said)) != tc.want {
				t.Errorf("it ends with %d and says %q\n%s", code, said, in.Blueprints[0].Steps[0].Script)
			}
		})
	}
}

// TestCommandsOfDagu are run one by one, by the shell that Dagu takes, until one fails.
func TestCommandsOfDagu(t *testing.T) {
	for _, tc := range []struct {
		name, step string
		code       int
		want, note string
	}{
		{"a list stops at the first that fails", `{command: [echo a >>said, "false", echo b >>said]}`, 1, "a", ""},
		{"also of a shell", `{shell: bash, command: ["[[ a == a ]] && echo a >>said", exit 3, echo b >>said]}`, 1, "a", ""},
		{"commands have a shell each", `{command: [cd /, echo a >>said]}`, 0, "a", ""},
		{"words with options are one command", `{command: [python3, -c, "open('said','w').write(str(1 + 1))"]}`, 0, "2", "one command and its arguments"},
		{"words without are said", `{command: ["true", "true"]}`, 0, "", "each entry became a command"},
		{"a script stops at the first that fails", `{script: "echo a >>said\nfalse\necho b >>said"}`, 1, "a", ""},
		{"not by a shell that is named", `{shell: bash, script: "echo a >>said\nfalse\necho b >>said"}`, 0, "a\nb", ""},
		{"a script names its shell", `{script: "#!/usr/bin/env bash\n[[ ab == a* ]] && echo a >>said\nfalse\necho b >>said"}`, 0, "a\nb", ""},
		{"what reads its input finds no script", `{shell: bash, script: "cat >in\necho a >>said"}`, 0, "a", ""},
		{"another program", `{command: awk -f, script: "BEGIN { print \"SCRIPT\" >\"said\" }"}`, 0, "SCRIPT", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			in := dagu(t, "steps:\n- "+tc.step+"\n")
			t.Chdir(t.TempDir())
			s := in.Blueprints[0].Steps[0]
			_, code := play(t, s)
			said, _ := os.ReadFile("said")
			if (code != 0) != (tc.code != 0) || strings.TrimSpace(string(said)) != tc.want {
				t.Errorf("it ends with %d and says %q\n%s", code, said, s.Script)
			}
			if notes := fmt.Sprint(in.Notes); !strings.Contains(notes, tc.note) || tc.note == "" && len(in.Notes) > 0 {
				t.Errorf("got %s", notes)
			}
		})
	}
}

// TestTimeoutsAreThoseOfTheOthers, and not the node's.
func TestTimeoutsAreThoseOfTheOthers(t *testing.T) {
	for text, want := range map[string]domain.Span{
		"crontab:* * * * * run":                                             domain.MaxTimeout,
		"dagu:steps: [run]":                                                 domain.MaxTimeout,
		"dagu:steps: [{command: run, timeoutSec: 5}]":                       5,
		"github-actions:jobs: {a: {steps: [{run: x}]}}":                     6 * 3600,
		"github-actions:jobs: {a: {timeout-minutes: 2, steps: [{run: x}]}}": 120,
	} {
		format, text, _ := strings.Cut(text, ":")
		in, err := migrate.Import(format, "f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if got := in.Blueprints[0].Steps[0].Timeout; got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

// TestCrontabsSayWhatIsOtherwise by line.
func TestCrontabsSayWhatIsOtherwise(t *testing.T) {
	for line, want := range map[string]string{
		"/home/a/run":                 "/home: a script sees",
		"cat '/var/log/x'":            "/var: a script sees",
		"/usr/bin/run >/dev/null":     "",
		"awk '/foo/ {print}' <a":      "",
		"run & # on":                  "in the background",
		"sleep 1 &":                   "in the background",
		"nohup run":                   "in the background",
		"run 2>&1 && other":           "",
		"curl 'http://a.b/c?d=1&e=2'": "",
	} {
		in, err := migrate.Import("crontab", "f", []byte("CRON_TZ=UTC\n* * * * * "+line+"\n"))
		if err != nil {
			t.Fatal(err)
		}
		var notes []string
		for _, n := range in.Notes {
			if strings.Contains(n.Text, "a script sees") || strings.Contains(n.Text, "background") {
				notes = append(notes, n.Text)
			}
		}
		if (len(notes) > 0) != (want != "") || want != "" && !noted(in, 2, want) {
			t.Errorf("%s: got %q", line, notes)
		}
	}
	in, err := migrate.Import("crontab", "f", []byte("TZ=Asia/Tokyo\n* * * * * run\n"))
	if err != nil {
		t.Fatal(err)
	}
	if s := in.Schedules[0]; s.Zone != "" || in.Blueprints[0].Env["TZ"] != "Asia/Tokyo" || !noted(in, 1, "moves no times") || !noted(in, 2, "here by UTC") {
		t.Errorf("got the zone %q, %v, %v", s.Zone, in.Blueprints[0].Env, in.Notes)
	}
}
