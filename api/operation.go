package api

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
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
	// name, or on the node for verbs that are [identity.Verb.OnNode].
	Right identity.Verb
	// Summary says what it does, in one sentence.
	Summary string
	// Much says that its answer may be of many records, or of large ones.
	Much bool
	// Waits says that it may take its time before there is something to answer.
	Waits bool

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
	EventLog     = "log"     // one line; the id is its number
	EventJob     = "job"     // the job as it stands
	EventFlow    = "flow"    // the flow as it stands
	EventHistory = "history" // lines of an instance's history; the id is their version
	EventEnd     = "end"     // the job once it has ended: the last event
	EventError   = "error"   // a Problem: the stream is over, though the job may not be
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
		"List jobs page by page, without scripts, environment and results.").much(),
	op("job.show", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}", identity.Read, Caller.ShowJob,
		"Show one job."),
	op("job.logs", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}/logs", identity.Read, Caller.JobLogs,
		"Read a job's log, or follow it until the job has ended.").streams(Caller.FollowLogs).much(),
	op("job.wait", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}/wait", identity.Read, Caller.WaitJob,
		"Wait until a job has ended.").streams(Caller.WatchJob).waits(),
	op("job.cancel", "POST", "/v1/contexts/{context}/jobs/{caller}/{id}/cancel", identity.Stop, Caller.CancelJob,
		"End a job that waits; tell one that runs to stop.").byHand(),
	op("job.retry", "POST", "/v1/contexts/{context}/jobs/{caller}/{id}/retry", identity.Retry, Caller.RetryJob,
		"Start a job again that ended in error.").byHand(),
	op("job.explain", "GET", "/v1/contexts/{context}/jobs/{caller}/{id}/explain", identity.Read, Caller.ExplainJob,
		"Say what a job waits for, who holds it, and what will wake it."),
	op("flow.submit", "POST", "/v1/contexts/{context}/flows", identity.Create, Caller.SubmitFlows,
		"Submit one flow (of a blueprint, or of jobs) or many ({\"flows\": [...]})."),
	op("flow.list", "GET", "/v1/contexts/{context}/flows", identity.Read, Caller.ListFlows,
		"List flows page by page, without their jobs, environment, params and results.").much(),
	op("flow.show", "GET", "/v1/contexts/{context}/flows/{flow}", identity.Read, Caller.ShowFlow,
		"Show a flow with its steps.").much(),
	op("flow.wait", "GET", "/v1/contexts/{context}/flows/{flow}/wait", identity.Read, Caller.WaitFlow,
		"Wait until a flow has ended, or follow it.").streams(Caller.WatchFlow).waits(),
	op("flow.graph", "GET", "/v1/contexts/{context}/flows/{flow}/graph", identity.Read, Caller.GraphFlow,
		"Draw a flow's steps with their states, as Mermaid, DOT or SVG.").much(),
	op("flow.explain", "GET", "/v1/contexts/{context}/flows/{flow}/explain", identity.Read, Caller.ExplainFlow,
		"Say what a flow waits for, who holds it, and what will wake it."),
	op("flow.cancel", "POST", "/v1/contexts/{context}/flows/{flow}/cancel", identity.Stop, Caller.CancelFlow,
		"End what a flow has not begun, and tell what runs to stop.").byHand(),
	op("flow.retry", "POST", "/v1/contexts/{context}/flows/{flow}/retry", identity.Retry, Caller.RetryFlow,
		"Start again what ended in error, keeping checkpoints; what failed too, if asked.").byHand(),
	op("flow.skip", "POST", "/v1/contexts/{context}/flows/{flow}/skip", identity.Start, Caller.SkipStep,
		"Skip a step that allows it, or accept one that ended badly.").byHand(),
	op("flow.approve", "POST", "/v1/contexts/{context}/flows/{flow}/approve", identity.Start, Caller.ApproveStep,
		"Let a step succeed that waits for a decision.").byHand(),
	op("flow.reject", "POST", "/v1/contexts/{context}/flows/{flow}/reject", identity.Start, Caller.RejectStep,
		"Let a step fail that waits for a decision.").byHand(),
	op("flow.update", "POST", "/v1/contexts/{context}/flows/{flow}/update", identity.Create, Caller.UpdateFlow,
		"Change sizes, windows, ends and retries of a flow that lives.").byHand(),
	op("flow.pause", "POST", "/v1/contexts/{context}/flows/{flow}/pause", identity.Cancel, Caller.PauseFlow,
		"Hold a flow up: nothing more of it is begun.").byHand(),
	op("flow.resume", "POST", "/v1/contexts/{context}/flows/{flow}/resume", identity.Start, Caller.ResumeFlow,
		"Let a flow go on that was paused.").byHand(),
	op("flow.delete", "DELETE", "/v1/contexts/{context}/flows/{flow}", identity.Delete, Caller.DeleteFlow,
		"Remove a flow with its jobs; one that lives is cancelled first.").byHand(),
	op("archive.search", "GET", "/v1/contexts/{context}/archive", identity.Read, Caller.SearchArchive,
		"Search what has ended, newest first, by status, time, text and more.").much(),
	op("archive.export", "GET", "/v1/contexts/{context}/archive/export", identity.Read, Caller.ExportArchive,
		"Search what has ended and read whole records, with logs, page by page.").much(),
	op("archive.show", "GET", "/v1/contexts/{context}/archive/{key}", identity.Read, Caller.ShowArchive,
		"Show what has ended, with its log.").much(),
	op("prerequisite.meet", "POST", "/v1/contexts/{context}/prerequisites/meet", identity.Meet, Caller.MeetPrerequisite,
		"Mark a prerequisite as met that no program can check.").byHand(),
	op("schedule.apply", "POST", "/v1/contexts/{context}/schedules", identity.Create, Caller.ApplySchedule,
		"Make a schedule, or change the one of that name."),
	op("schedule.list", "GET", "/v1/contexts/{context}/schedules", identity.Read, Caller.ListSchedules,
		"List schedules page by page, without params, environment and variables.").much(),
	op("schedule.show", "GET", "/v1/contexts/{context}/schedules/{schedule}", identity.Read, Caller.ShowSchedule,
		"Show a schedule with its next times."),
	op("schedule.preview", "POST", "/v1/contexts/{context}/schedules/preview", identity.Read, Caller.PreviewSchedule,
		"Say when a schedule would come, without storing it."),
	op("schedule.delete", "DELETE", "/v1/contexts/{context}/schedules/{schedule}", identity.Delete, Caller.DeleteSchedule,
		"Remove a schedule; its flows stay.").byHand(),
	op("schedule.pause", "POST", "/v1/contexts/{context}/schedules/{schedule}/pause", identity.Start, Caller.PauseSchedule,
		"Keep a schedule from making flows.").byHand(),
	op("schedule.resume", "POST", "/v1/contexts/{context}/schedules/{schedule}/resume", identity.Start, Caller.ResumeSchedule,
		"Let a paused schedule go on with its next time.").byHand(),
	op("schedule.trigger", "POST", "/v1/contexts/{context}/schedules/{schedule}/trigger", identity.Start, Caller.TriggerSchedule,
		"Make a flow of a schedule now.").byHand(),
	op("blueprint.apply", "POST", "/v1/contexts/{context}/blueprints", identity.Create, Caller.ApplyBlueprint,
		"Store a blueprint (its fields, or its text in {\"text\": ...}) as the newest version of its name."),
	op("blueprint.list", "GET", "/v1/contexts/{context}/blueprints", identity.Read, Caller.ListBlueprints,
		"List blueprints by name, each with its newest version.").much(),
	op("blueprint.show", "GET", "/v1/contexts/{context}/blueprints/{name}", identity.Read, Caller.ShowBlueprint,
		"Show a version of a blueprint."),
	op("blueprint.versions", "GET", "/v1/contexts/{context}/blueprints/{name}/versions", identity.Read, Caller.BlueprintVersions,
		"List the versions of a blueprint, newest first."),
	op("blueprint.diff", "GET", "/v1/contexts/{context}/blueprints/{name}/diff", identity.Read, Caller.DiffBlueprint,
		"Say what differs between two versions of a blueprint."),
	op("blueprint.graph", "GET", "/v1/contexts/{context}/blueprints/{name}/graph", identity.Read, Caller.GraphBlueprint,
		"Give a blueprint's graph, or draw it as Mermaid, DOT or SVG."),
	op("blueprint.delete", "DELETE", "/v1/contexts/{context}/blueprints/{name}", identity.Delete, Caller.DeleteBlueprint,
		"Delete a blueprint with all its versions; its flows go on.").byHand(),
	op("blueprint.schema", "GET", "/v1/schemas/blueprint", identity.Know, Caller.BlueprintSchema,
		"Give the JSON Schema of a blueprint's file, for editors."),
	op("context.create", "POST", "/v1/contexts", identity.Administrate, Caller.CreateContext,
		"Make a context."),
	op("context.list", "GET", "/v1/contexts", identity.Know, Caller.ListContexts,
		"List the contexts in which the caller has a role."),
	op("context.show", "GET", "/v1/contexts/{context}", identity.Read, Caller.ShowContext,
		"Show a context with its lists."),
	op("context.grant", "POST", "/v1/contexts/{context}/grant", identity.Grant, Caller.GrantContext,
		"Give an actor a role in a context: admin, executor or reader."),
	op("context.revoke", "POST", "/v1/contexts/{context}/revoke", identity.Grant, Caller.RevokeContext,
		"Take a role from an actor, or all it has; every node acts by it within a second."),
	op("context.update", "POST", "/v1/contexts/{context}/update", identity.Grant, Caller.UpdateContext,
		"Change a context's weight and caps, and whether its executors may submit."),
	op("context.encrypt", "POST", "/v1/contexts/{context}/encrypt", identity.Administrate, Caller.EncryptContext,
		"Encrypt a context's scripts, variables, results, logs and checkpoints where they lie, with a key of its own.").byHand(),
	op("context.rekey", "POST", "/v1/contexts/{context}/rekey", identity.Administrate, Caller.RekeyContext,
		"Give an encrypted context a new key; what lies on the board is written anew with it.").byHand(),
	op("context.decrypt", "POST", "/v1/contexts/{context}/decrypt", identity.Administrate, Caller.DecryptContext,
		"End the encryption of a context; what lies on the board is written anew in plain.").byHand(),
	op("actor.create", "POST", "/v1/actors", identity.Administrate, Caller.CreateActor,
		"Register an actor by its public key."),
	op("actor.list", "GET", "/v1/actors", identity.Inspect, Caller.ListActors,
		"List all actors."),
	op("actor.show", "GET", "/v1/actors/{actor}", identity.Inspect, Caller.ShowActor,
		"Show an actor's public key: one's own; another's with a context in which the caller may send it messages."),
	op("actor.update", "POST", "/v1/actors/{actor}/update", identity.Administrate, Caller.UpdateActor,
		"Give an actor another key, or other addresses."),
	op("token.list", "GET", "/v1/tokens", identity.Know, Caller.ListTokens,
		"List one's tokens that are known, and which were revoked; the operator those of any actor."),
	op("token.note", "POST", "/v1/tokens", identity.Own, Caller.NoteToken,
		"Make a token known that one has signed, so that it is listed by its name."),
	op("token.revoke", "POST", "/v1/tokens/revoke", identity.Own, Caller.RevokeToken,
		"End a token of one's own, or all that were issued before now, at every node within a second; the operator those of any actor."),
	op("runner.list", "GET", "/v1/runners", identity.Inspect, Caller.ListRunners,
		"List runners: what they serve, what not and why, and what isolates their scripts; with a context, to those who may read there, what they serve."),
	op("runner.show", "GET", "/v1/runners/{runner}", identity.Inspect, Caller.ShowRunner,
		"Show one runner."),
	op("node.list", "GET", "/v1/nodes", identity.Inspect, Caller.ListNodes,
		"List the nodes of the board: what they are, and when they were last seen."),
	op("node.show", "GET", "/v1/nodes/{node}", identity.Inspect, Caller.ShowNode,
		"Show one node of the board."),
	op("node.info", "GET", "/v1/info", identity.Know, Caller.NodeInfo,
		"Show what node this is and how durable its board is."),
	op("node.drain", "POST", "/admin/drain", identity.Administrate, Caller.DrainNode,
		"Begin the graceful end of this node: it takes nothing new, ends what it has, sends what waits, and stops.").byHand(),
	op("node.reload", "POST", "/admin/reload", identity.Administrate, Caller.ReloadNode,
		"Read this node's config again: effects, secrets, and which sagas it serves.").byHand(),
	op("node.discard", "POST", "/admin/discard", identity.Administrate, Caller.DiscardValue,
		"Remove a value from the board's store that cannot be read, by the name that node.info has of it.").byHand(),
	op("ban.set", "POST", "/v1/contexts/{context}/bans", identity.Ban, Caller.SetBan,
		"Hold up a context, or a blueprint, flow, script type, routine, saga, effect or its target in it: what runs goes on, what has not begun waits.").byHand(),
	op("ban.list", "GET", "/v1/contexts/{context}/bans", identity.Read, Caller.ListBans,
		"List the bans that hold in a context."),
	op("ban.lift", "POST", "/v1/contexts/{context}/bans/lift", identity.Ban, Caller.LiftBan,
		"End a ban: what it held up goes on.").byHand(),
	op("ban.set_all", "POST", "/v1/bans", identity.Administrate, Caller.SetBanAnywhere,
		"Hold up everything, something in all contexts, or something in any context.").byHand(),
	op("ban.list_all", "GET", "/v1/bans", identity.Inspect, Caller.ListAllBans,
		"List the bans of all contexts."),
	op("ban.lift_all", "POST", "/v1/bans/lift", identity.Administrate, Caller.LiftBanAnywhere,
		"End a ban of any context.").byHand(),
	op("routine.list", "GET", "/v1/contexts/{context}/routines", identity.Read, Caller.ListRoutines,
		"List the routines of a context, and what the nodes do for all.").much(),
	op("routine.apply", "POST", "/v1/contexts/{context}/routines", identity.Create, Caller.ApplyRoutine,
		"Make a routine, a script that is run again and again, or change it."),
	op("routine.show", "GET", "/v1/contexts/{context}/routines/{routine}", identity.Read, Caller.ShowRoutine,
		"Show a routine and where its instances stand."),
	op("routine.delete", "DELETE", "/v1/contexts/{context}/routines/{routine}", identity.Delete, Caller.DeleteRoutine,
		"Take a routine away; a round under way is let end.").byHand(),
	op("routine.pause", "POST", "/v1/contexts/{context}/routines/{routine}/pause", identity.Start, Caller.PauseRoutine,
		"Let no more rounds of a routine begin.").byHand(),
	op("routine.resume", "POST", "/v1/contexts/{context}/routines/{routine}/resume", identity.Start, Caller.ResumeRoutine,
		"Let a paused routine go on.").byHand(),
	op("routine.run", "POST", "/v1/contexts/{context}/routines/{routine}/run", identity.Start, Caller.RunRoutine,
		"Let the next round of a routine begin now.").byHand(),
	op("circle.list", "GET", "/v1/contexts/{context}/circles", identity.Read, Caller.ListCircles,
		"List the circles of a context: how many tasks wait in each, and which nodes serve it."),
	op("circle.submit", "POST", "/v1/contexts/{context}/circles/{circle}/tasks", identity.Create, Caller.SubmitTask,
		"Put a Rhai script into a circle, to be run once by whoever serves it."),
	op("circle.show", "GET", "/v1/contexts/{context}/tasks/{task}", identity.Read, Caller.ShowTask,
		"Show a circle's task."),
	op("circle.wait", "GET", "/v1/contexts/{context}/tasks/{task}/wait", identity.Read, Caller.WaitTask,
		"Wait until a circle's task has ended.").waits(),
	op("circle.explain", "GET", "/v1/contexts/{context}/tasks/{task}/explain", identity.Read, Caller.ExplainTask,
		"Say what a circle's task waits for, and who holds it."),
	op("circle.delete", "DELETE", "/v1/contexts/{context}/tasks/{task}", identity.Delete, Caller.DeleteTask,
		"Take a circle's task away: from its circle while it waits, from its worker while it runs."),
	op("duty.show", "GET", "/v1/duty", identity.Inspect, Caller.ShowDuty,
		"Show the rules by which nodes lose roles, and what this node has lost."),
	op("duty.set", "PUT", "/v1/duty", identity.Administrate, Caller.SetDuty,
		"Put rules in place of those before: nodes follow within a second.").byHand(),
	op("duty.clear", "DELETE", "/v1/duty", identity.Administrate, Caller.ClearDuty,
		"Take all rules away: every node has all its roles.").byHand(),
	op("audit.run", "POST", "/v1/contexts/{context}/audit", identity.Audit, Caller.RunAudit,
		"Look for unfinished jobs that nothing would ever move, and repair what there is a rule for.").byHand(),
	op("message.send", "POST", "/v1/contexts/{context}/messages", identity.Create, Caller.SendMessage,
		"Send a message to an actor, or jobs or a flow to another context, here or at a peer."),
	op("message.list", "GET", "/v1/contexts/{context}/messages", identity.Read, Caller.ListMessages,
		"List messages page by page, without texts, jobs and logs.").much(),
	op("message.show", "GET", "/v1/contexts/{context}/messages/{caller}/{id}", identity.Read, Caller.ShowMessage,
		"Show a message, with what its jobs have said so far."),
	op("message.wait", "GET", "/v1/contexts/{context}/messages/{caller}/{id}/wait", identity.Read, Caller.WaitMessage,
		"Wait until a message has been processed, or ended in error.").waits(),
	op("message.explain", "GET", "/v1/contexts/{context}/messages/{caller}/{id}/explain", identity.Read, Caller.ExplainMessage,
		"Say where a message is, and what moves it on."),
	op("inbox.list", "GET", "/v1/contexts/{context}/inbox", identity.Read, Caller.ListInbox,
		"Read one's own inbox, oldest first.").much(),
	op("inbox.take", "POST", "/v1/contexts/{context}/inbox/take", identity.Take, Caller.TakeMessage,
		"Take a message out of one's own inbox."),
	op("peer.add", "POST", "/v1/peers", identity.Administrate, Caller.AddPeer,
		"Make another site known by its card, or change what is known of it.").byHand(),
	op("peer.list", "GET", "/v1/peers", identity.Inspect, Caller.ListPeers,
		"List the sites that are known; with a context also to those who may send messages there."),
	op("peer.remove", "DELETE", "/v1/peers/{peer}", identity.Administrate, Caller.RemovePeer,
		"Forget a site: nothing of it is taken in any more.").byHand(),
	op("peer.card", "GET", "/v1/card", identity.Inspect, Caller.PeerCard,
		"Give the card of this site, for peer.add at another; with a context also to those who may send messages there."),
	op("saga.apply", "POST", "/v1/contexts/{context}/sagas", identity.Create, Caller.ApplySaga,
		"Store a saga (its fields, or its text in {\"text\": ...}) as the newest version of its name, and have it served.").byHand(),
	op("saga.list", "GET", "/v1/contexts/{context}/sagas", identity.Read, Caller.ListSagas,
		"List sagas by name, each with its newest version.").much(),
	op("saga.show", "GET", "/v1/contexts/{context}/sagas/{saga}", identity.Read, Caller.ShowSaga,
		"Show a version of a saga."),
	op("saga.versions", "GET", "/v1/contexts/{context}/sagas/{saga}/versions", identity.Read, Caller.SagaVersions,
		"List the versions of a saga, newest first."),
	op("saga.diff", "GET", "/v1/contexts/{context}/sagas/{saga}/diff", identity.Read, Caller.DiffSaga,
		"Say what differs between two versions of a saga."),
	op("saga.schema", "GET", "/v1/schemas/saga", identity.Know, Caller.SagaSchema,
		"Give the JSON Schema of a saga's file, for editors."),
	op("saga.delete", "DELETE", "/v1/contexts/{context}/sagas/{saga}", identity.Delete, Caller.DeleteSaga,
		"Delete a saga with all its versions and instances; while some have not ended only by force.").byHand(),
	op("saga.instances", "GET", "/v1/contexts/{context}/sagas/{saga}/instances", identity.Read, Caller.ListInstances,
		"List instances of a saga page by page, those for which a Rhai condition holds, without their steps.").much(),
	op("saga.instance", "GET", "/v1/contexts/{context}/sagas/{saga}/instances/{correlation}", identity.Read, Caller.ShowInstance,
		"Show an instance of a saga."),
	op("saga.history", "GET", "/v1/contexts/{context}/sagas/{saga}/instances/{correlation}/history", identity.Read, Caller.SagaHistory,
		"Read what an instance went through, or follow it until it has ended.").streams(Caller.FollowHistory).much(),
	op("saga.explain", "GET", "/v1/contexts/{context}/sagas/{saga}/instances/{correlation}/explain", identity.Read, Caller.ExplainInstance,
		"Say what an instance waits for, who serves it, and what will wake it."),
	op("saga.pause", "POST", "/v1/contexts/{context}/sagas/{saga}/pause", identity.Cancel, Caller.PauseSaga,
		"Let an instance keep its events, or a saga take none.").byHand(),
	op("saga.resume", "POST", "/v1/contexts/{context}/sagas/{saga}/resume", identity.Start, Caller.ResumeSaga,
		"Let an instance or a saga go on that was paused.").byHand(),
	op("saga.lag", "GET", "/v1/contexts/{context}/sagas/{saga}/lag", identity.Read, Caller.SagaLag,
		"Say who serves the partitions of a saga, how far they have come, and what waits to be sent."),
	op("saga.migrate", "POST", "/v1/contexts/{context}/sagas/{saga}/migrate", identity.Audit, Caller.MigrateSaga,
		"Say what would come of bringing instances to another version of their saga; with apply, do it.").byHand(),
	op("saga.replay", "POST", "/v1/contexts/{context}/sagas/{saga}/replay", identity.Audit, Caller.ReplaySaga,
		"Compute instances again from the streams and say in what they differ; with apply, write that.").byHand(),
	op("saga.rewind", "POST", "/v1/contexts/{context}/sagas/{saga}/rewind", identity.Audit, Caller.RewindSaga,
		"Have a saga read a stream again from behind a sequence on: what it asks for may be done twice.").byHand(),
	op("effect.list", "GET", "/v1/contexts/{context}/effects", identity.Read, Caller.ListEffects,
		"List the effects of this node that a context may use, and how they do."),
	op("effect.show", "GET", "/v1/contexts/{context}/effects/{effect}", identity.Read, Caller.ShowEffect,
		"Show one effect."),
	op("effect.test", "POST", "/v1/contexts/{context}/effects/{effect}/test", identity.Start, Caller.TestEffect,
		"Look whether an effect's target can be reached; with call, do the effect once for real.").byHand().waits(),
	op("effect.pause", "POST", "/v1/contexts/{context}/effects/{effect}/pause", identity.Cancel, Caller.PauseEffect,
		"Let a context's commands for an effect, or for all on a target, wait.").byHand(),
	op("effect.resume", "POST", "/v1/contexts/{context}/effects/{effect}/resume", identity.Start, Caller.ResumeEffect,
		"Let commands go on that were paused.").byHand(),
	op("deadletter.list", "GET", "/v1/contexts/{context}/deadletters", identity.Read, Caller.ListDeadLetters,
		"List dead letters page by page, without what they were.").much(),
	op("deadletter.show", "GET", "/v1/contexts/{context}/deadletters/{kind}/{id}", identity.Read, Caller.ShowDeadLetter,
		"Show a dead letter with what it was."),
	op("deadletter.replay", "POST", "/v1/contexts/{context}/deadletters/replay", identity.Retry, Caller.ReplayLetters,
		"Give a dead letter another chance, or all that a filter fits; with count_only, say how many.").byHand(),
	op("deadletter.drop", "POST", "/v1/contexts/{context}/deadletters/drop", identity.Delete, Caller.DropLetters,
		"Forget a dead letter, or all that a filter fits; with count_only, say how many.").byHand(),
	op("event.publish", "POST", "/v1/contexts/{context}/events", identity.Create, Caller.PublishEvents,
		"Store one event of an aggregate or for an instance (its fields in the body), or many ({\"events\": [...]})."),
	op("audit.log", "GET", "/v1/contexts/{context}/audit", identity.Review, Caller.AuditLog,
		"Read what was done by hand in a context, and what was denied, newest first.").much(),
	op("audit.log_all", "GET", "/v1/audit", identity.Inspect, Caller.NodeAuditLog,
		"Read the same of what concerns no context: actors, contexts, refused tokens.").much(),
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

// Admit asks for the right that an operation takes in any case, for a door that
// wants to know before it reads what is sent. The operation asks for itself all
// the same. tenant is the context that the parameters name.
//
// Errors: those of [identity.Access.Check].
func (c Caller) Admit(ctx context.Context, o *Operation, tenant domain.TenantID) error {
	switch {
	case o.Right == identity.Inspect: // another right may do, and nothing is sent
		return nil
	case o.Right.OnNode():
		tenant = 0
	}
	_, err := c.api.parts.Access.CheckIn(ctx, identity.Ask{Actor: c.who.Actor, Verb: o.Right, Tenant: tenant, Object: o.Group(),
		Act: wordOf(o.Name, o.Right), Scope: c.who.Scope, Group: o.Group()})
	return err
}

// op makes a row.
func op[P, R any](name, method, path string, right identity.Verb, call func(Caller, context.Context, P) (R, error), summary string) Operation {
	var zero R
	return Operation{
		Name: name, Method: method, Path: path, Right: right, Summary: summary, Result: zero,
		NewParams: func() any { return new(P) },
		Call: func(ctx context.Context, c Caller, params any) (any, error) {
			c.group, c.word = groupOf(name), wordOf(name, right)
			return call(c, ctx, *params.(*P))
		},
	}
}

// Group is the group of operations that a row belongs to: the noun of its name,
// by which tokens are narrowed.
func (o *Operation) Group() string { return groupOf(o.Name) }

func groupOf(name string) string {
	noun, _, _ := strings.Cut(name, ".")
	return noun
}

// Groups of what is no operation: the node's metrics, and what the Redis door has
// beside the nouns: keys of the callers' own, and channels.
const (
	GroupMetrics = "metrics"
	GroupKey     = "key"
	GroupChannel = "channel"
)

// Groups are all that a token can be narrowed to, in the order of the alphabet.
func Groups() []string {
	groups := []string{GroupMetrics, GroupKey, GroupChannel}
	for i := range Operations {
		groups = append(groups, Operations[i].Group())
	}
	slices.Sort(groups)
	return slices.Compact(groups)
}

// wordOf is the verb of an operation's name, which the audit log has for it whether
// it was done or denied. What only reads is denied as that: lists, shows and
// watches of one stranger are one line.
func wordOf(name string, right identity.Verb) string {
	if right.Reads() {
		return ""
	}
	_, verb, _ := strings.Cut(name, ".")
	return verb
}

// byHand lets the audit log say who did it, to what, wherever it came to
// something: what a person decides, past what the nodes do by themselves.
func (o Operation) byHand() Operation {
	verb, call := wordOf(o.Name, o.Right), o.Call
	o.Call = func(ctx context.Context, c Caller, params any) (any, error) {
		var first identity.Ask
		c.first = &first
		result, err := call(ctx, c, params)
		if err == nil {
			c.api.parts.Audit.Record(domain.AuditEntry{Actor: c.who.Actor, Verb: verb, Object: first.Object, Context: first.Tenant,
				Outcome: domain.AuditDone, Detail: detailOf(params)})
		}
		return result, err
	}
	return o
}

// detailed are parameters that the audit log says more of.
type detailed interface{ auditDetail() string }

func detailOf(params any) string {
	if d, ok := params.(detailed); ok {
		return d.auditDetail()
	}
	return ""
}

func (o Operation) much() Operation  { o.Much = true; return o }
func (o Operation) waits() Operation { o.Waits = true; return o }

// streams adds the way to follow, which has the same parameters. A right that is
// taken away meanwhile ends the stream, too.
func (o Operation) streams(stream func(Caller, context.Context, any, func(Event) error) error) Operation {
	group := o.Group()
	o.Stream = func(ctx context.Context, c Caller, params any, emit func(Event) error) error {
		var first identity.Ask
		c.first, c.group = &first, group
		return stream(c, ctx, params, func(e Event) error {
			if _, err := c.api.parts.Access.CheckIn(ctx, first); err != nil {
				return err
			}
			return emit(e)
		})
	}
	return o
}
