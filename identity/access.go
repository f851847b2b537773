package identity

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ramet-run/ramet/domain"
)

// This file is the only place that decides who may do what.

// Role is what an actor is in a context, the strongest it has there.
type Role string

// The roles, weakest first. Each may do all that those before it may.
const (
	Stranger Role = "stranger"
	Reader   Role = "reader"
	Executor Role = "executor"
	Admin    Role = "admin"
)

// Verb is what somebody wants to do.
type Verb string

// The verbs. Those of a node concern no context.
const (
	Create Verb = "create"
	Delete Verb = "delete"
	Start  Verb = "start"
	Cancel Verb = "cancel"
	Retry  Verb = "retry"
	Grant  Verb = "grant" // change the context's lists
	Audit  Verb = "audit" // look for what is stuck, and repair it
	Ban    Verb = "ban"   // hold work up, and let it go on

	Read    Verb = "read"
	ReadEnv Verb = "read_env" // the values of environment variables

	Claim     Verb = "claim"
	Extend    Verb = "extend"
	Finish    Verb = "finish"
	AppendLog Verb = "append_log"
	Pop       Verb = "pop"  // from a queue
	Meet      Verb = "meet" // mark a prerequisite as met

	// Write is making, changing and deleting the context's objects, which its
	// jobs do for their callers.
	Write Verb = "write"

	// Know is reading what concerns everybody who is registered: the node, its
	// runners, another actor's public key.
	Know Verb = "know"
	// Administrate is making actors and contexts, and listing them all: the
	// operator's, whoever else is admin somewhere.
	Administrate Verb = "administrate"
)

// Words of the audit log for what takes one of these verbs.
const (
	Revoke Verb = "revoke" // takes Grant
	Update Verb = "update"
)

// Reads reports whether a verb changes nothing.
func (v Verb) Reads() bool { return v == Read || v == ReadEnv || v == Know }

// rights is the table: the weakest role that may use a verb in a context, and
// whether executors may where the context sets executors_may_submit. Granting,
// auditing and banning stay with admins even there: an executor who may grant
// is an admin.
//
// Source: the table of part 4 of the design.
var rights = map[Verb]struct {
	from          Role
	submittersToo bool
}{
	Create: {from: Admin, submittersToo: true},
	Delete: {from: Admin, submittersToo: true},
	Start:  {from: Admin, submittersToo: true},
	Cancel: {from: Admin, submittersToo: true},
	Retry:  {from: Admin, submittersToo: true},
	Grant:  {from: Admin},
	Audit:  {from: Admin},
	Ban:    {from: Admin},

	Read:    {from: Reader},
	ReadEnv: {from: Admin}, // and an executor of a job it holds: Permit

	Claim:     {from: Executor},
	Extend:    {from: Executor},
	Finish:    {from: Executor},
	AppendLog: {from: Executor},
	Pop:       {from: Executor},
	Meet:      {from: Executor},
	Write:     {from: Executor},
}

var strength = []Role{Stranger, Reader, Executor, Admin}

// atLeast reports whether r may do what other may.
func (r Role) atLeast(other Role) bool {
	return slices.Index(strength, r) >= slices.Index(strength, other)
}

// RoleIn is the strongest role that an actor has in a context.
func RoleIn(t domain.Tenant, a domain.ActorID) Role {
	switch {
	case a == 0:
		return Stranger
	case slices.Contains(t.Admins, a):
		return Admin
	case slices.Contains(t.Executors, a):
		return Executor
	case slices.Contains(t.Readers, a):
		return Reader
	}
	return Stranger
}

// Permit decides a verb in a context. holds says that the actor has the lease
// of the job in question.
func Permit(t domain.Tenant, a domain.ActorID, verb Verb, holds bool) bool {
	right, known := rights[verb]
	if !known {
		return false
	}
	role := RoleIn(t, a)
	switch {
	case role.atLeast(right.from):
		return true
	case role == Executor && verb == ReadEnv:
		return holds
	case role == Executor:
		return right.submittersToo && t.ExecutorsMaySubmit
	}
	return false
}

// permitNode decides a verb that concerns no context. Whoever comes here is a
// registered actor, or the operator by the local socket.
func permitNode(a domain.ActorID, verb Verb) bool {
	return verb == Know && a != 0 || verb == Administrate && a == domain.Operator
}

// leaseOwner is what stands on the lease of a job that an actor claimed itself
// through a door. A node's own leases begin with its name, which has no ':'.
func leaseOwner(a domain.ActorID) string { return "actor:" + strconv.FormatUint(uint64(a), 10) }

// Holds reports whether an actor has the lease that names this owner.
func Holds(a domain.ActorID, owner string) bool {
	return owner == leaseOwner(a) || strings.HasPrefix(owner, leaseOwner(a)+"/")
}

// Ask is a question to [Access].
type Ask struct {
	Actor domain.ActorID
	Verb  Verb
	// Tenant is the context; 0 for the verbs of a node.
	Tenant domain.TenantID
	// Object is what it is about ("job:1:7"), for the audit log.
	Object string
}

// Access answers who may do what, and writes down whom it refused.
type Access struct {
	registry *Registry
	audit    Recorder
	denials  atomic.Int64
}

// NewAccess returns the access of a registry's contexts. Denials are recorded
// in audit (nowhere when nil).
func NewAccess(r *Registry, audit Recorder) *Access {
	return &Access{registry: r, audit: cmp.Or[Recorder](audit, Discard{})}
}

// Check returns nil when the actor may. Contexts are read from memory where
// they were read within the last second.
//
// Errors: [domain.ErrForbidden], the same for a context that does not exist;
// [domain.ErrUnavailable] when the board cannot be asked.
func (a *Access) Check(ctx context.Context, ask Ask) error {
	_, err := a.CheckIn(ctx, ask)
	return err
}

// CheckIn is [Access.Check] that also returns the context, for what depends on
// more than one verb.
func (a *Access) CheckIn(ctx context.Context, ask Ask) (domain.Tenant, error) {
	if ask.Tenant == 0 {
		if !permitNode(ask.Actor, ask.Verb) {
			return domain.Tenant{}, a.deny(ask)
		}
		return domain.Tenant{}, nil
	}
	t, err := a.registry.tenants.get(ctx, ask.Tenant)
	if missing(err) {
		return domain.Tenant{}, a.deny(ask)
	}
	if err != nil {
		return domain.Tenant{}, err
	}
	if !Permit(t, ask.Actor, ask.Verb, false) {
		return domain.Tenant{}, a.deny(ask)
	}
	return t, nil
}

// Sees reports whether an actor has any role in a context, without counting a
// no as a denial: for lists.
func (a *Access) Sees(ctx context.Context, actor domain.ActorID, tenant domain.TenantID) (bool, error) {
	t, err := a.registry.tenants.get(ctx, tenant)
	if missing(err) {
		return false, nil
	}
	return Permit(t, actor, Read, false), err
}

// Named is the context that an actor calls by its number or its alias. Whether
// there is one by a number is left to what is asked next; whether there is one
// by an alias is told only to who has a role in it, and to the operator.
//
// Errors: [domain.ErrForbidden], the same for an alias that no context has;
// [domain.ErrInvalid]; [domain.ErrNotFound] for the operator.
func (a *Access) Named(ctx context.Context, actor domain.ActorID, name string) (domain.TenantID, error) {
	if domain.ValidateAlias(name) != nil {
		return domain.ParseTenantID(name)
	}
	id, err := a.registry.TenantByName(ctx, name)
	if actor == domain.Operator || err != nil && !missing(err) {
		return id, err
	}
	if err == nil {
		if sees, err := a.Sees(ctx, actor, id); err != nil || sees {
			return id, err
		}
	}
	a.denials.Add(1)
	a.audit.Record(domain.AuditEntry{Actor: actor, Verb: string(Read), Object: "context:" + name, Context: id, Outcome: domain.AuditDenied})
	return 0, domain.Forbiddenf("actor %d may do nothing in context %q, or there is no such context", actor, name)
}

// missing reports whether there is no such context, or one whose lists cannot
// be read: then nobody has a right in it.
func missing(err error) bool {
	return errors.Is(err, domain.ErrNotFound) || errors.Is(err, domain.ErrInvalid)
}

// Denials is how many questions were answered with no since the start.
func (a *Access) Denials() int64 { return a.denials.Load() }

func (a *Access) deny(ask Ask) error {
	a.denials.Add(1)
	a.audit.Record(domain.AuditEntry{Actor: ask.Actor, Verb: string(ask.Verb), Object: ask.Object, Context: ask.Tenant, Outcome: domain.AuditDenied})
	if ask.Tenant == 0 {
		return domain.Forbiddenf("actor %d may not do that on this node; ask its operator", ask.Actor)
	}
	return domain.Forbiddenf("actor %d may not %s in context %d, or there is no such context", ask.Actor, phrase(ask.Verb), ask.Tenant)
}

// phrase is a verb for people.
func phrase(v Verb) string { return strings.ReplaceAll(string(v), "_", " ") }
