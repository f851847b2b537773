package api

import (
	"strconv"

	"github.com/ramet-run/ramet/domain"
)

// The operations on contexts.
var (
	ContextCreate = op[CreatedContext](Operation{
		Name: "context.create", Method: "POST", Path: "/v1/contexts", Right: domain.VerbAdministrate, Keyed: true,
		Summary: "Make a context.",
	}, CreateContextParams{Tenant: domain.Tenant{Admins: []domain.ActorID{10}}})
	ContextList = op[ContextPage](Operation{
		Name: "context.list", Method: "GET", Path: "/v1/contexts", Right: domain.VerbKnow, Much: true,
		Summary: "List the contexts in which the caller has a role.",
	}, ListContextsParams{Limit: 100})
	ContextShow = op[ShownContext](Operation{
		Name: "context.show", Method: "GET", Path: "/v1/contexts/{context}", Right: domain.VerbRead,
		Summary: "Show a context with its lists.",
	}, ContextParams{Context: 7})
	ContextGrant = op[GrantedContext](Operation{
		Name: "context.grant", Method: "POST", Path: "/v1/contexts/{context}/grant", Right: domain.VerbGrant, Holds: "context.show",
		Summary: "Give an actor a role in a context: admin, executor or reader.",
	}, GrantParams{Context: 7, Actor: 20, Role: domain.Executor})
	ContextRevoke = op[GrantedContext](Operation{
		Name: "context.revoke", Method: "POST", Path: "/v1/contexts/{context}/revoke", Right: domain.VerbGrant, Holds: "context.show",
		Summary: "Take a role from an actor, or all it has; every node acts by it within a second.",
	}, GrantParams{Context: 7, Actor: 20, Role: domain.Executor})
	ContextUpdate = op[domain.Tenant](Operation{
		Name: "context.update", Method: "POST", Path: "/v1/contexts/{context}/update", Right: domain.VerbGrant, Holds: "context.show",
		Summary: "Change a context's weight and caps, and whether its executors may submit.",
	}, UpdateContextParams{Context: 7, TenantChange: domain.TenantChange{Weight: new(2)}})
	ContextEncrypt = op[domain.Encryption](Operation{
		Name: "context.encrypt", Method: "POST", Path: "/v1/contexts/{context}/encrypt", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Encrypt a context's scripts, variables, results, logs and checkpoints where they lie, with a key of its own.",
	}, EncryptParams{Context: 7, Key: "tenant7"})
	ContextRekey = op[domain.Encryption](Operation{
		Name: "context.rekey", Method: "POST", Path: "/v1/contexts/{context}/rekey", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "Give an encrypted context a new key; what lies on the board is written anew with it.",
	}, ContextParams{Context: 7})
	ContextDecrypt = op[domain.Encryption](Operation{
		Name: "context.decrypt", Method: "POST", Path: "/v1/contexts/{context}/decrypt", Right: domain.VerbAdministrate, ByHand: true,
		Summary: "End the encryption of a context; what lies on the board is written anew in plain.",
	}, ContextParams{Context: 7})
)

// CreateContextParams are the parameters of context.create: the context's fields. Id 0
// is the next free one; its times are the board's.
type CreateContextParams struct {
	domain.Tenant
}

// CreatedContext is the answer to context.create.
type CreatedContext struct {
	domain.Tenant
	// Existing is true when the same context was there already.
	Existing bool `json:"existing"`
}

// GrantParams are the parameters of context.grant and context.revoke.
type GrantParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Actor   domain.ActorID  `json:"actor"`
	// Role is admin, executor or reader; to revoke, "" is all of them.
	Role domain.ContextRole `json:"role,omitzero"`
}

// GrantedContext is the answer: the context as it is now.
type GrantedContext struct {
	domain.Tenant
	// Changed is false when it was so already.
	Changed bool `json:"changed"`
}

// UpdateContextParams are the parameters of context.update: what is to be changed.
type UpdateContextParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	domain.TenantChange
}

// ContextParams name a context.
type ContextParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// ListContextsParams are the parameters of context.list.
type ListContextsParams struct {
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 10,000. 0: that.
	Limit int `json:"-" query:"limit"`
}

// ShownContext is the answer to context.show.
type ShownContext struct {
	domain.Tenant
	// Encryption is how its payloads lie on disk; left out where they were always
	// plain.
	Encryption *domain.Encryption `json:"encryption,omitzero"`
}

// EncryptParams are the parameters of context.encrypt.
type EncryptParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Key is the name of a secret in the config files of the nodes: 32 random
	// bytes in base64 or hex.
	Key string `json:"key"`
}

func (p EncryptParams) AuditDetail() string { return "key " + strconv.Quote(p.Key) }

// ContextPage lists the contexts that the caller may read.
type ContextPage struct {
	Contexts []domain.Tenant `json:"contexts"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}
