package blueprint

import (
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// kind is what the value of a field is.
type kind uint8

const (
	aText       kind = iota + 1 // a text
	aValue                      // a text; numbers and booleans are taken as written
	aNumber                     // a whole number
	aFlag                       // true or false
	aSpan                       // see [domain.Span]
	anInstant                   // see [domain.Instant]
	someTexts                   // a list of texts, or one text
	aMap                        // names and values, as aValue
	anObject                    // of fields
	someObjects                 // a list of those
)

// field is a row of the table.
type field struct {
	name string
	kind kind
	doc  string // a sentence, for editors
	// The rest bounds the value, as far as a schema can say it; what is not
	// given does not.
	required bool
	min, max int64    // of a number
	most     int      // bytes of a text, items of a list, names of a map
	enum     []string // of a text
	pattern  string   // of a text, of the items of a list, of the names of a map
	initial  any      // what it is when it is not there
	of       *object
}

// object is a kind of mapping with known fields.
type object struct {
	title, doc string
	fields     []field
	names      []string // of the fields
	byName     map[string]*field
	// others are what people who know other programs write.
	others map[string]string
}

// known finds a field.
func (o *object) known(name string) *field { return o.byName[name] }

func (o *object) index() *object {
	o.byName = make(map[string]*field, len(o.fields))
	for i := range o.fields {
		f := &o.fields[i]
		o.names = append(o.names, f.name)
		o.byName[f.name] = f
	}
	return o
}

const (
	namePattern = `^[A-Za-z_][A-Za-z0-9_-]*$` // of domain.ValidateName
	envPattern  = `^[A-Za-z_][A-Za-z0-9_]*$`
	typePattern = `^[a-z][a-z0-9_-]{0,31}$`
)

var aBlueprint = (&object{
	title: "Ramet blueprint",
	doc:   "A named, versioned template that makes flows: graphs of jobs that belong together.",
	fields: []field{
		{name: "name", kind: aText, required: true, pattern: namePattern, most: domain.MaxNameBytes,
			doc: "Its name, one in a context: a letter or '_' first, then letters, digits, '_' and '-'."},
		{name: "version", kind: aNumber, max: domain.MaxVersion,
			doc: "Its version; it must be greater than the newest one there is. Left out, it is the next."},
		{name: "summary", kind: aText, most: domain.MaxSummaryBytes, doc: "What it is for, for people."},
		{name: "priority", kind: aNumber, max: domain.MaxPriority, initial: 0, doc: "Of its jobs, 0 to 9; larger goes first."},
		{name: "params", kind: aMap, pattern: namePattern, most: domain.MaxParams, doc: "Parameters that all its jobs get; a request may change them."},
		{name: "env", kind: aMap, pattern: envPattern, most: domain.MaxEnvVars, doc: "Environment variables of all its jobs."},
		{name: "unique_alive", kind: aFlag, initial: false, doc: "Whether a second flow is refused while one is unfinished."},
		{name: "max_parallel", kind: aNumber, max: 1 << 31, initial: 0, doc: "The most unfinished jobs of a flow at once; 0 is no bound but the steps' windows."},
		{name: "on_error", kind: aText, enum: []string{string(domain.OnErrorAbort), string(domain.OnErrorContinue)}, initial: string(domain.OnErrorAbort),
			doc: "What happens when a step ends badly: abort ends what has not begun, later phases excepted; continue lets independent branches go on."},
		{name: "after", kind: anInstant, doc: "The instant before which nothing of a flow begins."},
		{name: "duration", kind: aSpan, doc: "How long a flow is expected to take; one that takes longer is shown as slow."},
		{name: "retention", kind: aSpan, doc: "How long a flow stays on the board after its end. Left out, it is as the node has it."},
		{name: "steps", kind: someObjects, of: aStep, required: true, most: domain.MaxSteps, doc: "What is to be done, in any order: needs and phases say what comes first."},
		{name: "output", kind: aMap, doc: "What a flow's result has: a name, and \"<step>.<key>\" of that step's result."},
	},
	others: map[string]string{
		"jobs": "steps", "tasks": "steps", "description": "summary", "env_vars": "env", "environment": "env", "parameters": "params",
		"jobName": "name", "outputs": "output", "uniqueAliveInstance": "unique_alive", "concurrency": "max_parallel",
	},
}).index()

var aStep = (&object{
	title: "step",
	doc:   "A node of the graph: one job or many, an approval, or an effect.",
	fields: []field{
		{name: "name", kind: aText, required: true, pattern: namePattern, most: domain.MaxNameBytes, doc: "Its name, one in the blueprint."},
		{name: "kind", kind: aText, enum: texts(domain.StepKinds),
			doc: "single is one job, shard a job for each index, pack a job for each range, approval a person's yes, effect a call to the outside. Left out, it is what else is given says, or single."},
		{name: "summary", kind: aText, most: domain.MaxSummaryBytes, doc: "What it does, for people."},
		{name: "script", kind: aText, most: domain.MaxScriptBytes, doc: "The script's text."},
		{name: "script_type", kind: aText, pattern: typePattern, doc: "What language it is: shell, python, rhai, v, osis, sal, node, or another that a runner serves."},
		{name: "file", kind: aText, doc: "The script's file, instead of script: a path within the folder of the blueprint's file. Only the command line reads it."},
		{name: "effect", kind: anObject, of: anEffect, doc: "The call of a step of kind effect."},
		{name: "params", kind: aMap, pattern: namePattern, most: domain.MaxParams, doc: "Parameters of its jobs, over those of the blueprint."},
		{name: "env", kind: aMap, pattern: envPattern, most: domain.MaxEnvVars, doc: "Environment variables of its jobs, over those of the blueprint."},
		{name: "timeout", kind: aSpan, doc: "How long one attempt may take, up to 30 days. Left out, it is as the node has it."},
		{name: "retries", kind: aNumber, max: 255, initial: 0, doc: "How often a job that failed is tried again."},
		{name: "needs", kind: someTexts, pattern: namePattern, most: domain.MaxDependends, doc: "The steps that must end well before this one starts."},
		{name: "phase", kind: aNumber, max: domain.MaxPhase, initial: 0,
			doc: "A step starts when all steps of all smaller phases are done, whatever came of them: clean-up goes into the last."},
		{name: "may_fail", kind: aFlag, initial: false, doc: "Whether it is accepted that the script fails. Errors (a crash, a time-out) are not."},
		{name: "may_skip", kind: aFlag, initial: false, doc: "Whether a request may skip it."},
		{name: "when", kind: aValue, most: domain.MaxWhenBytes, doc: "A Rhai expression over params and needs; where it is false, the step is skipped."},
		{name: "after", kind: anInstant, doc: "The instant before which it does not start."},
		{name: "weight", kind: aNumber, max: domain.MaxStepWeight, initial: 1, doc: "Its part of the flow's progress."},
		{name: "duration", kind: aSpan, doc: "How long one job is expected to take."},
		{name: "priority", kind: aNumber, max: domain.MaxPriority, doc: "Of its jobs; left out, the flow's."},
		{name: "affinity", kind: aMap, pattern: namePattern, doc: "Labels that a node must have to run it."},
		{name: "at", kind: aValue, doc: "Where its jobs run, if not here: a context, as 7; one of another site, as 7@acme; or runner:20."},
		{name: "checkpoint", kind: aFlag, initial: false, doc: "Whether the script keeps a checkpoint between attempts. This tells people only: every script may."},
		{name: "shard", kind: anObject, of: aShard, doc: "How a step is split by index."},
		{name: "pack", kind: anObject, of: aPack, doc: "How a step is split by ranges."},
	},
	others: map[string]string{
		"depends": "needs", "dependends": "needs", "depends_on": "needs", "dependsOn": "needs", "dependencies": "needs", "dependency": "needs",
		"after_steps": "needs", "type": "script_type", "language": "script_type", "run": "script", "command": "script", "code": "script", "path": "file",
		"script_file": "file", "env_vars": "env", "environment": "env", "if": "when", "condition": "when", "id": "name", "stepName": "name",
		"stepType": "kind", "ignorable": "may_skip", "can_skip": "may_skip", "can_fail": "may_fail", "allow_failure": "may_fail",
		"continue_on_error": "may_fail", "description": "summary", "effort": "weight", "parameters": "params", "labels": "affinity",
	},
}).index()

var aShard = (&object{
	title: "shard",
	doc:   "Jobs for the indexes start to count-1.",
	fields: []field{
		{name: "count", kind: aNumber, required: true, min: 1, max: domain.MaxShards, doc: "How many indexes there are in all; each job is told."},
		{name: "start", kind: aNumber, max: 1 << 53, initial: 0, doc: "The first index that gets a job."},
		{name: "window", kind: aNumber, max: domain.MaxWindow, initial: domain.DefaultWindow, doc: "The most unfinished jobs of the step at once."},
	},
	others: map[string]string{"shards": "count", "total": "count", "max": "window", "parallel": "window"},
}).index()

var aPack = (&object{
	title: "pack",
	doc:   "Jobs for ranges of size numbers, from start to end, both included.",
	fields: []field{
		{name: "size", kind: aNumber, required: true, min: 1, max: 1<<63 - 1, doc: "How many numbers a range has; the last may have fewer."},
		{name: "start", kind: aNumber, max: 1<<63 - 1, initial: 0, doc: "The first number of the first range."},
		{name: "end", kind: aNumber, min: -1, max: 1<<63 - 1, doc: "The last number; -1 is none at all. Left out, an earlier step must give it."},
		{name: "endless", kind: aFlag, initial: false, doc: "Whether ranges go on for ever, instead of end."},
		{name: "first_id", kind: aNumber, max: 1<<63 - 1, initial: 0, doc: "The number of the first range."},
		{name: "window", kind: aNumber, max: domain.MaxWindow, initial: domain.DefaultWindow, doc: "The most unfinished jobs of the step at once."},
	},
	others: map[string]string{"infinite": "endless", "begin": "start", "max": "window", "parallel": "window"},
}).index()

var anEffect = (&object{
	title: "effect",
	doc:   "A call to the outside.",
	fields: []field{
		{name: "kind", kind: aText, required: true, doc: "What kind of call it is, such as http."},
		{name: "target", kind: aText, required: true, doc: "Whom it is to, by a name that the operator has set up."},
		{name: "params", kind: aMap, pattern: namePattern, most: domain.MaxParams, doc: "What is told."},
	},
	others: map[string]string{"type": "kind", "to": "target", "url": "target"},
}).index()

func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = string(s)
	}
	return out
}

// want says for people what a field's value is.
func (f *field) want() string {
	switch f.kind {
	case aText:
		if len(f.enum) > 0 {
			return oneOf(f.enum)
		}
		return "a text"
	case aValue:
		return "a text, a number, true or false"
	case aNumber:
		if f.max < 1<<31 {
			return fmt.Sprintf("a whole number from %d to %d", f.min, f.max)
		}
		return "a whole number"
	case aFlag:
		return "true or false"
	case aSpan:
		return "a span of time, as 90, 90s or 1h30m"
	case anInstant:
		return "an instant, as 2026-01-31T02:00:00Z, or Unix milliseconds"
	case someTexts:
		return "a list of texts, or one"
	case aMap:
		return "names with values"
	case anObject:
		return fmt.Sprintf("fields such as `%s:`", f.of.fields[0].name)
	}
	return fmt.Sprintf("a list, of which each item has fields such as `%s:`", f.of.fields[0].name)
}

// oneOf is "a, b or c".
func oneOf(words []string) string {
	text := words[0]
	for i, w := range words[1:] {
		if i == len(words)-2 {
			text += " or " + w
		} else {
			text += ", " + w
		}
	}
	return text
}
