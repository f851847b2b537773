package migrate

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
)

// This file has what scripts of others need to find what they found there.

// uses reports whether a text may use a variable: $((N + 1)) and os.environ["N"] have no $ before it.
func uses(text, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(text)
}

// paramLines set variables of a shell to the params that the text names.
func paramLines(text string, params []string) string {
	var b strings.Builder
	for _, name := range params {
		if uses(text, name) {
			fmt.Fprintf(&b, "export %s=\"$RAMET_PARAM_%s\"\n", name, strings.ToUpper(name))
		}
	}
	return b.String()
}

var paramName = pattern.Late(`^[A-Za-z_][A-Za-z0-9_]*$`)

// takesText are programs that are given a script by -c.
var takesText = pattern.Late(`^(sh|bash|dash|ash|ksh|zsh|fish|python[0-9.]*)$`)

// interpreted has a program run a script that is not on its standard input: what the script calls reads
// that, and would take the rest of the script for it. by is the program with its options.
func interpreted(by, script string) string {
	script = strings.TrimRight(script, "\n")
	end := "SCRIPT"
	for i := 2; slices.Contains(strings.Split(script, "\n"), end); i++ {
		end = fmt.Sprint("SCRIPT_", i)
	}
	text := "<<'" + end + "'\n" + script + "\n" + end + "\n"
	program, options := word(by)
	if takesText().MatchString(path.Base(program)) && (options == "" || options[0] == '-') {
		return by + " -c \"$(cat " + text + ")\"\n"
	}
	return "cat >.script " + text + by + " .script\n"
}

// goodParams are those params whose names scripts can use; the others are noted.
func goodParams(in *Imported, line int, params map[string]string) map[string]string {
	good := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if !paramName().MatchString(name) || len(name) > 64 {
			in.note(line, "params: %q is no name; left out", name)
			continue
		}
		good[name] = params[name]
	}
	if len(good) == 0 {
		return nil
	}
	return good
}

// goodEnv are those variables that a job may be given; the others are noted.
func goodEnv(in *Imported, line int, env map[string]string) map[string]string {
	good := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if err := domain.ValidateEnv(map[string]string{name: env[name]}); err != nil {
			in.note(line, "%v; left out", err)
			continue
		}
		good[name] = env[name]
	}
	if len(good) == 0 {
		return nil
	}
	return good
}

// placeholder is a script that fails until somebody writes it.
func placeholder(step, what string) string {
	return fmt.Sprintf("echo %s >&2\nexit 1\n", shellQuote("step "+step+": put here what "+what+" did"))
}

// stop makes a step one that fails until somebody writes what it does: where only a part of that is
// understood, the rest alone would be something else.
func stop(s *domain.Step, what string) {
	s.ScriptType, s.Script, s.Flow, s.Repeat = domain.ScriptShell, placeholder(s.Name, what), nil, nil
	s.Each, s.Window, s.Matrix, s.Key = "", 0, nil, ""
}

// dot is a field of something in Rhai, also where its name is a word of the language.
func dot(of, name string) string {
	if _, err := blueprint.CompileWhen("params." + name); err == nil && paramName().MatchString(name) {
		return of + "." + name
	}
	return of + "[" + quoteRhai(name) + "]"
}

// schedule adds a schedule for a blueprint, if it can be one.
func (in *Imported) schedule(line int, names namer, of, cron, zone string, overlap domain.Overlap) {
	s := domain.Schedule{Name: names.name(of, of), Blueprint: of, Cron: cron, Zone: zone, Overlap: overlap, CatchUp: new(domain.Span)} // nothing is made up
	if err := times(&s); err != nil {
		in.note(line, "schedule: %v; left out", err)
		return
	}
	in.Schedules = append(in.Schedules, s)
}

var ownPlace = pattern.Late(`(^|[\s"'=:>(])(/tmp\b|~/|\$HOME\b|\$\{HOME\})`)

var (
	// farPlace is a folder of the machine that a script with walls does not see, where it is a word; one in quotes
	// may be a pattern, as of awk, and is one of those that are usual.
	farPlace = pattern.Late(`(?:^|[\s=:>(])/([A-Za-z][A-Za-z0-9._-]*)|["']/(home|root|var|srv|mnt|media|data|run)\b`)
	// nearPlaces are those that it sees, or that are noted otherwise.
	nearPlaces = []string{"usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu", "snap", "dev", "proc", "tmp"}
	// leftBehind is a process that goes on when the shell ends.
	leftBehind = pattern.Late(`[^&>|<\\]&(\s|$|[);])|\b(nohup|setsid|disown)\b`)
)

// farPlaces notes that a script names what it does not see here.
func (in *Imported) farPlaces(line int, script string) bool {
	for _, m := range farPlace().FindAllStringSubmatch(script, -1) {
		if place := cmpText(m[1], m[2]); !slices.Contains(nearPlaces, place) {
			in.note(line, "/%s: a script sees the system's folders (/usr, /etc, /opt), read-only, and its own, and nothing else of the machine: "+
				"name what it needs in `walls.see` or `walls.write` of the node's config file, or run it on a node with isolation: open", place)
			return true
		}
	}
	return false
}

// leavesBehind notes that a script leaves a process behind.
func (in *Imported) leavesBehind(line int, script string) bool {
	if !leftBehind().MatchString(script) {
		return false
	}
	in.note(line, "what it leaves running in the background is ended with the job: let the script wait for it")
	return true
}

// ownPlaces notes that a script names a folder which each job has of its own.
func (in *Imported) ownPlaces(line int, script string) bool {
	m := ownPlace().FindStringSubmatch(script)
	if m == nil {
		return false
	}
	in.note(line, "%s: each job has a folder of its own there: what a script writes is gone after the job, and others do not find it; "+
		"hand files on as `artifacts`, or run it on a node whose scripts see all of the machine (isolation: open)", strings.TrimSuffix(m[2], "/"))
	return true
}

// unlimited is the time-out of what has none there: the longest that a job may have.
const unlimited = domain.Span(domain.MaxTimeout)

// span is seconds as a span, bounded by what a time-out may be.
func (f *fields) span(unit int, names ...string) domain.Span {
	return domain.Span(f.number(domain.MaxTimeout/unit, names...) * unit)
}
