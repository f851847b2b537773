package service_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

// TestANarrowedTokenMayNoOperationThatItsActorMayNot asks every operation as
// everybody with narrowed tokens: what is refused without one is refused with
// one, and beyond its scope nothing is allowed.
func TestANarrowedTokenMayNoOperationThatItsActorMayNot(t *testing.T) {
	for _, o := range service.Operations {
		t.Run(o.Name, func(t *testing.T) {
			r := newRig(t)
			for _, who := range servicetest.Everybody {
				if who.Actor == servicetest.Nobody {
					continue
				}
				noun := o.Group()
				widens := o.Right == domain.VerbGrant || o.Right == domain.VerbAdministrate || o.Right == domain.VerbOwn
				for _, c := range []struct {
					name  string
					scope domain.Scope
					may   bool
				}{
					{"to its group", domain.Scope{Groups: []string{"x", noun}}, !widens},
					{"to another group", domain.Scope{Groups: []string{"x"}}, false},
					{"to reading", domain.Scope{ReadOnly: true}, o.Right.Reads()},
					{"to its context", domain.Scope{Contexts: []domain.TenantID{who.Context}}, !widens && o.Right != domain.VerbInspect},
					{"to another context", domain.Scope{Contexts: []domain.TenantID{servicetest.Elsewhere}}, o.Right == domain.VerbKnow},
				} {
					params := o.NewParams()
					servicetest.Fill(params, who.Context)
					caller := r.api.For(identity.Proof{Actor: who.Actor, Scope: &c.scope}, nil)
					_, err := o.Call(t.Context(), caller, params)
					may := c.may && who.May(o.Name)
					// The operator may see the lists of a context that he is not in; by
					// a token for that context he is who its lists say.
					if o.Name == "context.show" && who.Actor == servicetest.Operator && len(c.scope.Contexts) > 0 {
						may = false
					}
					// One's own record may be known, whatever else may not.
					if o.Name == "actor.show" && who.Actor == servicetest.Admin && len(c.scope.Contexts) > 0 {
						may = true
					}
					if forbidden := errors.Is(err, domain.ErrForbidden); forbidden == may {
						t.Errorf("%s, by a token narrowed %s: got %v, want allowed %v", who.Name, c.name, err, may)
					}
				}
			}
		})
	}
}

// TestANarrowedTokenSendsNothingElsewhere: jobs, flows and messages for other
// contexts are done there in the name of whoever sent them.
func TestANarrowedTokenSendsNothingElsewhere(t *testing.T) {
	r := newRig(t)
	narrow := r.api.For(identity.Proof{Actor: admin, Scope: &domain.Scope{Contexts: []domain.TenantID{house}}}, nil)
	plan := &domain.Blueprint{Name: "far", Steps: []domain.Step{{Name: "s", ScriptType: "shell", Script: "x", At: "70"}}}
	job := func(at string) api.JobInput {
		return api.JobInput{Job: domain.Job{Script: "x", ScriptType: "shell", At: at}}
	}
	if _, err := r.api.As(admin).ApplyBlueprint(t.Context(), api.ApplyBlueprintParams{Context: house, Blueprint: *plan}); err != nil {
		t.Fatal(err)
	}
	for name, try := range map[string]func() error{
		"a job": func() error {
			return second(narrow.SubmitJobs(t.Context(), api.SubmitParams{Context: house, JobInput: job("70")}))
		},
		"a job for a peer": func() error {
			return second(narrow.SubmitJobs(t.Context(), api.SubmitParams{Context: house, JobInput: job("7@acme")}))
		},
		"a job of many": func() error {
			return second(narrow.SubmitJobs(t.Context(), api.SubmitParams{Context: house, JobInputs: api.JobInputs{Jobs: []api.JobInput{job(""), job("70")}}}))
		},
		"a plan": func() error {
			return second(narrow.SubmitFlows(t.Context(), api.SubmitFlowParams{Context: house, FlowInput: api.FlowInput{Plan: plan}}))
		},
		"a stored blueprint": func() error {
			return second(narrow.SubmitFlows(t.Context(), api.SubmitFlowParams{Context: house, FlowInput: api.FlowInput{Blueprint: "far"}}))
		},
		"a blueprint to be stored": func() error {
			return second(narrow.ApplyBlueprint(t.Context(), api.ApplyBlueprintParams{Context: house, Blueprint: *plan}))
		},
		"a schedule": func() error {
			var p api.ScheduleApplyParams
			p.Context, p.Name, p.Blueprint = house, "s", "far"
			return second(narrow.ApplySchedule(t.Context(), p))
		},
	} {
		if err := try(); !errors.Is(err, domain.ErrForbidden) || !strings.Contains(err.Error(), "narrowed") {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if _, err := narrow.SubmitJobs(t.Context(), api.SubmitParams{Context: house, JobInput: job("")}); err != nil {
		t.Errorf("a job for its own: got %v", err)
	}
}

// TestWhoseTokensMayBeRevoked: one's own, and the operator all.
func TestWhoseTokensMayBeRevoked(t *testing.T) {
	r := newRig(t)
	for _, who := range []domain.ActorID{admin, executor, reader, stranger, servicetest.Guest, operator} {
		for _, whose := range []domain.ActorID{0, admin, reader} {
			may := who == operator || whose == 0 || whose == who
			p := api.RevokeTokenParams{Actor: whose, ID: "jx2ehoe3vqm3dkwe"}
			if err := r.call(who, "token.revoke", &p); errors.Is(err, domain.ErrForbidden) == may || may && err != nil {
				t.Errorf("actor %d revokes one of %d: got %v", who, whose, err)
			}
			if err := r.call(who, "token.list", &api.ListTokensParams{Actor: whose}); errors.Is(err, domain.ErrForbidden) == may || may && err != nil {
				t.Errorf("actor %d lists those of %d: got %v", who, whose, err)
			}
		}
	}
	list, err := r.api.As(operator).ListTokens(t.Context(), api.ListTokensParams{Actor: reader})
	if err != nil || len(list.Tokens) != 1 || !list.Tokens[0].Revoked {
		t.Errorf("got %+v, %v", list, err)
	}
	for _, p := range []api.RevokeTokenParams{{}, {ID: "x", All: true}, {ID: "a b"}} {
		if err := r.call(admin, "token.revoke", &p); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v", p, err)
		}
	}
	if err := r.call(operator, "token.revoke", &api.RevokeTokenParams{Actor: 99, All: true}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("of nobody: got %v", err)
	}
	// Who did it is on the board with it.
	r.flush()
	lines, err := r.api.As(operator).NodeAuditLog(t.Context(),
		api.NodeAuditLogParams{AuditLogFilter: api.AuditLogFilter{Outcome: domain.AuditDone, Actor: operator}})
	if err != nil || !slices.ContainsFunc(lines.Entries, func(e domain.AuditEntry) bool {
		return e.Verb == "revoke" && e.Object == "actor:30" && e.Detail == "token jx2ehoe3vqm3dkwe"
	}) {
		t.Errorf("got %+v, %v", lines, err)
	}
}

// TestANodeWithoutItsGatewayRevokes: a token that was stolen does not wait.
func TestANodeWithoutItsGatewayRevokes(t *testing.T) {
	r := newRig(t)
	r.noGateway = true
	if err := r.call(admin, "token.revoke", &api.RevokeTokenParams{All: true}); err != nil {
		t.Error(err)
	}
}

func TestATokenIsMadeKnown(t *testing.T) {
	r := newRig(t)
	key, err := identity.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	key.Actor = admin
	if _, err := r.registry.UpdateActor(t.Context(), admin, domain.ActorChange{Pubkey: key.Pubkey()}); err != nil {
		t.Fatal(err)
	}
	token, err := identity.MintFor(key, "n1", time.Now(), time.Hour, identity.Claims{Name: "grafana"})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.call(stranger, "token.note", &api.NoteTokenParams{Token: token}); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("another's: got %v", err)
	}
	if err := r.call(admin, "token.note", &api.NoteTokenParams{Token: token}); err != nil {
		t.Error(err)
	}
	if list, err := r.api.As(admin).ListTokens(t.Context(), api.ListTokensParams{}); err != nil || len(list.Tokens) != 1 || list.Tokens[0].Name != "grafana" {
		t.Errorf("got %+v, %v", list, err)
	}
}
