package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

func TestWhoMayUseWhichOperation(t *testing.T) {
	for _, fault := range servicetest.Faults() {
		t.Error(fault)
	}
	for _, o := range service.Operations {
		t.Run(o.Name, func(t *testing.T) {
			for _, who := range servicetest.Everybody[:watched.Rounds(len(servicetest.Everybody), 2)] {
				r := newRig(t)
				r.submit(1, nil)
				params := o.NewParams()
				servicetest.Fill(params, who.Context)
				_, err := o.Call(t.Context(), r.api.As(who.Actor), params)
				if forbidden := errors.Is(err, domain.ErrForbidden); forbidden == who.May(o.Name) {
					t.Errorf("%s: got %v, want allowed %v", who.Name, err, who.May(o.Name))
				}
				if o.Stream == nil || who.May(o.Name) { // a stream that may be followed might not end
					continue
				}
				emit := func(e api.Event) error { t.Errorf("%s: got event %s", who.Name, e.Name); return nil }
				if err := o.Stream(t.Context(), r.api.As(who.Actor), params, emit); !errors.Is(err, domain.ErrForbidden) {
					t.Errorf("%s, stream: got %v", who.Name, err)
				}
			}
		})
	}
}

// TestTheTableSaysTheRight compares the right in the table with the one that
// is asked for, which must come first and concern the right place.
func TestTheTableSaysTheRight(t *testing.T) {
	for _, o := range service.Operations {
		r := newRig(t)
		params := o.NewParams()
		servicetest.Fill(params, house)
		r.asked = nil
		_, _ = o.Call(t.Context(), r.api.As(stranger), params)
		check := func(how string) {
			t.Helper()
			if len(r.asked) == 0 || r.asked[0].Verb != o.Right || r.asked[0].Actor != stranger || r.asked[0].Object == "" {
				t.Errorf("%s %s: asked %+v, the table says %s", o.Name, how, r.asked, o.Right)
				return
			}
			if (r.asked[0].Tenant == 0) != o.Right.OnNode() {
				t.Errorf("%s %s: asked in context %d", o.Name, how, r.asked[0].Tenant)
			}
		}
		check("call")
		if o.Stream != nil {
			r.asked = nil
			if err := o.Stream(t.Context(), r.api.As(stranger), params, func(api.Event) error { return nil }); !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("%s stream: got %v", o.Name, err)
			}
			check("stream")
		}
	}
}

// TestMissingAndForbiddenReadTheSame: nobody learns what exists where he has
// no right, neither of contexts nor of jobs.
func TestMissingAndForbiddenReadTheSame(t *testing.T) {
	r := newRig(t)
	r.submit(1, nil)
	for _, o := range service.Operations {
		if !strings.Contains(o.Path, "{context}") {
			continue
		}
		there, missing := o.NewParams(), o.NewParams()
		servicetest.Fill(there, house)
		servicetest.Fill(missing, servicetest.Missing)
		_, err1 := o.Call(t.Context(), r.api.As(stranger), there)
		_, err2 := o.Call(t.Context(), r.api.As(stranger), missing)
		if err1 == nil || err2 == nil || strings.ReplaceAll(err1.Error(), "context 7", "context 99") != err2.Error() {
			t.Errorf("%s: got %v and %v", o.Name, err1, err2)
		}
	}
	_, err1 := r.api.As(stranger).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 1})
	_, err2 := r.api.As(stranger).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 2})
	if err1.Error() != err2.Error() {
		t.Errorf("jobs: got %v and %v", err1, err2)
	}
}

func TestEnvIsRedacted(t *testing.T) {
	r := newRig(t)
	r.submit(1, map[string]string{"TOKEN": "secret"})
	p := api.JobParams{Context: house, Caller: admin, ID: 1}
	for actor, want := range map[domain.ActorID]string{admin: "secret", executor: api.Redacted, reader: api.Redacted} {
		j, err := r.api.As(actor).ShowJob(t.Context(), p)
		if err != nil || j.EnvVars["TOKEN"] != want {
			t.Errorf("actor %d: got %v, %v, want %s", actor, j, err, want)
		}
		wait, err := r.api.As(actor).WaitJob(t.Context(), api.WaitParams{JobParams: p, TimeoutMs: 1})
		if err != nil || wait.EnvVars["TOKEN"] != want || wait.Final() {
			t.Errorf("wait, actor %d: got %v, %v", actor, wait, err)
		}
	}
	list, err := r.api.As(admin).ListJobs(t.Context(), api.ListJobsParams{Context: house})
	if err != nil || len(list.Jobs) != 1 || list.Jobs[0].EnvVars != nil || list.Jobs[0].Script != "" {
		t.Errorf("a list: got %+v, %v", list, err)
	}
	// Cancelled: its stream tells its end, redacted too.
	if _, err := r.api.As(admin).CancelJob(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	err = r.api.As(reader).WatchJob(t.Context(), &api.WaitParams{JobParams: p}, func(e api.Event) error {
		if got := e.Data.(*domain.Job).EnvVars["TOKEN"]; got != api.Redacted {
			t.Errorf("event %s: got %s", e.Name, got)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// TestHooksTellNoEnvironment, those of a context and of a blueprint, to whom jobs tell none.
func TestHooksTellNoEnvironment(t *testing.T) {
	r := newRig(t)
	on := &domain.Hooks{}
	for _, h := range []**domain.Hook{&on.Failed, &on.Errored, &on.Succeeded, &on.Cancelled, &on.Late} {
		*h = &domain.Hook{Script: "x", ScriptType: "shell", Env: map[string]string{"TOKEN": "hunter2"}}
	}
	on.Late.After = 60
	if _, err := r.api.As(admin).UpdateContext(t.Context(), api.UpdateContextParams{Context: house, TenantChange: domain.TenantChange{On: on}}); err != nil {
		t.Fatal(err)
	}
	applied := domain.Blueprint{Name: "n", On: on, Steps: []domain.Step{{Name: "a", Script: "x", ScriptType: "shell"}}}
	for range 2 {
		if _, err := r.api.As(admin).ApplyBlueprint(t.Context(), api.ApplyBlueprintParams{Context: house, Blueprint: applied}); err != nil {
			t.Fatal(err)
		}
		on.Failed = &domain.Hook{Script: "x", ScriptType: "shell", Env: map[string]string{"TOKEN": "hunter22"}}
	}
	for actor, hidden := range map[domain.ActorID]bool{admin: false, executor: true, reader: true} {
		c := r.api.As(actor)
		for what, do := range map[string]func() (any, error){
			"context.show": func() (any, error) { return c.ShowContext(t.Context(), api.ContextParams{Context: house}) },
			"context.list": func() (any, error) { return c.ListContexts(t.Context(), api.ListContextsParams{}) },
			"blueprint.show": func() (any, error) {
				return c.ShowBlueprint(t.Context(), api.BlueprintParams{Context: house, Name: "n"})
			},
			"blueprint.diff": func() (any, error) {
				return c.DiffBlueprint(t.Context(), api.DiffBlueprintParams{Context: house, Name: "n"})
			},
		} {
			got, err := do()
			text, _ := json.Marshal(got)
			if err != nil || strings.Contains(string(text), "hunter2") == hidden || hidden && what != "blueprint.diff" && !strings.Contains(string(text), api.Redacted) {
				t.Errorf("actor %d, %s: got %s, %v", actor, what, text, err)
			}
		}
	}
}

func TestAnExecutorReadsTheEnvOfAJobItHolds(t *testing.T) {
	r := newRig(t)
	r.submit(1, map[string]string{"TOKEN": "secret"})
	r.hold("job:10:1", "actor:20")
	j, err := r.api.As(executor).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 1})
	if err != nil || j.EnvVars["TOKEN"] != "secret" {
		t.Errorf("got %+v, %v", j, err)
	}
}

// TestARightThatIsTakenAwayEndsWhatWaits takes a reader's right while it waits
// for a job, which then ends: neither a call nor a stream tells it how.
func TestARightThatIsTakenAwayEndsWhatWaits(t *testing.T) {
	for name, wait := range map[string]func(r *rig, p api.WaitParams) error{
		"a call": func(r *rig, p api.WaitParams) error {
			_, err := r.api.As(reader).WaitJob(r.Context(), p)
			return err
		},
		"a stream": func(r *rig, p api.WaitParams) error {
			return service.Named("job.wait").Stream(r.Context(), r.api.As(reader), &p, func(e api.Event) error {
				r.Errorf("got event %s", e.Name)
				return nil
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t)
			r.submit(1, nil)
			p := api.WaitParams{JobParams: api.JobParams{Context: house, Caller: admin, ID: 1}}
			r.answered = func() {
				if _, _, err := r.registry.Revoke(t.Context(), house, reader, ""); err != nil {
					t.Error(err)
				}
				if _, err := r.engine.Cancel(t.Context(), house, p.Key(), admin); err != nil {
					t.Error(err)
				}
			}
			if err := wait(r, p); !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestTheOperatorStopsAJobAndReadsNothing(t *testing.T) {
	r := newRig(t)
	r.submit(1, map[string]string{"TOKEN": "secret"})
	p := &api.JobParams{Context: house, Caller: admin, ID: 1}
	if _, err := r.api.As(operator).ShowJob(t.Context(), *p); !errors.Is(err, domain.ErrForbidden) {
		t.Errorf("show: got %v", err)
	}
	got, err := service.Named("job.cancel").Call(t.Context(), r.api.As(operator), p)
	if err != nil {
		t.Fatal(err)
	}
	j := got.(*domain.Job)
	if !j.Final() || j.Reason != domain.ReasonCancelled || j.Script != "" || len(j.EnvVars) > 0 || j.Error != "" {
		t.Errorf("got %+v, want that it is cancelled and no more", j)
	}
	if j, err := r.api.As(reader).ShowJob(t.Context(), *p); err != nil || !strings.Contains(j.Error, "actor 1") {
		t.Errorf("the tenant reads %+v, %v, want who it was", j, err)
	}
}
