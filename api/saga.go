package api

import (
	"encoding/json"
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// The operations on sagas.
var (
	SagaApply = op[SagaApplied](Operation{
		Name: "saga.apply", Method: "POST", Path: "/v1/contexts/{context}/sagas", Right: domain.VerbCreate, ByHand: true, Holds: "saga.show",
		Summary: "Store a saga (its fields, or its text in {\"text\": ...}) as the newest version of its name, and have it served.",
	}, ApplySagaParams{Context: 7, File: "order.yaml", Text: exampleSaga})
	SagaCheck = op[SagaChecked](Operation{
		Name: "saga.check", Method: "POST", Path: "/v1/contexts/{context}/sagas/check", Right: domain.VerbRead,
		Summary: "Say what may not be meant in a saga, and which of its effects no node has, and store nothing.",
	}, ApplySagaParams{Context: 7, File: "order.yaml", Text: exampleSaga})
	SagaList = op[SagaPage](Operation{
		Name: "saga.list", Method: "GET", Path: "/v1/contexts/{context}/sagas", Right: domain.VerbRead, Much: true,
		Summary: "List sagas by name, each with its newest version.",
	}, ListSagasParams{Context: 7})
	SagaShow = op[domain.StoredSaga](Operation{
		Name: "saga.show", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}", Right: domain.VerbRead,
		Summary: "Show a version of a saga.",
	}, SagaParams{Context: 7, Name: "order"})
	SagaVersions = op[SagaPage](Operation{
		Name: "saga.versions", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/versions", Right: domain.VerbRead, Much: true,
		Summary: "List the versions of a saga, newest first.",
	}, SagaVersionsParams{Context: 7, Name: "order"})
	SagaDiff = op[SagaChanges](Operation{
		Name: "saga.diff", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/diff", Right: domain.VerbRead,
		Summary: "Say what differs between two versions of a saga.",
	}, DiffSagaParams{Context: 7, Name: "order", From: 1, To: 2})
	SagaSchema = op[json.RawMessage](Operation{
		Name: "saga.schema", Method: "GET", Path: "/v1/schemas/saga", Right: domain.VerbKnow,
		Summary: "Give the JSON Schema of a saga's file, for editors.",
	}, SagaSchemaParams{})
	SagaDelete = op[domain.SagaDeleted](Operation{
		Name: "saga.delete", Method: "DELETE", Path: "/v1/contexts/{context}/sagas/{saga}", Right: domain.VerbDelete, ByHand: true, Holds: "saga.show",
		Summary: "Delete a saga with all its versions and instances; while some have not ended only by force.",
	}, DeleteSagaParams{Context: 7, Name: "order"})
	SagaInstances = op[InstancePage](Operation{
		Name: "saga.instances", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/instances", Right: domain.VerbRead, Much: true,
		Summary: "List instances of a saga page by page, those for which a Rhai condition holds, without their steps.",
	}, ListInstancesParams{Context: 7, Name: "order", InstanceFilter: InstanceFilter{Where: "state == \"Paying\""}})
	SagaInstance = op[*domain.SagaInstance](Operation{
		Name: "saga.instance", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/instances/{correlation}", Right: domain.VerbRead,
		Summary: "Show an instance of a saga.",
	}, InstanceParams{Context: 7, Name: "order", Correlation: "order-17"})
	SagaHistory = op[HistoryPage](Operation{
		Name: "saga.history", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/instances/{correlation}/history", Right: domain.VerbRead,
		Follows: []string{EventHistory, EventEnd}, Much: true,
		Summary: "Read what an instance went through, or follow it until it has ended.",
	}, HistoryParams{InstanceParams: InstanceParams{Context: 7, Name: "order", Correlation: "order-17"}})
	SagaExplain = op[domain.SagaExplanation](Operation{
		Name: "saga.explain", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/instances/{correlation}/explain", Right: domain.VerbRead,
		Summary: "Say what an instance waits for, who serves it, and what will wake it.",
	}, InstanceParams{Context: 7, Name: "order", Correlation: "order-17"})
	SagaPause = op[SagaDone](Operation{
		Name: "saga.pause", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/pause", Right: domain.VerbCancel, ByHand: true,
		Summary: "Let an instance keep its events, or a saga take none.",
	}, SteerSagaParams{Context: 7, Name: "order", Correlation: "order-17"})
	SagaResume = op[SagaDone](Operation{
		Name: "saga.resume", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/resume", Right: domain.VerbStart, ByHand: true,
		Summary: "Let an instance or a saga go on that was paused.",
	}, SteerSagaParams{Context: 7, Name: "order", Correlation: "order-17"})
	SagaLag = op[SagaLags](Operation{
		Name: "saga.lag", Method: "GET", Path: "/v1/contexts/{context}/sagas/{saga}/lag", Right: domain.VerbRead,
		Summary: "Say who serves the partitions of a saga, how far they have come, and what waits to be sent.",
	}, NameSagaParams{Context: 7, Name: "order"})
	SagaMigrate = op[*domain.SagaMigrated](Operation{
		Name: "saga.migrate", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/migrate", Right: domain.VerbAudit, ByHand: true,
		Summary: "Say what would come of bringing instances to another version of their saga; with apply, do it.",
	}, MigrateSagaParams{Context: 7, Name: "order", To: 2})
	SagaReplay = op[*domain.SagaRebuilt](Operation{
		Name: "saga.replay", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/replay", Right: domain.VerbAudit, ByHand: true,
		Summary: "Compute instances again from the streams and say in what they differ; with apply, write that.",
		Errors:  []error{domain.ErrLimit},
	}, ReplaySagaParams{Context: 7, Name: "order", Correlation: "order-17"})
	SagaRewind = op[SagaDone](Operation{
		Name: "saga.rewind", Method: "POST", Path: "/v1/contexts/{context}/sagas/{saga}/rewind", Right: domain.VerbAudit, ByHand: true,
		Summary: "Have a saga read a stream again from behind a sequence on: what it asks for may be done twice.",
	}, RewindSagaParams{Context: 7, Name: "order", Stream: domain.AggregateEvents, After: 120})
)

// SagaApplied answers an apply.
type SagaApplied struct {
	domain.DocumentEntry
	// Existing is true when the newest had that content: nothing was done.
	Existing bool `json:"existing,omitzero"`
	// Warnings are what is not wrong but may not be meant: effects that no node
	// has, what can have no effect.
	Warnings domain.List[domain.Fault] `json:"warnings,omitzero"`
}

// SagaChecked answers a check of what is right.
type SagaChecked struct {
	Name string `json:"name"`
	// Warnings are what is not wrong but may not be meant, and Effects those that no node has.
	Warnings domain.List[domain.Fault] `json:"warnings,omitzero"`
	Effects  domain.List[domain.Fault] `json:"effects,omitzero"`
}

// SagaPage is a page of sagas by their names, or of one's versions, newest first.
type SagaPage struct {
	Sagas domain.List[domain.DocumentEntry] `json:"sagas"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// SagaChanges says what makes one version of another.
type SagaChanges struct {
	From    domain.DocumentEntry               `json:"from"`
	To      domain.DocumentEntry               `json:"to"`
	Changes domain.List[domain.DocumentChange] `json:"changes"`
}

// SagaLags says how far the partitions of a saga have come.
type SagaLags struct {
	Lags domain.List[domain.SagaLag] `json:"lags"`
}

// ApplySagaParams are the parameters of saga.apply and saga.check: a text, or a definition's own fields. A
// check does not look at from.
type ApplySagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Text is YAML or JSON. File is its name, for errors.
	Text string `json:"text"`
	File string `json:"file"`
	// From is where a new saga begins to read its streams: now, start, an
	// instant, or positions as AGGREGATE_EVENTS:120, behind which it reads.
	From domain.SagaFrom `json:"from"`
	domain.SagaDefinition
}

// ListSagasParams are the parameters of saga.list.
type ListSagasParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 200. 0: that.
	Limit int `json:"-" query:"limit"`
}

// SagaParams name a version of a saga.
type SagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Version 0 is the newest.
	Version int `json:"-" query:"version"`
}

// SagaVersionsParams are the parameters of saga.versions.
type SagaVersionsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	Cursor  string          `json:"-" query:"cursor"`
	Limit   int             `json:"-" query:"limit"` // up to 200; 0: that
}

// DiffSagaParams are the parameters of saga.diff.
type DiffSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// To 0 is the newest version, From 0 the one before To.
	From int `json:"-" query:"from"`
	To   int `json:"-" query:"to"`
}

// SagaSchemaParams are the parameters of saga.schema: none.
type SagaSchemaParams struct{}

// DeleteSagaParams are the parameters of saga.delete.
type DeleteSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Force deletes instances too that have not ended.
	Force bool `json:"-" query:"force"`
}

func (p *DeleteSagaParams) AuditDetail() string {
	if p.Force {
		return "with instances that had not ended"
	}
	return ""
}

// NameSagaParams name a saga.
type NameSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
}

// ReplaySagaParams are the parameters of saga.replay.
type ReplaySagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Correlation names an instance; "" is all of them.
	Correlation string `json:"correlation_id"`
	// Definition is the version to compute with. 0: that to which each is pinned.
	Definition int `json:"definition"`
	// Apply writes what came out; else it is only said in what it differs.
	Apply bool `json:"apply"`
}

func (p *ReplaySagaParams) AuditDetail() string {
	if p.Apply {
		return "applied " + p.Correlation
	}
	return "dry run " + p.Correlation
}

// RewindSagaParams are the parameters of saga.rewind.
type RewindSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Stream is AGGREGATE_EVENTS, WORKFLOW_COMMANDS or WORKFLOW_EVENTS.
	Stream domain.StreamName `json:"stream"`
	// After is the sequence behind which the saga reads on.
	After uint64 `json:"after"`
}

func (p *RewindSagaParams) AuditDetail() string {
	return fmt.Sprintf("%s behind %d", p.Stream, p.After)
}

// MigrateSagaParams are the parameters of saga.migrate.
type MigrateSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Correlation names an instance; "" is all that have not ended.
	Correlation string `json:"correlation_id"`
	// From are instances of one version only; 0 is any. To is the version that
	// they are brought to; 0 is the newest.
	From int `json:"from"`
	To   int `json:"to"`
	// Apply does it; else it is only said what would come of it.
	Apply bool `json:"apply"`
	// Limit is about how many instances one call looks at, up to 500; 0: that.
	// Cursor is the next of the answer before.
	Limit  int    `json:"limit"`
	Cursor string `json:"cursor"`
}

func (p *MigrateSagaParams) AuditDetail() string {
	how := "dry run"
	if p.Apply {
		how = "applied"
	}
	return fmt.Sprintf("%s, to version %d %s", how, p.To, p.Correlation)
}

// exampleSaga ends when what is ordered is shipped.
const exampleSaga = `name: order
triggers: [{of: Order, types: [Placed, Shipped]}]
correlation: event.aggregate_id
initial: new
states:
  new: {on: {Placed: handle, Shipped: handle, "*": ignore}}
  shipped: {final: true}
script: |
  fn on_event(state, event) {
    if event.type == "Shipped" { return #{next: "shipped"} }
    #{state: #{total: event.payload.total}}
  }
`
