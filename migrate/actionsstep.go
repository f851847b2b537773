package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file makes the script of a job of the steps that it has in a workflow. Each step is a process of its
// own, as it is there: what it sets in its shell, and that it ends, is not the next one's affair.

// script makes the script of a job.
func (w *actionsReader) script(f *fields, s *domain.Step, j *actionsJob) string {
	var parts []string
	if steps := f.take("steps"); steps != nil && steps.Kind == yaml.SequenceNode {
		for i, item := range steps.Content {
			if item = follow(item); item.Kind == yaml.MappingNode {
				parts = append(parts, w.step(fieldsOf(w.in, fmt.Sprintf("%s.steps[%d]", f.path, i), item), s, j))
			}
		}
	}
	body := strings.Join(parts, "")
	if strings.TrimSpace(body) == "" {
		f.take("outputs")
		return placeholder(s.Name, "this job")
	}
	return "set -e\n" + j.stop + fileLines(body) + body + w.outputs(f, s.Name)
}

// fileLines give a script the files by which steps hand on values. Lines of $GITHUB_OUTPUT are
// results, which are written alike.
func fileLines(body string) string {
	lines := ""
	for _, file := range [][2]string{{"GITHUB_OUTPUT", `"$RAMET_RESULT"`}, {"GITHUB_ENV", `"$PWD/.github_env"`}, {"GITHUB_STEP_SUMMARY", "/dev/stdout"}} {
		if uses(body, file[0]) {
			lines += "export " + file[0] + "=" + file[1] + "\n"
			if file[0] == "GITHUB_ENV" {
				lines += ": >\"$GITHUB_ENV\"\n"
			}
		}
	}
	return lines
}

// outputLines finds NAME<<END, as it is written to a file of outputs; cat <<END is none.
var outputLines = pattern.Late(`["'\s{][A-Za-z_][A-Za-z0-9_-]*<<["']?[A-Za-z_$]`)

// takeEnv has what follows find the variables that a step has set for it.
// NAME=value, or NAME<<END and lines up to END.
const takeEnv = `while IFS= read -r line; do
case "${line%%=*}" in
*"<<"*) env_end=${line#*<<} env_value= env_first=yes
while IFS= read -r env_line && [ "$env_line" != "$env_end" ]; do
if [ -n "$env_first" ]; then env_value=$env_line env_first=; else env_value="$env_value
$env_line"; fi
done
export "${line%%<<*}=$env_value";;
?*) export "$line";;
esac
done <"$GITHUB_ENV"
`

var stepOutput = pattern.Late(`^steps\.[A-Za-z0-9_-]+\.outputs\.([A-Za-z_][A-Za-z0-9_-]*)$`)

// outputs reads what a job hands on: its results, and params, which scripts find.
func (w *actionsReader) outputs(f *fields, step string) string {
	o := f.object("outputs")
	if o == nil {
		return ""
	}
	var b strings.Builder
	for _, k := range o.keys {
		n := o.take(k.Value)
		if n == nil {
			continue
		}
		m := expression().FindStringSubmatch(n.Value)
		var of []string
		if m != nil && m[0] == strings.TrimSpace(n.Value) {
			of = stepOutput().FindStringSubmatch(m[1])
		}
		param, name := ident(step+"_"+k.Value), ident(k.Value)
		if of == nil || !plainName().MatchString(name) || len(param) > 64 {
			o.note(n, "%s: %q is not understood; have a step write it to $RAMET_RESULT", o.at(k.Value), n.Value)
			continue
		}
		w.param(param)
		if name != of[1] {
			fmt.Fprintf(&b, "sed -n 's/^%s=/%s=/p' \"$RAMET_RESULT\" | tail -n 1 >>\"$RAMET_RESULT\"\n", of[1], name)
		}
		fmt.Fprintf(&b, "sed -n 's/^%s=/params.%s=/p' \"$RAMET_RESULT\" | tail -n 1 >>\"$RAMET_RESULT\"\n", of[1], param)
	}
	return b.String()
}

// step is a step of a job, as lines of its script.
func (w *actionsReader) step(f *fields, s *domain.Step, j *actionsJob) string {
	title := cmpText(f.text("name"), f.text("id"))
	f.text("id")
	var b strings.Builder
	if title != "" {
		b.WriteString(commented(title) + "\n")
	}
	if n := f.take("uses"); n != nil {
		b.WriteString(w.action(f, n, s, j))
	}
	cond := w.stepCondition(f, j)
	run := w.command(f, j)
	if n := f.take("timeout-minutes"); n != nil {
		f.note(n, "%s: the time-out is that of the whole job", f.at("timeout-minutes"))
	}
	if run != "" && cond != "" {
		run = "if " + cond + "; then\n" + run + "fi\n"
	}
	if b.WriteString(run); uses(run, "GITHUB_ENV") {
		b.WriteString(takeEnv)
	}
	f.rest()
	return b.String()
}

// stepCondition is the `if` of a step as a shell has it; "" where there is none.
func (w *actionsReader) stepCondition(f *fields, j *actionsJob) string {
	n := f.take("if")
	if n == nil {
		return ""
	}
	text := strings.TrimSpace(n.Value)
	if m := expression().FindStringSubmatch(text); m != nil && m[0] == text {
		text = m[1]
	}
	e, err := parseExpr(text)
	cond := ""
	if err == nil {
		if e.calls("always") {
			f.note(n, "%s: a line of a script does not come after one that failed: make it a step of a later phase", f.at("if"))
		}
		cond, err = e.shell(func(name string) (string, error) {
			variable, ok := w.variable(name, j)
			if !ok {
				return "", fmt.Errorf("%s has no counterpart", name)
			}
			return `"` + variable + `"`, nil
		})
	}
	if err != nil {
		f.note(n, "%s: write it into the script, which stops there until then: %s (%v)", f.at("if"), n.Value, err)
		return unknown("the condition " + text)
	}
	if cond == "true" {
		return ""
	}
	return cond
}

// command is what a step runs.
func (w *actionsReader) command(f *fields, j *actionsJob) string {
	shell := cmpText(f.text("shell"), j.run.shell)
	dir := cmpText(f.text("working-directory"), j.run.dir)
	soft := f.flag("continue-on-error")
	line := f.line
	if n := f.vals["run"]; n != nil {
		if line = n.Line; n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			line++ // its text begins below the field
		}
	}
	run := strings.TrimRight(f.text("run"), "\n")
	own := f.values("env")
	if run == "" {
		return ""
	}
	if uses(run, "GITHUB_OUTPUT") && outputLines().MatchString(run) {
		f.in.note(line, "%s: an output of several lines (NAME<<END) is none of $RAMET_RESULT, whose values have a line: the script stops there", f.at("run"))
		run = stops("an output of several lines") + run
	}
	stop := ""
	by := actionsShell(shell)
	first, _ := word(by + " ")
	if first == "python3" && expression().MatchString(run) {
		f.in.note(line, "%s: ${{ … }} is put into no Python, and the script stops there: write os.environ[…] with a variable of `env`", f.at("run"))
		stop = stops("an expression in this Python")
	} else {
		run = w.replace(run, line, j)
	}
	if by == "" {
		f.in.note(line, "%s: %s is not a shell that is known: the script stops there until it is written", f.at("shell"), shell)
		run = stops("the shell "+shell) + run + "\n"
	} else {
		run = stop + interpreted(by, run)
	}
	if dir == "" && len(own) == 0 && !soft {
		return run
	}
	var b strings.Builder
	b.WriteString("(\n")
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if err := domain.ValidateEnv(map[string]string{name: own[name]}); err != nil {
			w.in.note(f.line, "%v; left out", err)
			continue
		}
		fmt.Fprintf(&b, "export %s=%s\n", name, w.quoted(own[name], f.line, j))
	}
	if dir != "" {
		b.WriteString("cd " + shellWord(w.replace(dir, f.line, j)) + " || exit\n") // of what may fail `set -e` says nothing
	}
	b.WriteString(run + ")")
	if soft {
		b.WriteString(" || true")
	}
	return b.String() + "\n"
}

// actionsShells are how a `run` is run by the shell that it names; "" is that it names none.
var actionsShells = map[string]string{"": "bash -e", "bash": "bash --noprofile --norc -eo pipefail", "sh": "sh -e", "python": "python3"}

// ownShell is a command of its own, with {0} for the script.
var ownShell = pattern.Late(`^((?:sh|bash|python3?)(?: -[^{}$` + "`" + `"';|&<>]*)?) \{0\}$`)

// actionsShell is the program that runs a `run`, with its options; "" for one that is not known.
func actionsShell(shell string) string {
	if by, known := actionsShells[shell]; known {
		return by
	}
	if m := ownShell().FindStringSubmatch(shell); m != nil {
		if rest, ok := strings.CutPrefix(m[1], "python"); ok {
			return "python3" + strings.TrimPrefix(rest, "3")
		}
		return m[1]
	}
	return ""
}

// quoted is a value as a word of a shell, in which only expressions count.
func (w *actionsReader) quoted(value string, line int, j *actionsJob) string {
	if !expression().MatchString(value) {
		return shellQuote(value)
	}
	return w.replace(shellQuote(value), line, j)
}

// action is what an action of others becomes: those that hand files on have a counterpart.
func (w *actionsReader) action(f *fields, n *yaml.Node, s *domain.Step, j *actionsJob) string {
	with := f.object("with")
	name, _, _ := strings.Cut(n.Value, "@")
	switch name {
	case "actions/upload-artifact":
		if with != nil && w.leaves(with, s) {
			return ""
		}
	case "actions/download-artifact":
		to := "."
		if with != nil {
			to = cmpText(with.text("path"), to)
		}
		f.note(n, "%s: the files of the jobs that it needs lie below the names of these", f.at("uses"))
		// Without files there is no such variable, and "/." is the whole machine.
		folder := shellWord(w.replace(to, f.line, j))
		return "if [ -n \"${RAMET_ARTIFACTS:-}\" ]; then\nmkdir -p " + folder + "\ncp -R \"$RAMET_ARTIFACTS\"/. " + folder + "\nfi\n"
	}
	f.note(n, "%s: actions are not run: write what %s did", f.at("uses"), n.Value)
	return commented("uses: "+n.Value) + "\n"
}

// leaves names the files that a job leaves.
func (w *actionsReader) leaves(with *fields, s *domain.Step) bool {
	var patterns []string
	for pattern := range strings.Lines(with.text("path")) {
		if pattern = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(pattern), "./"), "/"); pattern != "" {
			patterns = append(patterns, pattern)
		}
	}
	all := append(slices.Clone(s.Artifacts), patterns...)
	if len(patterns) == 0 || domain.ValidateArtifacts(all) != nil || expression().MatchString(strings.Join(patterns, " ")) {
		return false
	}
	s.Artifacts = all
	return true
}
