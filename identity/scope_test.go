package identity_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// TestANarrowedTokenMayLess asks one door's question with all kinds of tokens of
// an actor who may everything: the operator, who is admin of contexts 7 and 8.
func TestANarrowedTokenMayLess(t *testing.T) {
	b := newBoard(t)
	for _, id := range []domain.TenantID{7, 8} {
		put(t, b, domain.Tenant{ID: id, Admins: []domain.ActorID{domain.Operator}})
	}
	access := identity.NewAccess(identity.NewRegistry(b), nil)
	in := func(tenant domain.TenantID, verb domain.Verb, group string) identity.Ask {
		return identity.Ask{Actor: domain.Operator, Tenant: tenant, Verb: verb, Group: group}
	}
	read, create, cancel, take := in(7, domain.VerbRead, "job"), in(7, domain.VerbCreate, "job"), in(7, domain.VerbCancel, "flow"), in(7, domain.VerbTake, "inbox")
	env, elsewhere, grant := in(7, domain.VerbReadEnv, "job"), in(8, domain.VerbRead, "job"), in(7, domain.VerbGrant, "context")
	know, own, metrics := in(0, domain.VerbKnow, "blueprint"), in(0, domain.VerbOwn, "token"), in(0, domain.VerbInspect, "metrics")
	nodes, ban, any := in(0, domain.VerbInspect, "node"), in(0, domain.VerbAdministrate, "ban"), in(7, domain.VerbRead, identity.AnyGroup)
	nameless := in(7, domain.VerbRead, "")
	all := []identity.Ask{read, create, cancel, take, env, elsewhere, grant, know, own, metrics, nodes, ban, any, nameless}
	for _, c := range []struct {
		name  string
		scope *domain.Scope
		may   []identity.Ask
	}{
		{"no scope", nil, all},
		{"an empty scope", &domain.Scope{}, all},
		{"reading", &domain.Scope{ReadOnly: true}, []identity.Ask{read, env, elsewhere, know, metrics, nodes, any, nameless}},
		{"context 7", &domain.Scope{Contexts: []domain.TenantID{7}}, []identity.Ask{read, create, cancel, take, env, know, any, nameless}},
		{"context 9, where it has no role", &domain.Scope{Contexts: []domain.TenantID{9}}, []identity.Ask{know}},
		{"jobs", &domain.Scope{Groups: []string{"job"}}, []identity.Ask{read, create, env, elsewhere, any}},
		{"the metrics", &domain.Scope{ReadOnly: true, Groups: []string{"metrics"}}, []identity.Ask{metrics, any}},
		{"bans, which are administrated", &domain.Scope{Groups: []string{"ban"}}, []identity.Ask{any}},
		{"tokens", &domain.Scope{Groups: []string{"token"}}, []identity.Ask{any}},
		{"reading jobs of context 7", &domain.Scope{Contexts: []domain.TenantID{7}, ReadOnly: true, Groups: []string{"job"}}, []identity.Ask{read, env, any}},
	} {
		for _, ask := range all {
			narrowed := ask
			narrowed.Scope = c.scope
			err := access.Check(t.Context(), narrowed)
			if want := slices.Contains(c.may, ask); (err == nil) != want || err != nil && !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("a token for %s, %s of %s in context %d: got %v, want allowed: %v", c.name, ask.Verb, ask.Group, ask.Tenant, err, want)
			}
		}
	}
}

// TestATokenSaysHowFarItGoes mints and reads narrowed tokens.
func TestATokenSaysHowFarItGoes(t *testing.T) {
	b := newBoard(t)
	r := identity.NewRegistry(b)
	key := holderOf(t, r, 12)
	v := identity.Verifier{Node: "n1", Holder: r.Holder}
	want := domain.Scope{Contexts: []domain.TenantID{7, 8}, ReadOnly: true, Groups: []string{"job", "flow"}}
	token, err := identity.MintFor(key, "n1", time.Now(), time.Hour, identity.Claims{Scope: want, Name: "grafana, kitchen"})
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.Verify(t.Context(), token)
	if err != nil || p.Name != "grafana, kitchen" || p.Scope == nil || p.Scope.String() != want.String() || domain.ValidateTokenID(p.Token) != nil {
		t.Errorf("got %+v, %v", p, err)
	}
	for name, c := range map[string]identity.Claims{
		"context 0":          {Scope: domain.Scope{Contexts: []domain.TenantID{0}}},
		"many contexts":      {Scope: domain.Scope{Contexts: make([]domain.TenantID, domain.MaxScopeContexts+1)}},
		"a group of nothing": {Scope: domain.Scope{Groups: []string{""}}},
		"a long name":        {Name: string(make([]byte, domain.MaxTokenName+1))},
		"a name of control":  {Name: "a\nb"},
	} {
		if _, err := identity.MintFor(key, "n1", time.Now(), time.Hour, c); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
