package api

import (
	"context"
	"fmt"

	"github.com/ramet-run/ramet/identity"
)

// Operation is a row of the table.
type Operation struct {
	// Name is noun and verb: "job.submit".
	Name string
	// Method and Path are its place at the HTTP door; {name} in the path is
	// the parameter tagged so.
	Method, Path string
	// Right is what the caller needs: in the context that the parameters
	// name, or on the node for [identity.Know] and [identity.Administrate].
	Right identity.Verb
	// Summary says what it does, in one sentence.
	Summary string

	// NewParams returns a pointer to fresh parameters.
	NewParams func() any
	// Result is a zero result, for those who describe the table.
	Result any
	// Call does it. params is what NewParams returned, filled.
	Call func(ctx context.Context, c Caller, params any) (any, error)
	// Stream reports what happens as it happens, and ends by itself with an
	// event [EventEnd]. Nil where there is nothing to follow.
	Stream func(ctx context.Context, c Caller, params any, emit func(Event) error) error
}

// The names of events.
const (
	EventLog   = "log"   // one line; the id is its number
	EventJob   = "job"   // the job as it stands
	EventEnd   = "end"   // the job once it has ended: the last event
	EventError = "error" // a Problem: the stream is over, though the job may not be
)

// Event is one message of a stream.
type Event struct {
	Name string
	// ID is the number of this event; a stream that broke can go on behind it.
	// "" where it starts anew.
	ID   string
	Data any
}

// Operations is the table.
var Operations = []Operation{
	op("job.submit", "POST", "/v1/contexts/{context}/jobs", identity.Create, Caller.SubmitJobs,
		"Submit one job (its fields in the body) or many ({\"jobs\": [...]})."),
	op("job.list", "GET", "/v1/contexts/{context}/jobs", identity.Read, Caller.ListJobs,
		"List jobs page by page, without scripts, environment and results."),
	op("job.show", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}", identity.Read, Caller.ShowJob,
		"Show one job."),
	op("job.logs", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}/logs", identity.Read, Caller.JobLogs,
		"Read a job's log, or follow it until the job has ended.").streams(Caller.FollowLogs),
	op("job.wait", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}/wait", identity.Read, Caller.WaitJob,
		"Wait until a job has ended.").streams(Caller.WatchJob),
	op("job.cancel", "POST", "/v1/contexts/{context}/jobs/{caller}/{id}/cancel", identity.Cancel, Caller.CancelJob,
		"End a job that waits; tell one that runs to stop."),
	op("job.retry", "POST", "/v1/contexts/{context}/jobs/{caller}/{id}/retry", identity.Retry, Caller.RetryJob,
		"Start a job again that ended in error."),
	op("job.explain", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}/explain", identity.Read, Caller.ExplainJob,
		"Say what a job waits for, who holds it, and what will wake it."),
	op("archive.search", "GET", "/v1/contexts/{context}/archive", identity.Read, Caller.SearchArchive,
		"Search what has ended, newest first, by status, time, text and more."),
	op("archive.export", "GET", "/v1/contexts/{context}/archive/export", identity.Read, Caller.ExportArchive,
		"Search what has ended and read whole records, with logs, page by page."),
	op("archive.show", "GET", "/v1/contexts/{context}/archive/{key}", identity.Read, Caller.ShowArchive,
		"Show what has ended, with its log."),
	op("prerequisite.meet", "POST", "/v1/contexts/{context}/prerequisites/meet", identity.Meet, Caller.MeetPrerequisite,
		"Mark a prerequisite as met that no program can check."),
	op("context.create", "POST", "/v1/contexts", identity.Administrate, Caller.CreateContext,
		"Make a context."),
	op("context.list", "GET", "/v1/contexts", identity.Know, Caller.ListContexts,
		"List the contexts in which the caller has a role."),
	op("context.show", "GET", "/v1/contexts/{context}", identity.Read, Caller.ShowContext,
		"Show a context with its lists."),
	op("actor.create", "POST", "/v1/actors", identity.Administrate, Caller.CreateActor,
		"Register an actor by its public key."),
	op("actor.list", "GET", "/v1/actors", identity.Administrate, Caller.ListActors,
		"List all actors."),
	op("actor.show", "GET", "/v1/actors/{actor}", identity.Know, Caller.ShowActor,
		"Show an actor's public key."),
	op("runner.list", "GET", "/v1/runners", identity.Know, Caller.ListRunners,
		"List runners: what they serve, what not and why, and what isolates their scripts."),
	op("node.info", "GET", "/v1/info", identity.Know, Caller.NodeInfo,
		"Show what node this is and how durable its board is."),
	op("audit.run", "POST", "/v1/contexts/{context}/audit", identity.Audit, Caller.RunAudit,
		"Look for unfinished jobs that nothing would ever move, and repair what there is a rule for."),
}

// Named finds an operation.
func Named(name string) *Operation {
	for i := range Operations {
		if Operations[i].Name == name {
			return &Operations[i]
		}
	}
	panic(fmt.Sprintf("BUG: there is no operation %q", name))
}

// op makes a row.
func op[P, R any](name, method, path string, right identity.Verb, call func(Caller, context.Context, P) (R, error), summary string) Operation {
	var zero R
	return Operation{
		Name: name, Method: method, Path: path, Right: right, Summary: summary, Result: zero,
		NewParams: func() any { return new(P) },
		Call: func(ctx context.Context, c Caller, params any) (any, error) {
			return call(c, ctx, *params.(*P))
		},
	}
}

// streams adds the way to follow, which has the same parameters.
func (o Operation) streams(stream func(Caller, context.Context, any, func(Event) error) error) Operation {
	o.Stream = func(ctx context.Context, c Caller, params any, emit func(Event) error) error {
		return stream(c, ctx, params, emit)
	}
	return o
}
