package api

import "github.com/ramet-run/ramet/domain"

// The operations of the auditor, which looks for work that is stuck, and of audit logs,
// which say who did what.
var (
	AuditRun = op[AuditReport](Operation{
		Name: "audit.run", Method: "POST", Path: "/v1/contexts/{context}/audit", Right: domain.VerbAudit, ByHand: true,
		Summary: "Look for unfinished jobs that nothing would ever move, and repair what there is a rule for.",
	}, AuditParams{Context: 7, All: true})
	AuditLog = op[AuditLines](Operation{
		Name: "audit.log", Method: "GET", Path: "/v1/contexts/{context}/audit", Right: domain.VerbReview, Much: true,
		Summary: "Read what was done by hand in a context, and what was denied, newest first.",
	}, AuditLogParams{Context: 7, AuditLogFilter: AuditLogFilter{Outcome: domain.AuditDenied}})
	AuditLogAll = op[AuditLines](Operation{
		Name: "audit.log_all", Method: "GET", Path: "/v1/audit", Right: domain.VerbInspect, Much: true,
		Summary: "Read the same of what concerns no context: actors, contexts, refused tokens.",
	}, NodeAuditLogParams{AuditLogFilter: AuditLogFilter{Actor: 12}})
)

// AuditParams are the parameters of audit.run.
type AuditParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// All looks at all jobs, flows and sagas, however long that takes. Default: at the oldest,
	// for about a second.
	All bool `json:"-" query:"all"`
}

// AuditLogParams are the parameters of audit.log.
type AuditLogParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	AuditLogFilter
}

// NodeAuditLogParams are the parameters of audit.log_all.
type NodeAuditLogParams struct {
	AuditLogFilter
}

// AuditLogFilter says which lines of an audit log are wanted.
type AuditLogFilter struct {
	// Outcome is done, refused, or denied, which takes what was refused too.
	// Default: all.
	Outcome domain.AuditOutcome `json:"-" query:"outcome"`
	// Actor takes only lines of that actor.
	Actor domain.ActorID `json:"-" query:"actor"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many lines, up to 1000. Default: 100.
	Limit int `json:"-" query:"limit"`
}

// AuditReport is what an audit by hand found, by context.
type AuditReport struct {
	Context domain.TenantID `json:"context"`
	domain.Audit
}

// AuditLines is a page of an audit log, newest first.
type AuditLines struct {
	Entries domain.List[domain.AuditEntry] `json:"entries"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}
