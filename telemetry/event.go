package telemetry

import (
	"context"
	"log/slog"
	"runtime"
	"strings"
	"unicode"
)

// This file gives each line of the log the name of its event: for rules and searches that
// are to go on working when somebody words a line better. Names are <noun>.<what>.

// EventKey is the attribute that names the event.
const EventKey = "event"

// named are the events that rules are written for, by the texts of their lines. All others
// are named by the package that writes them and the first words of the text; docs/logs.md
// lists all.
var named = map[string]string{
	"node started":          "node.started",
	"node stopped":          "node.stopped",
	"node is told to drain": "node.draining",
	"log level changed":     "node.log_level",
	"spans could not be sent; those that are too many are let go": "tracing.unsent",
	"last spans not sent":                                   "tracing.last_unsent",
	"operator made: actor 1, admin of context 1":            "node.operator_made",
	"script type not served":                                "runner.type_not_served",
	"script type is served now":                             "runner.type_served",
	"no work taken":                                         "runner.no_work_taken",
	"lease ran out":                                         "job.lost",
	"artifacts not fetched: the job waits for the store":    "job.artifacts_not_fetched",
	"artifacts not kept: the job's end waits for the store": "job.artifacts_waiting",
	"the store of artifacts is away; what needs it waits":   "artifact.store_away",
	"jobs cannot leave artifacts here: nodes that share a board need one store; set artifacts in the config file of each": "artifact.no_store",
	"artifacts removed that nobody names any more": "artifact.swept",
	"finish of a lost lease dropped":               "job.lost_finish",
	"job not run":                                  "job.not_run",
	"queued item is no job":                        "job.foreign_item",
	"runtime panicked":                             "job.runtime_panicked",
	"script does not stop; another node may run it when its lease has run out": "job.does_not_stop",
	"times of a schedule were missed":                                          "schedule.missed",
	"flow of a schedule refused":                                               "schedule.refused",
	"work waits in the outbox":                                                 "saga.outbox_waits",
	"saga stopped, and begins again":                                           "saga.restarted",
	"a stream cannot be read; it is tried again":                               "saga.stream_away",
	"leases not renewed; it is tried again":                                    "lease.not_renewed",
	"callers are refused: a bound of `doors` is reached":                       "door.refused",
	"Mycelium daemon does not answer; waiting for it":                          "bus.mycelium_awaited",
	"dead letter cannot be written; it is tried again":                         "saga.dead_letter_not_written",
	"the event streams cannot be written yet":                                  "stream.not_writable_yet",
	"request":                 "http.request",
	"request failed":          "http.failed",
	"BUG: panic in a request": "http.panicked",
	"command failed":          "resp.failed",
	"command broke down":      "resp.panicked",
	"denied":                  "audit.denied",
	"refused":                 "audit.refused",
	"done":                    "audit.done",
}

// nouns are what packages are called in names, where that is another word.
var nouns = map[string]string{"work": "job", "post": "message", "clockwork": "clockwork", "budget": "door", "http": "http", "cli": "cli", "main": "node",
	"pebbleboard": "board", "redisboard": "board", "etcdboard": "board", "sqlitearchive": "archive", "postgresarchive": "archive", "natsbus": "bus",
	"myceliumbus": "bus", "natsstream": "stream", "natslink": "nats", "httpeffect": "effect", "rhaiscript": "script", "pythonscript": "script",
	"processscript": "script"}

// EventName is the name of the event that a package's line with a text tells of.
func EventName(pkg, text string) string {
	if name, there := named[text]; there {
		return name
	}
	noun := pkg
	if n, there := nouns[pkg]; there {
		noun = n
	}
	return noun + "." + slug(text)
}

// slugWords is how many words of a text are in a name.
const slugWords = 6

// slug is the beginning of a text as a name.
func slug(text string) string {
	if before, _, cut := strings.Cut(text, ";"); cut {
		text = before
	}
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return strings.Join(words[:min(len(words), slugWords)], "_")
}

// Events is a handler that names the event of each line.
func Events(h slog.Handler) slog.Handler { return events{h} }

type events struct{ slog.Handler }

func (e events) Handle(ctx context.Context, r slog.Record) error {
	r = r.Clone()
	r.AddAttrs(slog.String(EventKey, EventName(packageOf(r.PC), r.Message)))
	return e.Handler.Handle(ctx, r)
}

func (e events) WithAttrs(attrs []slog.Attr) slog.Handler { return events{e.Handler.WithAttrs(attrs)} }

// WithGroup would put the event into the group; nobody here opens one for a whole log.
func (e events) WithGroup(name string) slog.Handler { return events{e.Handler.WithGroup(name)} }

// packageOf is the last word of the path of the package in which a line is written.
func packageOf(pc uintptr) string {
	if pc == 0 {
		return "node"
	}
	f, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	path := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	pkg, _, _ := strings.Cut(path, ".")
	return pkg
}
