package api_test

import (
	"errors"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestAnAdminBansInHisContextOnly(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		name  string
		scope domain.BanScope
		want  error
	}{
		{"his context", domain.BanScope{Kind: domain.BanContext}, nil},
		{"a type in it", domain.BanScope{Kind: domain.BanType, Name: "shell"}, nil},
		{"all", domain.BanScope{Kind: domain.BanAll}, domain.ErrForbidden},
		{"another context", domain.BanScope{Kind: domain.BanContext, Context: 9}, domain.ErrInvalid},
		{"a flow that is not there", domain.BanScope{Kind: domain.BanFlow, Name: "33"}, domain.ErrNotFound},
	} {
		b, err := r.api.As(admin).SetBan(t.Context(), api.BanParams{In: house, BanSet: api.BanSet{BanScope: c.scope, Level: domain.BanPick, Reason: "x"}})
		if !errors.Is(err, c.want) || c.want == nil && (err != nil || b.Context != house || b.By != admin || b.AtMs == 0) {
			t.Errorf("%s: got %+v, %v, want %v", c.name, b, err, c.want)
		}
		_, err = r.api.As(admin).LiftBan(t.Context(), api.LiftParams{In: house, BanScope: c.scope})
		if !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("lift %s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func TestBansOfOtherContextsAreNotShown(t *testing.T) {
	r := newRig(t)
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 9, Admins: []domain.ActorID{stranger}}); err != nil {
		t.Fatal(err)
	}
	for _, scope := range []domain.BanScope{{Kind: domain.BanAll}, {Kind: domain.BanContext, Context: house}, {Kind: domain.BanContext, Context: 9}} {
		in := api.BanSet{BanScope: scope, Level: domain.BanPick, Reason: "x", UntilMs: time.Now().Add(time.Hour).UnixMilli()}
		if _, err := r.api.As(operator).SetBanAnywhere(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}
	for actor, want := range map[domain.ActorID]int{reader: 2, operator: 3} {
		list, err := r.api.As(actor).ListBans(t.Context(), api.ListBansParams{Context: house})
		if actor == operator {
			list, err = r.api.As(actor).ListAllBans(t.Context(), api.ListAllBansParams{})
		}
		if err != nil || len(list.Bans) != want {
			t.Errorf("actor %d: got %+v, %v, want %d", actor, list, err, want)
		}
	}
	in := api.BanSet{BanScope: domain.BanScope{Kind: domain.BanContext, Context: 10}, Level: domain.BanPick, Reason: "x"}
	if _, err := r.api.As(operator).SetBanAnywhere(t.Context(), in); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a context that is not there: got %v", err)
	}
	in.UntilMs, in.Context = 1, house
	if _, err := r.api.As(operator).SetBanAnywhere(t.Context(), in); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a ban that is over: got %v", err)
	}
}
