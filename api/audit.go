package api

import "github.com/ramet-run/ramet/domain"

// The operations of the auditor, which looks for work that is stuck, and of audit logs,
// which say who did what.
var (
	AuditRun = op[AuditReport](Operation{
		Name: "audit.run", Method: "POST", Path: "/v1/contexts/{context}/audit", Right: domain.VerbAudit, ByHand: true,
		Summary: "Look for unfinished jobs that nothing would ever move, and repair what there is a rule for.",
	}, AuditParams{Context: 7, All: true})
	AuditLook = op[AuditReport](Operation{
		Name: "audit.look", Method: "GET", Path: "/v1/contexts/{context}/audit/look", Right: domain.VerbRead,
		Summary: "Look for what an audit would call stuck or waiting for who is not there, and repair nothing.",
	}, LookParams{Context: 7})
	AuditLog = op[AuditLines](Operation{
		Name: "audit.log", Method: "GET", Path: "/v1/contexts/{context}/audit", Right: domain.VerbReview, Much: true,
		Summary: "Read what was done by hand in a context, and what was denied, newest first.",
	}, AuditLogParams{Context: 7, AuditLogFilter: AuditLogFilter{Outcome: domain.AuditDenied}})
	AuditLogAll = op[AuditLines](Operation{
		Name: "audit.log_all", Method: "GET", Path: "/v1/audit", Right: domain.VerbInspect, Much: true,
		Summary: "Read the same of what concerns no context: actors, contexts, refused tokens.",
	}, NodeAuditLogParams{AuditLogFilter: AuditLogFilter{Actor: 12}})
	AuditChain = op[AuditLinks](Operation{
		Name: "audit.chain", Method: "GET", Path: "/v1/contexts/{context}/audit/chain", Right: domain.VerbReview, Much: true,
		Summary: "Read a context's audit log as it lies on the board, oldest first, to see whether somebody has changed it.",
	}, AuditChainParams{Context: 7, AuditChainPart: AuditChainPart{Outcome: domain.AuditDone}})
	AuditChainAll = op[AuditLinks](Operation{
		Name: "audit.chain_all", Method: "GET", Path: "/v1/audit/chain", Right: domain.VerbInspect, Much: true,
		Summary: "Read the same of what concerns no context.",
	}, NodeAuditChainParams{AuditChainPart: AuditChainPart{Outcome: domain.AuditDone}})
)

// AuditParams are the parameters of audit.run.
type AuditParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// All looks at all jobs, flows and sagas, however long that takes. Default: at the oldest,
	// for about a second.
	All bool `json:"-" query:"all"`
}

// LookParams are the parameters of audit.look.
type LookParams struct {
	Context domain.TenantID `json:"-" path:"context"`
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

// AuditChainParams are the parameters of audit.chain.
type AuditChainParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	AuditChainPart
}

// NodeAuditChainParams are the parameters of audit.chain_all.
type NodeAuditChainParams struct {
	AuditChainPart
}

// AuditChainPart says which lines of a chain are wanted.
type AuditChainPart struct {
	// Outcome is done, or denied, whose chain has what was refused too. Default: done.
	Outcome domain.AuditOutcome `json:"-" query:"outcome"`
	// From is the next of the page before.
	From int64 `json:"-" query:"from"`
	// Limit is how many lines, up to 1000. Default: 1000.
	Limit int `json:"-" query:"limit"`
}

// AuditLinks are lines of an audit log, oldest first, byte for byte as they lie there.
type AuditLinks struct {
	// Head is what the board says of the chain.
	Head  domain.AuditHead    `json:"head"`
	Lines domain.List[string] `json:"lines"`
	// Next is where the next page begins; 0 is the end.
	Next int64 `json:"next,omitzero"`
}

// AuditReport is what an audit by hand found, by context.
type AuditReport struct {
	Context domain.TenantID `json:"context"`
	// Mends says of a look that who asked may have an audit run.
	Mends bool `json:"mends,omitzero"`
	domain.Audit
}

// AuditLines is a page of an audit log, newest first.
type AuditLines struct {
	Entries domain.List[domain.AuditEntry] `json:"entries"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}
