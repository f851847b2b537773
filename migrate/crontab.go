package migrate

import (
	"path"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pattern"
	"github.com/ramet-run/ramet/template"
)

// This file reads crontabs: those of a user, and those of /etc, which name the user.
//
// Source: crontab(5) of cronie and of Vixie cron.

var cronVariable = pattern.Late(`^([A-Za-z_][A-Za-z0-9_]*)\s*=\s*(.*)$`)

// cronWords are the words that stand for five fields.
var cronWords = map[string]string{"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *"}

func crontab(text []byte, users bool) (*Imported, error) {
	in := &Imported{}
	zoned := false
	names, env, zone, shell := namer{}, map[string]string{}, "", ""
	for i, line := range strings.Split(string(text), "\n") {
		n := i + 1
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		if m := cronVariable().FindStringSubmatch(line); m != nil {
			value := strings.Trim(m[2], `"'`)
			switch m[1] {
			case "CRON_TZ":
				zone = value
			case "TZ":
				in.note(n, "TZ: it is what the lines below find in their environment; it moves no times, which CRON_TZ does")
				env = withValue(env, m[1], template.Escape(value))
			case "MAILTO", "MAILFROM":
				in.note(n, "%s: nobody is mailed; a step of kind effect can be a mail", m[1])
			case "SHELL":
				if shell = value; path.Base(value) == "sh" {
					shell = ""
				}
			case "RANDOM_DELAY", "LOGNAME", "USER", "HOME":
				in.note(n, "%s: no counterpart, left out: %s", m[1], value)
			default:
				env = withValue(env, m[1], template.Escape(value)) // cron computes nothing in it
			}
			continue
		}
		when, command, fault := cronLine(line)
		if fault != "" {
			in.note(n, "%s", fault)
			continue
		}
		if users {
			user, rest := word(command)
			command = rest
			in.note(n, "user %s: a script runs as what the node's walls make of it; contexts say whose it is", user)
		}
		if zone == "" && !zoned {
			zoned = true
			in.note(n, "its times are by the zone of the machine there, here by UTC: set `zone` of the schedules, or CRON_TZ before them")
		}
		cronJob(in, n, names, when, command, zone, shell, env)
	}
	return in, nil
}

// withValue is a map with one value more; the one that was there stays as it is.
func withValue(m map[string]string, name, value string) map[string]string {
	own := make(map[string]string, len(m)+1)
	for k, v := range m {
		own[k] = v
	}
	own[name] = value
	return own
}

// word is the first word of a text, and what follows.
func word(text string) (first, rest string) {
	at := strings.IndexAny(text, " \t")
	if at < 0 {
		return text, ""
	}
	return text[:at], strings.TrimSpace(text[at:])
}

// cronLine takes a line apart; fault says why it is left out.
func cronLine(line string) (when, command, fault string) {
	if line[0] == '@' {
		name, rest := word(line)
		if when = cronWords[name]; when == "" {
			return "", "", name + ": no counterpart, the line is left out"
		}
		return when, rest, ""
	}
	rest := line
	var list []string
	for len(list) < 5 && rest != "" {
		var field string
		field, rest = word(rest)
		list = append(list, field)
	}
	if len(list) < 5 {
		return "", "", "it has no five fields and a command; the line is left out"
	}
	return strings.Join(list, " "), rest, ""
}

// cronJob makes a schedule and its blueprint of a line.
func cronJob(in *Imported, n int, names namer, when, command, zone, shell string, env map[string]string) {
	input := ""
	if cut := unescaped(command); cut >= 0 {
		command, input = command[:cut], command[cut+1:]
	}
	command = strings.ReplaceAll(command, `\%`, "%")
	if command == "" {
		in.note(n, "it has no command; the line is left out")
		return
	}
	run := command
	if shell != "" {
		run = shellQuote(shell) + " -c " + shellQuote(command)
	}
	script := run + "\n"
	if input != "" {
		lines := strings.ReplaceAll(strings.ReplaceAll(input, "%", "\n"), "\\\n", "%")
		script = "{ " + run + "\n} <<'INPUT'\n" + lines + "\nINPUT\n"
	}
	program, _ := word(command)
	overlap := domain.OverlapAllow // cron begins one beside the other
	if path.Base(program) == "flock" {
		overlap = flock(in, n, command)
	}
	if strings.Contains(command, ">/dev/null") || strings.Contains(command, "> /dev/null") || strings.Contains(command, ">>") {
		in.note(n, "what it writes elsewhere is not in its log: ramet job logs shows what it says")
	}
	in.ownPlaces(n, command)
	in.farPlaces(n, command)
	in.leavesBehind(n, command)
	if err := domain.ValidateEnv(env); err != nil {
		in.note(n, "%v; the line is left out", err)
		return
	}
	name := names.name(path.Base(program), "job")
	s := domain.Schedule{Name: name, Blueprint: name, Cron: when, Zone: zone, Overlap: overlap, CatchUp: new(domain.Span)}
	if err := times(&s); err != nil {
		in.note(n, "%v; the line is left out", err)
		delete(names, name)
		return
	}
	in.Schedules = append(in.Schedules, s)
	in.Blueprints = append(in.Blueprints, &domain.Blueprint{Name: name, Env: env,
		Steps: []domain.Step{{Name: "run", Script: script, ScriptType: domain.ScriptShell, Timeout: unlimited}}})
}

var flockOption = pattern.Late(`^-[A-Za-z]*n|^--nb$|^--non-?block$`)

// flock is what a schedule does instead of a lock of the machine, that is wherever the flow before runs.
func flock(in *Imported, n int, command string) domain.Overlap {
	for _, word := range strings.Fields(command)[1:] {
		if !strings.HasPrefix(word, "-") {
			break
		}
		if flockOption().MatchString(word) {
			in.note(n, "flock: a schedule leaves out a time while its last flow is under way (overlap: skip), wherever that runs")
			return domain.OverlapSkip
		}
	}
	in.note(n, "flock: a time waits until the last flow has ended (overlap: queue), wherever that runs, and however long")
	return domain.OverlapQueue
}

// unescaped is where the first % stands that is not written as \%; -1: nowhere.
func unescaped(command string) int {
	for i := range len(command) {
		if command[i] == '%' && (i == 0 || command[i-1] != '\\') {
			return i
		}
	}
	return -1
}
