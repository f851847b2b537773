package migrate_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/migrate"
)

// TestSchedulesDoWhatTheirsDo beside what still runs, and after a time at which nobody was there.
func TestSchedulesDoWhatTheirsDo(t *testing.T) {
	const actions = "on: {schedule: [{cron: '* * * * *'}]}\njobs: {a: {steps: [{run: 'true'}]}}"
	for _, tc := range []struct {
		format, text string
		want         domain.Overlap
	}{
		{"crontab", "* * * * * run", domain.OverlapAllow},
		{"crontab", "* * * * * flock -n /l run", domain.OverlapSkip},
		{"crontab", "* * * * * /usr/bin/flock -xn /l run -w", domain.OverlapSkip},
		{"crontab", "* * * * * flock --nonblock /l run", domain.OverlapSkip},
		{"crontab", "* * * * * flock /l run -n", domain.OverlapQueue},
		{"dagu", "schedule: '* * * * *'\nsteps: [run]", domain.OverlapSkip},
		{"github-actions", actions, domain.OverlapAllow},
	} {
		in, err := migrate.Import(tc.format, "f", []byte(tc.text))
		if err != nil {
			t.Fatal(err)
		}
		if s := in.Schedules[0]; s.Overlap != tc.want || s.CatchUp == nil || *s.CatchUp != 0 {
			t.Errorf("%s: overlap %q, catch_up %v; want %q and 0", tc.text, s.Overlap, s.CatchUp, tc.want)
		}
	}
}

// TestFoldersOfJobsAreSaid: what a script leaves in /tmp is gone after it.
func TestFoldersOfJobsAreSaid(t *testing.T) {
	for command, want := range map[string]bool{
		"echo a >/tmp/a": true, "echo a >>/tmp/a": true, "cp a $HOME/b": true, "tee ~/x": true, `tee "${HOME}/x"`: true, "cd /tmp && run": true,
		"echo a >/var/tmp/a": false, "run /srv/tmp/a $HOMES": false, "run a~/b": false,
	} {
		for format, text := range map[string]string{
			"crontab": "\n* * * * * " + command, "dagu": "steps:\n- command: " + command,
			"github-actions": "jobs: {a: {steps: [\n{run: '" + command + "'}]}}",
		} {
			in, err := migrate.Import(format, "f", []byte(text+"\n"))
			if err != nil {
				t.Fatal(err)
			}
			if got := noted(in, 2, "has a folder of its own there"); got != want {
				t.Errorf("%s %s: said is %t, want %t: %v", format, command, got, want, in.Notes)
			}
		}
	}
}

// TestValuesOfSeveralLines: variables of a workflow have them, and outputs cannot.
func TestValuesOfSeveralLines(t *testing.T) {
	const workflow = "on:\n  push:\n    branches: [main]\njobs:\n  a:\n    steps:\n"
	step := func(runs ...string) (domain.Step, *migrate.Imported) {
		text := workflow
		for _, run := range runs {
			text += "    - run: |\n        " + strings.ReplaceAll(run, "\n", "\n        ") + "\n"
		}
		in, err := migrate.Import("github-actions", "f", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return in.Blueprints[0].Steps[0], in
	}
	t.Chdir(t.TempDir())
	s, in := step("echo \"A=x<<y\" >>$GITHUB_ENV\necho 'M<<EOF' >>$GITHUB_ENV\nprintf '%s\\n' l1=1 '' 'l 3' EOF B=2 >>$GITHUB_ENV",
		"test \"$A,$B,$M\" = \"x<<y,2,l1=1\n\nl 3\"")
	if _, code := play(t, s); code != 0 {
		t.Errorf("it ends with %d\n%s", code, s.Script)
	}
	if !noted(in, 3, "on.push.branches: left out") {
		t.Errorf("got %v", in.Notes)
	}
	if s, in = step("echo 'M<<EOF' >>$GITHUB_OUTPUT"); !noted(in, 8, "an output of several lines") {
		t.Errorf("got %v", in.Notes)
	} else if _, code := play(t, s); code == 0 {
		t.Errorf("it ends well\n%s", s.Script)
	}
	if s, _ = step("cat <<EOF >>$GITHUB_OUTPUT\na=1\nEOF"); strings.Contains(s.Script, "UNKNOWN") {
		t.Errorf("it stops:\n%s", s.Script)
	}
}
