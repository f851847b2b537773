package service_test

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
		b, err := r.api.As(admin).SetBan(t.Context(), api.BanParams{In: house, BanInput: api.BanInput{BanScope: c.scope, Level: domain.BanPick, Reason: "x"}})
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
		in := api.BanInput{BanScope: scope, Level: domain.BanPick, Reason: "x", UntilMs: time.Now().Add(time.Hour).UnixMilli()}
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
	in := api.BanInput{BanScope: domain.BanScope{Kind: domain.BanContext, Context: 10}, Level: domain.BanPick, Reason: "x"}
	if _, err := r.api.As(operator).SetBanAnywhere(t.Context(), in); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("a context that is not there: got %v", err)
	}
	in.UntilMs, in.Context = 1, house
	if _, err := r.api.As(operator).SetBanAnywhere(t.Context(), in); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("a ban that is over: got %v", err)
	}
}

// TestWhatIsBannedIsNotLetGoByWhoeverIsBanned has an executor who may submit,
// and so pause and resume flows, an admin, and the operator.
func TestWhatIsBannedIsNotLetGoByWhoeverIsBanned(t *testing.T) {
	r := newRig(t)
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 9, Admins: []domain.ActorID{admin}, Executors: []domain.ActorID{executor},
		ExecutorsMaySubmit: true}); err != nil {
		t.Fatal(err)
	}
	in := api.SubmitFlowParams{Context: 9, FlowInput: api.FlowInput{Text: twoSteps}}
	if _, err := r.api.As(executor).SubmitFlows(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	id := api.FlowParams{Context: 9, Flow: 1}
	pause := func(as domain.ActorID) error { _, err := r.api.As(as).PauseFlow(t.Context(), id); return err }
	resume := func(as domain.ActorID) error { _, err := r.api.As(as).ResumeFlow(t.Context(), id); return err }
	flow := domain.BanScope{Kind: domain.BanFlow, Name: "1"}
	house := domain.BanScope{Kind: domain.BanContext}
	ban := func(as domain.ActorID, s domain.BanScope) error {
		in := api.BanInput{BanScope: s, Level: domain.BanPick, Reason: "x"}
		var err error
		if as == operator {
			in.Context = 9
			_, err = r.api.As(as).SetBanAnywhere(t.Context(), in)
		} else {
			_, err = r.api.As(as).SetBan(t.Context(), api.BanParams{In: 9, BanInput: in})
		}
		return err
	}
	lift := func(as domain.ActorID, s domain.BanScope) error {
		var err error
		if as == operator {
			s.Context = 9
			_, err = r.api.As(as).LiftBanAnywhere(t.Context(), s)
		} else {
			_, err = r.api.As(as).LiftBan(t.Context(), api.LiftParams{In: 9, BanScope: s})
		}
		return err
	}
	for _, c := range []struct {
		name string
		got  error
		want error
	}{
		{"who may submit pauses", pause(executor), nil},
		{"and resumes", resume(executor), nil},
		{"the admin pauses", pause(admin), nil},
		{"and who may submit resumes", resume(executor), nil},
		{"the admin bans the flow", ban(admin, flow), nil},
		{"who may submit does not put a pause in its place", pause(executor), domain.ErrForbidden},
		{"nor resume it", resume(executor), domain.ErrForbidden},
		{"the admin does", resume(admin), nil},
		{"the operator bans the context", ban(operator, house), nil},
		{"its admin puts no other ban in its place", ban(admin, house), domain.ErrForbidden},
		{"nor lifts it", lift(admin, house), domain.ErrForbidden},
		{"the operator does", lift(operator, house), nil},
		{"then the admin may ban", ban(admin, house), nil},
		{"which the operator lifts", lift(operator, house), nil},
	} {
		if !errors.Is(c.got, c.want) || c.want == nil && c.got != nil {
			t.Errorf("%s: got %v, want %v", c.name, c.got, c.want)
		}
	}
}
