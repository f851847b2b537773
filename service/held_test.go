package service_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// Each operation that holds what it changes: another changes that after it was compared, and
// before it is changed. Then nothing is done.
func TestAHeldChangeIsExact(t *testing.T) {
	text := func(script string) api.ApplyBlueprintParams {
		return api.ApplyBlueprintParams{Context: house, Text: "name: b\nparams: {p: ''}\nsteps:\n- {name: a, script: " + script + ", script_type: shell}\n"}
	}
	sagaText := func(state string) api.ApplySagaParams {
		return api.ApplySagaParams{Context: house, Text: "name: s\ntriggers: [{of: Order, types: [Placed]}]\ncorrelation: event.aggregate_id\ninitial: " + state +
			"\nstates:\n  " + state + ": {on: {Placed: handle}}\nscript: |\n  fn on_event(state, event) { #{} }\n"}
	}
	routine := func(script string) api.RoutineApplyParams {
		return api.RoutineApplyParams{Context: house, Routine: domain.Routine{Name: "r", Script: script, ScriptType: "shell"}}
	}
	weight := func(n int) api.UpdateContextParams {
		return api.UpdateContextParams{Context: house, TenantChange: domain.TenantChange{Weight: &n}}
	}
	address := func(host string) api.UpdateActorParams {
		list := domain.List[domain.Address]{domain.Address("https://" + host)}
		return api.UpdateActorParams{Actor: reader, ActorChange: domain.ActorChange{Address: &list}}
	}
	ban := func(reason string) api.BanParams {
		return api.BanParams{In: house, BanInput: api.BanInput{BanScope: domain.BanScope{Kind: domain.BanType, Name: "shell"}, Level: domain.BanPick, Reason: reason}}
	}
	duty := func(name string) domain.Duties {
		return domain.Duties{Rules: []domain.DutyRule{{Host: name, Disable: []domain.Role{domain.RoleRunner}}}}
	}
	schedule := func(cron string) api.ScheduleApplyParams {
		p := nightly()
		p.Cron = cron
		return p
	}
	for _, tc := range []struct {
		name string
		// first makes it, theirs is what another does, ours what is held.
		first, theirs, ours any
		by                  domain.ActorID
	}{
		{"schedule.apply", schedule("0 2 * * *"), schedule("0 3 * * *"), schedule("0 4 * * *"), admin},
		{"schedule.pause", schedule("0 2 * * *"), schedule("0 3 * * *"), api.ScheduleParams{Context: house, Name: "nightly"}, admin},
		{"schedule.delete", schedule("0 2 * * *"), schedule("0 3 * * *"), api.ScheduleParams{Context: house, Name: "nightly"}, admin},
		{"blueprint.apply", text("one"), text("two"), text("three"), admin},
		{"blueprint.delete", text("one"), text("two"), api.NameBlueprintParams{Context: house, Name: "b"}, admin},
		{"saga.apply", sagaText("one"), sagaText("two"), sagaText("three"), admin},
		{"saga.delete", sagaText("one"), sagaText("two"), api.DeleteSagaParams{Context: house, Name: "s"}, admin},
		{"routine.apply", routine("one"), routine("two"), routine("three"), admin},
		{"routine.resume", routine("one"), routine("two"), api.RoutineParams{Context: house, Name: "r"}, admin},
		{"routine.delete", routine("one"), routine("two"), api.RoutineParams{Context: house, Name: "r"}, admin},
		{"context.update", weight(2), weight(3), weight(4), admin},
		{"context.grant", weight(2), weight(3), api.GrantParams{Context: house, Actor: stranger, Role: domain.Reader}, admin},
		{"actor.update", address("a.example"), address("b.example"), address("c.example"), operator},
		{"duty.set", duty("one"), duty("two"), duty("three"), operator},
		{"ban.set", ban("one"), ban("two"), ban("three"), admin},
		{"ban.lift", ban("one"), ban("two"), api.LiftParams{In: house, BanScope: domain.BanScope{Kind: domain.BanType, Name: "shell"}}, admin},
		{"ban.set_all", ban("one").BanInput, ban("two").BanInput, ban("three").BanInput, operator},
		{"ban.lift_all", ban("one").BanInput, ban("two").BanInput, ban("").BanScope, operator},
		{"duty.clear", duty("one"), duty("two"), api.DutyParams{}, operator},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := newScheduleRig(t)
			c := r.api.As(tc.by)
			noun, _, _ := strings.Cut(tc.name, ".")
			do := func(params any) {
				t.Helper()
				o := service.Named(makes[noun])
				if strings.HasSuffix(tc.name, "_all") {
					o = service.Named(makes[noun] + "_all")
				}
				if _, err := o.Call(t.Context(), c, pointerTo(params)); err != nil {
					t.Fatal(err)
				}
			}
			do(tc.first)
			o := service.Named(tc.name)
			looks := 0
			different := errors.New("different")
			_, err := c.CallHeld(t.Context(), o, pointerTo(tc.ours), func(answer any) error {
				if looks++; looks == 1 && answer != nil {
					do(tc.theirs)
					return nil
				}
				return different
			})
			if !errors.Is(err, different) || looks != 2 {
				t.Errorf("got %v after %d looks, want what was found at the change", err, looks)
			}
			// Once more, and nobody comes between.
			if _, err := c.CallHeld(t.Context(), o, pointerTo(tc.ours), func(answer any) error { return nil }); err != nil {
				t.Errorf("without another: %v", err)
			}
		})
	}
}

// makes are the operations that make or change a thing, by its noun.
var makes = map[string]string{"schedule": "schedule.apply", "blueprint": "blueprint.apply", "saga": "saga.apply", "routine": "routine.apply",
	"context": "context.update", "actor": "actor.update", "duty": "duty.set", "ban": "ban.set"}

func pointerTo(params any) any {
	p := reflect.New(reflect.TypeOf(params))
	p.Elem().Set(reflect.ValueOf(params))
	return p.Interface()
}

// What an operation holds is named by its own parameters.
func TestWhatIsHeldIsNamed(t *testing.T) {
	r := newRig(t)
	for _, o := range service.Operations {
		if o.Holds == "" {
			continue
		}
		_, err := r.api.As(stranger).CallHeld(t.Context(), &o, o.Example, func(any) error { return nil })
		if f, _ := api.FailureOf(err); f.Word != "forbidden" && f.Word != "invalid" && f.Word != "unavailable" {
			t.Errorf("%s: got %v", o.Name, err)
		}
	}
}
