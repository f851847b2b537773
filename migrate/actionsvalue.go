package migrate

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
	"github.com/ramet-run/ramet/template"
)

// This file has what `${{ … }}` of GitHub Actions stands for here: in the environment of a
// step, where ours are templates, and in scripts, where they are variables.

var (
	expression = pattern.Late(`\$\{\{\s*(.*?)\s*\}\}`)
	plainName  = pattern.Late(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// nameOf takes a name apart: of github.event.inputs.log-level, inputs and log-level.
func nameOf(expr string) (noun, name string) {
	expr = strings.Replace(expr, "github.event.inputs.", "inputs.", 1)
	noun, name, _ = strings.Cut(expr, ".")
	return noun, name
}

// ident is a name of theirs as a name of a variable.
func ident(name string) string { return strings.ReplaceAll(name, "-", "_") }

// input is the param of an input of theirs; false where it can be none.
func (w *actionsReader) input(name string) (string, bool) {
	ours := ident(name)
	if !plainName().MatchString(ours) || len(ours) > 64 {
		return "", false
	}
	if !w.inputs[ours] {
		w.param(ours)
	}
	return ours, true
}

// param declares a param that nothing else declares.
func (w *actionsReader) param(name string) {
	if _, known := w.params[name]; !known {
		w.params[name] = ""
	}
}

// output is the param by which a job hands on an output of its own: needs.build.outputs.tag.
func (w *actionsReader) output(name string) (param string, ok bool) {
	job, rest, _ := strings.Cut(name, ".outputs.")
	if w.of[job] == "" || !plainName().MatchString(ident(rest)) {
		return "", false
	}
	param = ident(w.of[job] + "_" + rest)
	if len(param) > 64 {
		return "", false
	}
	w.param(param)
	return param, true
}

// value is what a value of `env` becomes: a template, or the name of a secret. It notes what
// cannot be said, and is left out then.
func (w *actionsReader) value(name, text string, line int, j *actionsJob) (tmpl, secret string, ok bool) {
	if m := expression().FindStringSubmatch(text); m != nil && m[0] == strings.TrimSpace(text) {
		if noun, of := nameOf(m[1]); noun == "secrets" && domain.ValidateName("secret", of) == nil {
			w.secrets[of] = true
			return "", of, true
		}
	}
	var b strings.Builder
	from := 0
	for _, at := range expression().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.Escape(text[from:at[0]]))
		ours, known := w.template(text[at[2]:at[3]], j)
		if !known {
			w.in.note(line, "env %s: %q is not computed here: what would find it stops until it is written", name, text)
			if stop := stops("the variable " + name); j == nil {
				w.stop += stop
			} else {
				j.stop += stop
			}
			return "", "", false
		}
		b.WriteString(ours)
		from = at[1]
	}
	b.WriteString(template.Escape(text[from:]))
	return b.String(), "", true
}

// template is what stands in a template for an expression.
func (w *actionsReader) template(expr string, j *actionsJob) (string, bool) {
	noun, name := nameOf(expr)
	switch noun {
	case "inputs":
		ours, ok := w.input(name)
		return "${params." + ours + "}", ok
	case "needs":
		param, ok := w.output(name)
		return "${params." + param + "}", ok
	case "matrix":
		return "${item." + ident(name) + "}", j != nil && j.axes[ident(name)]
	case "env":
		value, ok := w.b.Env[name]
		return value, ok
	}
	value, ok := ofRun[expr]
	return value, ok && j != nil || expr == "github.workflow"
}

// ofRun is what templates have for what is said of a run.
var ofRun = map[string]string{"github.workflow": "${flow.blueprint}", "github.run_id": "${flow.id}", "github.run_number": "${flow.id}", "github.job": "${step}"}

// env reads an `env` of theirs into variables and secrets.
func (w *actionsReader) env(f *fields, j *actionsJob) (env, secrets map[string]string) {
	env, secrets = map[string]string{}, map[string]string{}
	line := f.line
	if n := f.vals["env"]; n != nil {
		line = n.Line
	}
	values := f.values("env")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		text := values[name]
		template, secret, ok := w.value(name, text, line, j)
		switch {
		case !ok:
		case secret != "":
			secrets[name] = secret
		default:
			env[name] = template
		}
	}
	return goodEnv(w.in, line, env), goodSecrets(w.in, line, secrets)
}

// goodSecrets are those variables that a job may have as secrets.
func goodSecrets(in *Imported, line int, secrets map[string]string) map[string]string {
	good := map[string]string{}
	for variable, name := range secrets {
		if err := domain.ValidateSecrets(map[string]string{variable: name}, nil); err != nil {
			in.note(line, "%v; left out", err)
			continue
		}
		good[variable] = name
	}
	if len(good) == 0 {
		return nil
	}
	return good
}

// variable is what a script finds an expression in, as "${NAME}", and gives it to the step.
func (w *actionsReader) variable(expr string, j *actionsJob) (string, bool) {
	noun, name := nameOf(expr)
	switch noun {
	case "inputs":
		ours, ok := w.input(name)
		return "${RAMET_PARAM_" + strings.ToUpper(ours) + "}", ok
	case "needs":
		param, ok := w.output(name)
		return "${RAMET_PARAM_" + strings.ToUpper(param) + "}", ok
	case "matrix":
		axis := ident(name)
		if !j.axes[axis] {
			return "", false
		}
		variable := "MATRIX_" + strings.ToUpper(axis)
		j.env[variable] = "${item." + axis + "}"
		return "${" + variable + "}", true
	case "env":
		return "${" + name + "}", plainName().MatchString(name)
	case "secrets":
		if !plainName().MatchString(name) || len(goodSecrets(&Imported{}, 0, map[string]string{name: name})) == 0 || j.env[name] != "" || w.b.Env[name] != "" {
			return "", false
		}
		w.secrets[name] = true
		if w.b.Secrets[name] == "" {
			j.secrets[name] = name
		}
		return "${" + name + "}", true
	case "steps":
		_, key, found := strings.Cut(name, ".outputs.")
		if !found || !plainName().MatchString(ident(key)) {
			return "", false
		}
		return fmt.Sprintf(`$(sed -n 's/^%s=//p' "$RAMET_RESULT" | tail -n 1)`, key), true
	}
	value, ok := map[string]string{"github.job": "${RAMET_STEP}", "github.run_id": "${RAMET_FLOW#flow:}", "github.run_number": "${RAMET_FLOW#flow:}",
		"github.run_attempt": "${RAMET_ATTEMPT}", "github.workspace": "${PWD}", "runner.temp": "${TMPDIR:-/tmp}", "runner.os": "Linux"}[expr]
	return value, ok
}

// replace puts variables in the place of expressions, also where they stand in single quotes;
// what there is no variable for stops the script.
func (w *actionsReader) replace(text string, line int, j *actionsJob) string {
	var b strings.Builder
	from := 0
	quotes := quoting{}
	for _, at := range expression().FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(text[from:at[0]])
		quotes.pass(text[from:at[0]])
		expr := text[at[2]:at[3]]
		variable, ok := w.variable(expr, j)
		if !ok {
			w.in.note(line+strings.Count(text[:at[0]], "\n"), "${{ %s }}: no counterpart; the script stops there until it is written", expr)
			variable = unknown(expr)
		}
		if quotes.single {
			variable = `'"` + variable + `"'`
		}
		b.WriteString(variable)
		from = at[1]
	}
	return b.String() + text[from:]
}

// unknown is what stops a shell, and says why.
func unknown(what string) string {
	return "${UNKNOWN:?" + strings.Map(func(r rune) rune {
		if strings.ContainsRune("}\"'`\\$", r) || r < ' ' {
			return ' '
		}
		return r
	}, what) + " is not known here}"
}

// stops is a line that stops a shell, and says why.
func stops(what string) string { return ": \"" + unknown(what) + "\"\n" }

// quoting follows the quotes of a shell.
type quoting struct{ single, double bool }

func (q *quoting) pass(text string) {
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case q.single:
			q.single = c != '\''
		case c == '\\':
			i++
		case c == '"':
			q.double = !q.double
		case c == '\'' && !q.double:
			q.single = true
		case c == '#' && !q.double && (i == 0 || text[i-1] == ' ' || text[i-1] == '\n' || text[i-1] == '\t'):
			for i+1 < len(text) && text[i+1] != '\n' { // a comment may have an apostrophe
				i++
			}
		}
	}
}
