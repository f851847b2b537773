package migrate_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// sh runs the script of a step and returns its exit code and what it printed.
func sh(t *testing.T, s domain.Step) (code int, out string) {
	t.Helper()
	by := map[domain.ScriptType]string{domain.ScriptShell: "sh", domain.ScriptPython: "python3"}[s.ScriptType]
	cmd := exec.CommandContext(t.Context(), by, "-c", s.Script)
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "RAMET_RESULT="+filepath.Join(cmd.Dir, "result"))
	text, err := cmd.Output()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), strings.TrimSpace(string(text))
}

// TestScriptsOfDaguBeginInTheirFolders: that of the DAG, or within that; handlers and what looks at
// preconditions, too. Where there is none, nothing of the script is done.
func TestScriptsOfDaguBeginInTheirFolders(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"sub", "a b"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	b := dagu(t, `
workingDir: `+dir+`
steps:
- {name: whole, command: pwd}
- {name: within, command: pwd, dir: sub}
- {name: away, command: pwd, working_dir: /}
- {name: spaces, command: pwd, dir: a b}
- {name: gone, command: echo wrong, dir: nowhere}
- {name: code, command: python, script: "import os\nprint(os.getcwd())", dir: sub}
- {name: looks, command: 'true', precondition: test -d sub}
handlerOn: {exit: {command: pwd}}
`).Blueprints[0]
	want := map[string]string{"whole": dir, "within": filepath.Join(dir, "sub"), "away": "/", "spaces": filepath.Join(dir, "a b"), "gone": "",
		"code": filepath.Join(dir, "sub"), "looks": "", "looks_precondition": ""}
	for _, s := range b.Steps {
		if _, err := exec.LookPath("python3"); s.ScriptType == domain.ScriptPython && err != nil {
			t.Log("not run, as there is no python3:", s.Name)
			continue
		}
		code, out := sh(t, s)
		if failed := s.Name == "gone"; out != want[s.Name] || (code != 0) != failed {
			t.Errorf("%s: ended with %d, in %q, want %q:\n%s", s.Name, code, out, want[s.Name], s.Script)
		}
		if strings.HasSuffix(s.Name, "_precondition") && strings.Contains(out, "not met") {
			t.Errorf("the precondition was looked at elsewhere:\n%s", s.Script)
		}
	}
	if h := b.On.Succeeded; h == nil {
		t.Error("there is no hook")
	} else if _, out := sh(t, domain.Step{Script: h.Script, ScriptType: h.ScriptType}); out != dir {
		t.Errorf("the handler was in %q, want %q", out, dir)
	}
}

// TestAFailureThatIsMarkedAsASuccess is one for those that need the step, where a script can say so.
func TestAFailureThatIsMarkedAsASuccess(t *testing.T) {
	in := dagu(t, `
steps:
- {name: any, command: "echo x; exit 7", continueOn: {failure: true, markSuccess: true}}
- {name: some, command: exit 3, continue_on: {exit_code: [3, 4], mark_success: true}}
- {name: other, command: exit 5, continueOn: {exitCode: [3], markSuccess: true}}
- {name: out, command: "echo 12; exit 7", output: N, continueOn: {failure: true, markSuccess: true}}
- {name: again, command: exit 1, retryPolicy: {limit: 2, intervalSec: 1}, continueOn: {failure: true, markSuccess: true}}
- {name: plain, command: exit 1, continueOn: {failure: true}}
`)
	want := map[string]struct {
		code    int
		mayFail bool
	}{"any": {0, true}, "some": {0, false}, "other": {5, false}, "out": {0, true}, "again": {1, true}, "plain": {1, true}}
	for _, s := range in.Blueprints[0].Steps {
		if code, _ := sh(t, s); code != want[s.Name].code || s.MayFail != want[s.Name].mayFail {
			t.Errorf("%s: ended with %d, and may fail: %v, want %+v:\n%s", s.Name, code, s.MayFail, want[s.Name], s.Script)
		}
	}
	if !noted(in, 7, "mark_success") {
		t.Errorf("got %v, want a note of the step that is tried again", in.Notes)
	}
}

// TestFilesOfVariablesOfDagu are not read, which is said.
func TestFilesOfVariablesOfDagu(t *testing.T) {
	if in := dagu(t, "dotenv: [.env]\nsteps: [{name: a, command: 'true'}]\n"); !noted(in, 1, "no file is read when a flow begins") {
		t.Errorf("got %v", in.Notes)
	}
}
