package migrate

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file makes the script of a step of a DAG of Dagu: what runs it, where, and what its end means.

// script makes the script of a step, of a shell where it must be one; own is what it leaves as a
// param, where it does. What is not understood stops until it is written.
func (d *daguReader) script(f *fields, s *domain.Step, shells bool) (own string, understood bool) {
	list := d.commands(f)
	command, script := strings.Join(list, "\n"), f.text("script")
	shell := f.text("shell")
	if n := f.take("run", "call"); n != nil {
		return "", d.another(f, n, s)
	}
	if by := d.executor(f); by != "" {
		for _, name := range []string{"with", "config", "params", "output", "dir", "workingDir", "working_dir"} {
			f.take(name)
		}
		stop(s, "this step, by "+by)
		if command != "" {
			s.Script = commented(command) + "\n" + s.Script
		}
		return "", false
	}
	by := cmpText(shell, d.shell)
	first, options := word(by)
	switch {
	case !shells && script != "" && (strings.HasPrefix(command, "python") || strings.HasPrefix(first, "python")):
		s.ScriptType = domain.ScriptPython
	case script != "" && command == "sh": // as it is
	case script != "" && command != "":
		script = interpreted(command, script)
	default:
		if path.Base(first) == "sh" && options == "" {
			by = "sh"
		} else if path.Base(first) == "direct" {
			by = ""
		}
		script = daguScript(by, cmpText(script, command), list)
	}
	if script == "" {
		d.in.note(f.line, "%s: it runs nothing that is understood", s.Name)
		s.Script = placeholder(s.Name, "this step")
		return "", false
	}
	script = strings.TrimRight(script, "\n") + "\n"
	script = d.goes(f, s, script) + script
	output := d.output(f)
	if what := d.strange(script, s); what != "" {
		d.in.note(f.line, "%s: it names %s: the step fails until its script is written", s.Name, what)
		stop(s, "its script ("+what+")")
		s.Script = commented(script) + "\n" + s.Script
		d.lost[output] = output != ""
		return "", false
	}
	told := d.told(script, s)
	if s.ScriptType != domain.ScriptShell {
		if d.lost[output] = output != ""; output != "" {
			d.in.note(f.line, "%s: write what it prints to the file $RAMET_RESULT instead, as params.%s=value", f.at("output"), output)
		}
		s.Script = script
		return "", true
	}
	head := told + absentLines(script, d)
	if output != "" {
		if !paramName().MatchString(output) {
			d.in.note(f.line, "%s: %q is no name; left out", f.at("output"), output)
		} else {
			script = "out=$(\n" + script + ")\ncode=$?\nprintf '%s\\n' \"$out\"\nprintf 'params." + output + "=%s\\n' \"$out\" | head -n 1 >>\"$RAMET_RESULT\"\n" +
				"[ $code -eq 0 ] || exit $code\n"
			d.leaves(output)
			own = output
			d.in.note(f.line, "%s: later steps find %s, of its first line, as the param %s", f.at("output"), output, output)
		}
	}
	s.Script = head + script
	return own, true
}

// goes has a script go to where it begins: to the folder of the step, which is within that of the
// DAG unless it is a whole path.
func (d *daguReader) goes(f *fields, s *domain.Step, script string) string {
	line, own := f.lineOf("dir", "workingDir", "working_dir"), f.text("dir", "workingDir", "working_dir")
	dirs := []string{d.dir, own}
	if strings.HasPrefix(own, "/") || strings.HasPrefix(own, "~") || strings.HasPrefix(own, "$") {
		dirs[0] = ""
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool { return dir == "" })
	var b strings.Builder
	for _, dir := range dirs {
		if home, ok := strings.CutPrefix(dir, "~"); ok && (home == "" || home[0] == '/') {
			d.in.note(cmp.Or(line, f.line), "working_dir: %q is in the home folder of whoever runs Dagu; each job has one of its own here", dir)
			dir = "$HOME" + home
		}
		if s.ScriptType == domain.ScriptPython {
			fmt.Fprintf(&b, "__import__('os').chdir(__import__('os').path.expandvars(%s))\n", strconv.Quote(dir))
		} else {
			b.WriteString("cd " + shellWord(dir) + " || exit 1\n")
		}
	}
	if b.Len() > 0 && s.ScriptType == domain.ScriptPython && strings.Contains(script, "from __future__") {
		d.in.note(cmp.Or(line, f.line), "%s: working_dir: its script must begin with what is from __future__: it fails until it goes to its folder itself", s.Name)
	}
	return b.String()
}

// succeeds has a script succeed where it failed, by one of codes, or by any.
func succeeds(script string, codes []string) string {
	head := "(\n" + strings.TrimRight(script, "\n") + "\n)\n"
	if len(codes) == 0 {
		return head + "exit 0\n"
	}
	return head + "code=$?\ncase $code in " + strings.Join(codes, "|") + ") exit 0 ;; esac\nexit $code\n"
}

// continued reads what is done where a step fails or is skipped. marks says that it is taken for one
// that succeeded then, and codes where it ended with one of these alone.
func (d *daguReader) continued(f *fields, s *domain.Step) (marks bool, codes []string) {
	n := f.vals["continueOn"]
	if n == nil {
		n = f.vals["continue_on"]
	}
	if n != nil && n.Kind == yaml.ScalarNode {
		s.MayFail = strings.HasPrefix(f.text("continueOn", "continue_on"), "fail")
		return false, nil
	}
	c := f.object("continueOn", "continue_on")
	if c == nil {
		return false, nil
	}
	defer c.rest()
	s.MayFail = c.flag("failure", "failed")
	d.may[s.Name] = c.flag("skipped")
	if marks = c.flag("markSuccess", "mark_success"); !marks {
		return false, nil // codes that are accepted there are none for steps that stay failed
	}
	for _, code := range c.texts("exitCode", "exit_code") {
		if n, err := strconv.Atoi(code); err == nil && n > 0 && n < 256 {
			codes = append(codes, strconv.Itoa(n))
		} else {
			d.in.note(c.line, "%s: %q is no exit code that is taken for success; left out", c.at("exitCode"), code)
		}
	}
	if s.MayFail {
		codes = nil // all of them are
	}
	return s.MayFail || len(codes) > 0, codes
}

// marked has a step that fails be one that succeeded.
func (d *daguReader) marked(f *fields, s *domain.Step, codes []string) {
	if s.ScriptType != domain.ScriptShell || s.Flow != nil || s.Retry != nil || s.Repeat != nil || s.Listed() {
		s.MayFail = true
		d.in.note(f.line, "%s: mark_success: its failure is accepted (`may_fail`), whatever its exit code, and its state is failed_accepted: "+
			"only a script of a shell that is run once can say that it succeeded", s.Name)
		return
	}
	s.Script = succeeds(s.Script, codes)
}

// commands are the commands of a step. A list has one in each of its entries; in older versions it was one command and its
// arguments, and nothing tells them apart but what they look like.
func (d *daguReader) commands(f *fields) []string {
	line := f.lineOf("command", "cmd")
	list := f.texts("command", "cmd")
	if len(list) < 2 || strings.ContainsAny(list[0], " \t\n") {
		return list
	}
	if !slices.ContainsFunc(list[1:], func(word string) bool { return strings.HasPrefix(word, "-") }) {
		d.in.note(line, "%s: each entry became a command; of older versions of Dagu it is one command and its arguments: write it as one text then", f.at("command"))
		return list
	}
	d.in.note(line, "%s: it became one command and its arguments, as the entries look so; newer versions of Dagu run each entry as a command", f.at("command"))
	for i := range list[1:] {
		list[i+1] = shellWord(list[i+1])
	}
	return []string{strings.Join(list, " ")}
}

// shebang is what a script wants to be run by.
var shebang = pattern.Late(`^#!\s*(?:/\S*/env\s+(?:-S\s+)?)?(\S.*)\n`)

// daguScript is a script, or some commands, as they are run there: each of these in a shell of its own, until one fails.
// by is the shell that is named; without one it is sh -e, or what the script names.
func daguScript(by, script string, list []string) string {
	if script == "" {
		return ""
	}
	one := func(text string) string {
		if by == "" || by == "sh" {
			return "(\n" + strings.TrimRight(text, "\n") + "\n)\n"
		}
		return interpreted(by, text)
	}
	if m := shebang().FindStringSubmatch(script); by == "" && m != nil {
		return interpreted(strings.TrimSpace(m[1]), script)
	}
	stops := ""
	if by == "" && strings.ContainsAny(strings.TrimSpace(script), "\n;") {
		stops = "set -e\n"
	}
	switch {
	case len(list) > 1 && by == "sh":
		var all []string
		for _, text := range list {
			all = append(all, strings.TrimRight(one(text), "\n")+" || exit\n")
		}
		return strings.Join(all, "")
	case len(list) > 1:
		stops = "set -e\n"
		script = ""
		for _, text := range list {
			script += one(text)
		}
	case by != "" && by != "sh":
		script = one(script)
	}
	return stops + script
}

// output is the name under which what follows finds what a step prints.
func (d *daguReader) output(f *fields) string {
	if n := f.vals["output"]; n != nil && n.Kind == yaml.MappingNode {
		o := f.object("output")
		defer o.rest()
		return o.text("name")
	}
	return strings.TrimPrefix(f.text("output"), "$")
}

// absentLines set variables to those params that there may not be.
func absentLines(script string, d *daguReader) string {
	var names []string
	for _, name := range d.params {
		if d.absent[name] {
			names = append(names, name)
		}
	}
	return paramLines(script, names)
}

// executor is what a step is done by that is no shell of this machine, which it notes: its command
// means something else there. "" is a shell.
func (d *daguReader) executor(f *fields) (by string) {
	for _, name := range []string{"type", "executor", "container"} {
		n := f.take(name)
		if n == nil {
			continue
		}
		kind := n.Value
		if n.Kind == yaml.MappingNode && name == "executor" {
			o := fieldsOf(d.in, f.at(name), n)
			kind = o.text("type")
		}
		if name != "container" && slices.Contains([]string{"", "shell", "command", "dag", "subworkflow"}, kind) {
			continue
		}
		if by = name; kind != "" && name != "container" {
			by = kind
		}
		f.note(n, "%s: %s is not understood: the step fails until its script is written", f.at(name), by)
	}
	if by == "" && d.within != "" {
		by = d.within
		d.in.note(f.line, "%s: it is run in the container of the DAG, which is not understood: the step fails until its script is written", f.path)
	}
	return by
}

// shellWord is a word of a shell in which variables still count.
func shellWord(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`").Replace(text) + `"`
}
