package api

import (
	"bytes"
	"encoding/json"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
	"github.com/ramet-run/ramet/work"
)

// This file has the shapes that go over the wire, the same at every door.

// JobSubmit asks for jobs of one context to be submitted.
//
//	POST /v1/contexts/{context}/jobs
type JobSubmit struct {
	// Jobs have the seeds' fields; "depends" is accepted for "dependends". id 0
	// asks for the next free one; caller_id may be left out.
	Jobs []JobInput `json:"jobs"`
}

// JobInput is a job as callers write it.
type JobInput struct {
	domain.Job
	// Depends is accepted for Dependends.
	Depends []domain.JobID `json:"depends,omitzero"`
}

// MarshalJSON writes both: the method of the job in it would leave Depends out.
func (in JobInput) MarshalJSON() ([]byte, error) {
	b, err := in.Job.MarshalJSON()
	if err != nil || in.Depends == nil {
		return b, err
	}
	ids, err := json.Marshal(in.Depends)
	b = append(bytes.TrimSuffix(bytes.TrimSpace(b), []byte("}")), `,"depends":`...)
	return append(append(b, ids...), '}'), err
}

// JobSubmitted answers for each job in order.
type JobSubmitted struct {
	Jobs []Submitted `json:"jobs"`
	// Durability is what the acknowledged jobs survive: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// Submitted is the answer for one job: its key, or why it was refused.
type Submitted struct {
	Key      string   `json:"key,omitzero"` // job:<caller>:<id>
	Existing bool     `json:"existing,omitzero"`
	Error    *Problem `json:"error,omitzero"`
}

// Problem is an error as people and programs see it (RFC 9457).
type Problem struct {
	Type      string `json:"type,omitzero"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Code      string `json:"code"` // not_found conflict invalid forbidden unauthenticated unavailable exhausted limit internal
	RequestID string `json:"request_id,omitzero"`
	// Faults are all that is wrong with a document, a blueprint, with its lines.
	Faults []domain.Fault `json:"faults,omitzero"`
}

// JobList is a page of jobs. Scripts, environment and results are left out: a
// page of large ones would be hundreds of megabytes.
//
//	GET /v1/contexts/{context}/jobs?status=&type=&caller=&cursor=
type JobList struct {
	Jobs []*domain.Job `json:"jobs"`
	// Next is the cursor of the next page; "" is the end. A page may be empty
	// while more is to come.
	Next string `json:"next,omitzero"`
}

// JobLogs is a part of a job's log.
//
//	GET /v1/contexts/{context}/jobs/{caller}/{id}/logs?from=&limit=
//	with Accept: text/event-stream it follows: events "log" (domain.Log, with
//	id = line number), then "end" (domain.Job).
type JobLogs struct {
	From int          `json:"from"`
	Logs []domain.Log `json:"logs"`
}

// Other job operations; {job} is contexts/{context}/jobs/{caller}/{id}:
//
//	GET  /v1/{job}            domain.Job
//	GET  /v1/{job}/wait       domain.Job, once it has ended, or as it stands after ?timeout_ms= (default 60,000);
//	                          as a stream without a limit: events "job", then "end" (domain.Job)
//	POST /v1/{job}/cancel     domain.Job
//	POST /v1/{job}/retry      domain.Job
//	GET  /v1/{job}/explain    Explanation

// ArchiveList is a page of what has ended, newest end first.
//
//	GET /v1/contexts/{context}/archive?kind=&status=&reason=&type=&blueprint=&trigger=&caller=&from_ms=&to_ms=&text=&cursor=&limit=
//	GET /v1/contexts/{context}/archive/export?... the same, with whole records
type ArchiveList struct {
	Records []ArchiveRecord `json:"records"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// ArchiveRecord is one end of one thing.
//
//	GET /v1/contexts/{context}/archive/{key}?end_ms=
type ArchiveRecord struct {
	Kind       archive.Kind      `json:"kind"` // job, flow, message
	Key        string            `json:"key"`
	EndMs      int64             `json:"end_ms"`
	BeginMs    int64             `json:"begin_ms"`
	Status     string            `json:"status"`
	Reason     string            `json:"reason,omitzero"`
	ScriptType domain.ScriptType `json:"script_type,omitzero"`
	Blueprint  string            `json:"blueprint,omitzero"`
	Trigger    string            `json:"trigger,omitzero"`
	Caller     domain.ActorID    `json:"caller"`
	// The rest is left out of a list: the job or the message, or the body of
	// another kind, and the log.
	Job     *domain.Job     `json:"job,omitzero"`
	Message *domain.Message `json:"message,omitzero"`
	Body    json.RawMessage `json:"body,omitzero"`
	Logs    []domain.Log    `json:"logs,omitzero"`
}

// PrerequisiteMeet marks a prerequisite as met.
//
//	POST /v1/contexts/{context}/prerequisites/meet
type PrerequisiteMeet struct {
	Name string `json:"name"`
}

// ContextList lists the contexts that the caller may read.
//
//	GET  /v1/contexts             ContextList
//	POST /v1/contexts             domain.Tenant -> domain.Tenant (id 0: the next free)
//	GET  /v1/contexts/{context}   domain.Tenant
//	POST /v1/contexts/{context}/grant, .../revoke   GrantParams -> GrantedContext
//	POST /v1/contexts/{context}/update              domain.TenantChange -> domain.Tenant
type ContextList struct {
	Contexts []domain.Tenant `json:"contexts"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// ActorList lists actors.
//
//	GET  /v1/actors          ActorList
//	POST /v1/actors          domain.Actor -> domain.Actor (id 0: the next free)
//	GET  /v1/actors/{actor}  domain.Actor
//	POST /v1/actors/{actor}/update   domain.ActorChange -> domain.Actor
type ActorList struct {
	Actors []domain.Actor `json:"actors"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// RunnerList lists runners, of the nodes and of one context's own.
//
//	GET /v1/runners?context=
//	GET /v1/runners/{runner}?context=   domain.Runner
type RunnerList struct {
	Runners []domain.Runner `json:"runners"`
}

// NodeList lists the nodes of a board, by name.
//
//	GET /v1/nodes           NodeList
//	GET /v1/nodes/{node}    domain.Node
type NodeList struct {
	Nodes []domain.Node `json:"nodes"`
}

// AuditReport is what an audit by hand found, by context.
//
//	POST /v1/contexts/{context}/audit
type AuditReport struct {
	Context domain.TenantID `json:"context"`
	work.Audit
}

// AuditLines is a page of an audit log, newest first.
//
//	GET /v1/contexts/{context}/audit?outcome=&actor=&cursor=&limit=
//	GET /v1/audit?... the same, for what concerns no context
type AuditLines struct {
	Entries domain.List[domain.AuditEntry] `json:"entries"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// Info says what node this is.
//
//	GET  /info
//	POST /admin/drain    NodeDraining
//	POST /admin/discard  DiscardParams      -> ValueDiscarded
//	POST /admin/reload   NodeReloaded
type Info struct {
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	RunnerID   domain.RunnerID `json:"runner_id"`
	Board      string          `json:"board"`      // embedded, redis, memory
	Durability string          `json:"durability"` // of acknowledged writes
	Archive    string          `json:"archive"`    // sqlite, postgres, none
	// ArchiveDurability is what archived records survive; "" where there is no
	// archive, memory while its server has never been reached.
	ArchiveDurability string `json:"archive_durability,omitzero"`
	// ArchiveError is why the archive cannot be reached now.
	ArchiveError string `json:"archive_error,omitzero"`
	Ready        bool   `json:"ready"`
	// Roles are those that the node plays.
	Roles []domain.Role `json:"roles,omitzero"`
	// Off are the roles that rules of duty have taken from the node.
	Off       []domain.Off `json:"off,omitzero"`
	StartedMs int64        `json:"started_ms"`

	// Stream is where events are: nats, memory; "" where the node has no
	// streams. StreamDurability is what published events survive, Streams are
	// their names.
	Stream string `json:"stream,omitzero"`
	// StreamError is why the streams, or some of them, take nothing now.
	StreamError      string        `json:"stream_error,omitzero"`
	StreamDurability string        `json:"stream_durability,omitzero"`
	Streams          []stream.Name `json:"streams,omitzero"`
	// The rest is told to callers who may know: sagas to those who have a role
	// in their context, all else to the operator.
	//
	// Sagas are the partitions that the node holds, "<context>:<saga>:<partition>/<of>",
	// Effects those that it does, Consumers the durable consumers by which it
	// reads streams.
	Sagas     []string `json:"sagas,omitzero"`
	Effects   []string `json:"effects,omitzero"`
	Consumers []string `json:"consumers,omitzero"`
	// Locked are the encrypted contexts whose key this node does not have: it
	// does not serve them.
	Locked []domain.Locked `json:"locked,omitzero"`
	// Links are those that it makes to the NATS servers of other sites.
	Links []Link `json:"links,omitzero"`
	// Unreadable are the first values in the board's store that cannot be read,
	// by the names that they have there.
	Unreadable []string `json:"unreadable,omitzero"`
	// Loss is when the board may last have lost what it had acknowledged.
	Loss *Loss `json:"loss,omitzero"`
	// Evictions are sentences about what the board's store has thrown away, or would.
	Evictions []string `json:"evictions,omitzero"`
	// LateAlarm is what has come due longest ago on the board and is not done.
	LateAlarm *LateAlarm `json:"late_alarm,omitzero"`
}

// Loss says that a board may have lost what it had acknowledged.
type Loss struct {
	Epoch int64  `json:"epoch"` // how often it may have
	AtMs  int64  `json:"at_ms"`
	Cause string `json:"cause"`
}

// Link is a link to another site.
type Link struct {
	Host string `json:"host"`
	// To is the peer's name, or the key of its node that listens there; "" where
	// the link says neither.
	To string `json:"to,omitzero"`
	Up bool   `json:"up"`
}

// LateAlarm is an alarm that has come and was not handled yet.
type LateAlarm struct {
	Context domain.TenantID `json:"context"`
	Name    string          `json:"name"`
	LateMs  int64           `json:"late_ms"`
}

// Explanation answers what an unfinished job waits for.
type Explanation = work.Explanation
