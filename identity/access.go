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
	Stop   Verb = "stop" // a job or a flow: cancel it, which the operator may in every context
	Retry  Verb = "retry"
	Grant  Verb = "grant" // change the context's lists
	Audit  Verb = "audit" // look for what is stuck, and repair it
	Ban    Verb = "ban"   // hold work up, and let it go on

	Read    Verb = "read"
	ReadEnv Verb = "read_env" // the values of environment variables
	Review  Verb = "review"   // the audit log
	// Take is taking a message out of one's own inbox.
	Take Verb = "take"

	Claim     Verb = "claim"
	Extend    Verb = "extend"
	Finish    Verb = "finish"
	AppendLog Verb = "append_log"
	Pop       Verb = "pop"  // from a queue
	Meet      Verb = "meet" // mark a prerequisite as met

	// Write is making, changing and deleting the context's objects, which its
	// jobs do for their callers.
	Write Verb = "write"

	// Know is reading what concerns everybody who is registered, actors of other
	// sites too: one's own record and tokens, the schemas of files, a node's name.
	Know Verb = "know"
	// Own is changing what is one's own and of no context: one's tokens.
	Own Verb = "own"
	// Inspect is reading what tells of the nodes and of everybody: metrics, nodes,
	// runners, peers, actors and their keys, bans and audit log of the board.
	// Administrate is changing that: making actors and contexts, for example. Both
	// are the operator's, whoever else is admin somewhere.
	Inspect      Verb = "inspect"
	Administrate Verb = "administrate"
)

// Words of the audit log for what takes one of these verbs.
const (
	Revoke Verb = "revoke" // takes Grant
	Update Verb = "update"
)

// Reads reports whether a verb changes nothing.
func (v Verb) Reads() bool {
	return v == Read || v == ReadEnv || v == Review || v == Know || v == Inspect
}

// OnNode reports whether a verb concerns no context.
func (v Verb) OnNode() bool { return v == Know || v == Own || v == Inspect || v == Administrate }

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
	Stop:   {from: Admin, submittersToo: true}, // and the operator: Permit
	Retry:  {from: Admin, submittersToo: true},
	Grant:  {from: Admin},
	Audit:  {from: Admin},
	Ban:    {from: Admin},

	Read:    {from: Reader},
	Take:    {from: Reader},
	ReadEnv: {from: Admin}, // and an executor of a job it holds: Permit
	Review:  {from: Admin},

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
	case verb == Stop && a == domain.Operator: // whoever holds a node's slots, it is the operator who answers for the node
		return true
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
	switch verb {
	case Know, Own:
		return a != 0
	case Inspect, Administrate:
		return a == domain.Operator
	}
	return false
}

// AnyGroup is the group of an ask that is about none: which context a caller
// selects, for example. What is asked next has one.
const AnyGroup = "*"

// within reports whether the scope of a token lets an ask through. Whoever has
// a narrowed token cannot make it wider: it never grants, never administrates,
// and looks after no tokens.
func within(s *domain.Scope, ask Ask) bool {
	switch {
	case !s.Narrow():
		return true
	case ask.Verb == Grant, ask.Verb == Administrate, ask.Verb == Own:
		return false
	case s.ReadOnly && !ask.Verb.Reads():
		return false
	case len(s.Groups) > 0 && ask.Group != AnyGroup && !slices.Contains(s.Groups, ask.Group):
		return false
	case len(s.Contexts) == 0:
		return true
	case ask.Tenant == 0:
		return ask.Verb == Know
	}
	return slices.Contains(s.Contexts, ask.Tenant)
}

// Permits is [Permit] within what was proven, for what depends on a right but is
// no operation of its own: which values of a record are shown.
func (p Proof) Permits(t domain.Tenant, verb Verb, holds bool, group string) bool {
	return within(p.Scope, Ask{Verb: verb, Tenant: t.ID, Group: group}) && Permit(t, p.Actor, verb, holds)
}

// Operates reports whether somebody is the operator as far as a verb goes, which
// is [Inspect] or [Administrate], without a no being a denial.
func (p Proof) Operates(verb Verb, group string) bool {
	return within(p.Scope, Ask{Verb: verb, Group: group}) && permitNode(p.Actor, verb)
}

// Reaches reports whether what was proven is good for a context at all, whatever
// the actor may there.
func (p Proof) Reaches(id domain.TenantID) bool {
	return p.Scope == nil || len(p.Scope.Contexts) == 0 || slices.Contains(p.Scope.Contexts, id)
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
	// Act is the word for it in the audit log, that of the line which says that it
	// was done. Default: the verb, which is the right that it takes.
	Act string
	// Scope is that of the token it is asked by; nil: it is not narrowed. Group is
	// the group of operations that it belongs to.
	Scope *domain.Scope
	Group string
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
	if !within(ask.Scope, ask) { // before anything is looked up: it says nothing of what there is
		return domain.Tenant{}, a.deny(ask)
	}
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

// Sees reports whether somebody has any role in a context, without counting a
// no as a denial: for lists.
func (a *Access) Sees(ctx context.Context, who Proof, tenant domain.TenantID) (bool, error) {
	if !who.Reaches(tenant) {
		return false, nil
	}
	t, err := a.registry.tenants.get(ctx, tenant)
	if missing(err) {
		return false, nil
	}
	return Permit(t, who.Actor, Read, false), err
}

// Named is the context that somebody calls by its number or its alias. Whether
// there is one by a number is left to what is asked next; whether there is one
// by an alias is told only to who has a role in it, and to the operator.
//
// Errors: [domain.ErrForbidden], the same for an alias that no context has;
// [domain.ErrInvalid]; [domain.ErrNotFound] for the operator.
func (a *Access) Named(ctx context.Context, who Proof, name string) (domain.TenantID, error) {
	if domain.ValidateAlias(name) != nil {
		return domain.ParseTenantID(name)
	}
	actor := who.Actor
	id, err := a.registry.TenantByName(ctx, name)
	if who.Operates(Inspect, AnyGroup) || err != nil && !missing(err) {
		return id, err
	}
	if err == nil {
		if sees, err := a.Sees(ctx, who, id); err != nil || sees {
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
	e := domain.AuditEntry{Actor: ask.Actor, Verb: cmp.Or(ask.Act, string(ask.Verb)), Object: ask.Object, Context: ask.Tenant, Outcome: domain.AuditDenied}
	if ask.Scope.Narrow() {
		e.Detail = "by a token for " + ask.Scope.String()
	}
	a.audit.Record(e)
	if !within(ask.Scope, ask) {
		return domain.Forbiddenf("this token of actor %d is narrowed (%s) and not good for that; take one that goes further", ask.Actor, ask.Scope)
	}
	if ask.Tenant == 0 {
		return domain.Forbiddenf("actor %d may not do that on this node; ask its operator", ask.Actor)
	}
	return domain.Forbiddenf("actor %d may not %s in context %d, or there is no such context", ask.Actor, phrase(ask.Verb), ask.Tenant)
}

// phrase is a verb for people.
func phrase(v Verb) string { return strings.ReplaceAll(string(v), "_", " ") }
