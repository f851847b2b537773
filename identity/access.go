package identity

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/ramet-run/ramet/domain"
)

// This file is the only place that decides who may do what.

// rights is the table: the weakest role that may use a verb in a context, and
// whether executors may where the context sets executors_may_submit. Granting,
// auditing, banning and saying where runners are stay with admins even there: an executor
// who may grant is an admin.
//
// Source: the table of part 4 of the design.
var rights = map[domain.Verb]struct {
	from          domain.ContextRole
	submittersToo bool
}{
	domain.VerbCreate: {from: domain.Admin, submittersToo: true},
	domain.VerbDelete: {from: domain.Admin, submittersToo: true},
	domain.VerbStart:  {from: domain.Admin, submittersToo: true},
	domain.VerbCancel: {from: domain.Admin, submittersToo: true},
	domain.VerbStop:   {from: domain.Admin, submittersToo: true}, // and the operator: Permit
	domain.VerbRetry:  {from: domain.Admin, submittersToo: true},
	domain.VerbGrant:  {from: domain.Admin},
	domain.VerbAudit:  {from: domain.Admin},
	domain.VerbBan:    {from: domain.Admin},
	domain.VerbPlace:  {from: domain.Admin},

	domain.VerbRead:    {from: domain.Reader},
	domain.VerbTake:    {from: domain.Reader},
	domain.VerbReadEnv: {from: domain.Admin}, // and an executor of a job it holds: Permit
	domain.VerbReview:  {from: domain.Admin},

	domain.VerbClaim:     {from: domain.Executor},
	domain.VerbExtend:    {from: domain.Executor},
	domain.VerbFinish:    {from: domain.Executor},
	domain.VerbAppendLog: {from: domain.Executor},
	domain.VerbPop:       {from: domain.Executor},
	domain.VerbMeet:      {from: domain.Executor},
	domain.VerbWrite:     {from: domain.Executor},
}

var strength = []domain.ContextRole{domain.Stranger, domain.Reader, domain.Executor, domain.Admin}

// atLeast reports whether r may do what other may.
func atLeast(r domain.ContextRole, other domain.ContextRole) bool {
	return slices.Index(strength, r) >= slices.Index(strength, other)
}

// RoleIn is the strongest role that an actor has in a context.
func RoleIn(t domain.Tenant, a domain.ActorID) domain.ContextRole {
	switch {
	case a == 0:
		return domain.Stranger
	case slices.Contains(t.Admins, a):
		return domain.Admin
	case slices.Contains(t.Executors, a):
		return domain.Executor
	case slices.Contains(t.Readers, a):
		return domain.Reader
	}
	return domain.Stranger
}

// Permit decides a verb in a context. holds says that the actor has the lease
// of the job in question.
func Permit(t domain.Tenant, a domain.ActorID, verb domain.Verb, holds bool) bool {
	right, known := rights[verb]
	if !known {
		return false
	}
	role := RoleIn(t, a)
	switch {
	case verb == domain.VerbStop && a == domain.Operator: // whoever holds a node's slots, it is the operator who answers for the node
		return true
	case atLeast(role, right.from):
		return true
	case role == domain.Executor && verb == domain.VerbReadEnv:
		return holds
	case role == domain.Executor:
		return right.submittersToo && t.ExecutorsMaySubmit
	}
	return false
}

// permitNode decides a verb that concerns no context. Whoever comes here is a
// registered actor, or the operator by the local socket.
func permitNode(a domain.ActorID, verb domain.Verb) bool {
	switch verb {
	case domain.VerbKnow, domain.VerbOwn:
		return a != 0
	case domain.VerbInspect, domain.VerbAdministrate:
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
	case ask.Verb == domain.VerbGrant, ask.Verb == domain.VerbAdministrate, ask.Verb == domain.VerbOwn:
		return false
	case s.ReadOnly && !ask.Verb.Reads():
		return false
	case len(s.Groups) > 0 && ask.Group != AnyGroup && !slices.Contains(s.Groups, ask.Group):
		return false
	case len(s.Contexts) == 0:
		return true
	case ask.Tenant == 0:
		return ask.Verb == domain.VerbKnow
	}
	return slices.Contains(s.Contexts, ask.Tenant)
}

// Permits is [Permit] within what was proven, for what depends on a right but is
// no operation of its own: which values of a record are shown.
func (p Proof) Permits(t domain.Tenant, verb domain.Verb, holds bool, group string) bool {
	return within(p.Scope, Ask{Verb: verb, Tenant: t.ID, Group: group}) && Permit(t, p.Actor, verb, holds)
}

// Operates reports whether somebody is the operator as far as a verb goes, which
// is [domain.VerbInspect] or [domain.VerbAdministrate], without a no being a denial.
func (p Proof) Operates(verb domain.Verb, group string) bool {
	return within(p.Scope, Ask{Verb: verb, Group: group}) && permitNode(p.Actor, verb)
}

// Reaches reports whether what was proven is good for a context at all, whatever
// the actor may there.
func (p Proof) Reaches(id domain.TenantID) bool {
	return p.Scope == nil || len(p.Scope.Contexts) == 0 || slices.Contains(p.Scope.Contexts, id)
}

// Class is all that what somebody is shown of a context depends on: who is of the same one
// sees the same, but for what is their own, such as an inbox. It is comparable.
type Class struct {
	role     domain.ContextRole
	submits  bool
	operator bool
	scope    string
	// holder is an executor, who sees more of a job while it has its lease.
	holder domain.ActorID
}

// Class says what somebody is in a context. Whether there is any right is another question.
func (p Proof) Class(t domain.Tenant) Class {
	c := Class{role: RoleIn(t, p.Actor), submits: t.ExecutorsMaySubmit, operator: p.Actor == domain.Operator}
	if c.role == domain.Executor {
		c.holder = p.Actor
	}
	if p.Scope != nil {
		text, err := json.Marshal(p.Scope)
		if err != nil {
			panic("BUG: a scope cannot be written as JSON: " + err.Error())
		}
		c.scope = string(text)
	}
	return c
}

// leaseOwner is what stands on the lease of a job that an actor claimed itself
// through a door. A node's own leases begin with its name, which has no ':'.
func leaseOwner(a domain.ActorID) string {
	return domain.OutsideOwner + strconv.FormatUint(uint64(a), 10)
}

// Holds reports whether an actor has the lease that names this owner.
func Holds(a domain.ActorID, owner string) bool {
	return owner == leaseOwner(a) || strings.HasPrefix(owner, leaseOwner(a)+"/")
}

// Ask is a question to [Access].
type Ask struct {
	Actor domain.ActorID
	Verb  domain.Verb
	// Tenant is the context; 0 for the verbs of a node.
	Tenant domain.TenantID
	// Object is what it is about ("job:1:7"), for the audit log.
	Object string
	// Act is the word for it in the refusal and in the audit log, where it is that of the
	// line which says that it was done. Default: the verb, which is the right that it takes.
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
	return Permit(t, who.Actor, domain.VerbRead, false), err
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
	if who.Operates(domain.VerbInspect, AnyGroup) || err != nil && !missing(err) {
		return id, err
	}
	if err == nil {
		if sees, err := a.Sees(ctx, who, id); err != nil || sees {
			return id, err
		}
	}
	a.denials.Add(1)
	a.audit.Record(domain.AuditEntry{Actor: actor, Verb: string(domain.VerbRead), Object: "context:" + name, Context: id, Outcome: domain.AuditDenied})
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
	act := cmp.Or(ask.Act, string(ask.Verb))
	e := domain.AuditEntry{Actor: ask.Actor, Verb: act, Object: ask.Object, Context: ask.Tenant, Outcome: domain.AuditDenied}
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
	return domain.Forbiddenf("actor %d may not %s in context %d, or there is no such context", ask.Actor, strings.ReplaceAll(act, "_", " "), ask.Tenant)
}
