package api_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// who may use which operation, by hand: operator (in no list), admin,
// executor, reader, stranger.
var allowed = map[string]string{
	"job.submit":         "-a---",
	"job.list":           "-aer-",
	"job.show":           "-aer-",
	"job.logs":           "-aer-",
	"job.wait":           "-aer-",
	"job.cancel":         "-a---",
	"job.retry":          "-a---",
	"job.explain":        "-aer-",
	"flow.submit":        "-a---",
	"flow.list":          "-aer-",
	"flow.show":          "-aer-",
	"flow.wait":          "-aer-",
	"flow.graph":         "-aer-",
	"flow.explain":       "-aer-",
	"flow.cancel":        "-a---",
	"flow.retry":         "-a---",
	"flow.skip":          "-a---",
	"flow.approve":       "-a---",
	"flow.reject":        "-a---",
	"flow.update":        "-a---",
	"flow.pause":         "-a---",
	"flow.resume":        "-a---",
	"flow.delete":        "-a---",
	"archive.search":     "-aer-",
	"archive.export":     "-aer-",
	"archive.show":       "-aer-",
	"prerequisite.meet":  "-ae--",
	"blueprint.apply":    "-a---",
	"blueprint.list":     "-aer-",
	"blueprint.show":     "-aer-",
	"blueprint.versions": "-aer-",
	"blueprint.diff":     "-aer-",
	"blueprint.graph":    "-aer-",
	"blueprint.delete":   "-a---",
	"blueprint.schema":   "oaers",
	"context.create":     "o----",
	"context.list":       "oaers",
	"context.show":       "oaer-",
	"actor.create":       "o----",
	"actor.list":         "o----",
	"actor.show":         "oaers",
	"runner.list":        "oaers",
	"node.info":          "oaers",
	"audit.run":          "-a---",
	"schedule.apply":     "-a---",
	"schedule.list":      "-aer-",
	"schedule.show":      "-aer-",
	"schedule.preview":   "-aer-",
	"schedule.delete":    "-a---",
	"schedule.pause":     "-a---",
	"schedule.resume":    "-a---",
	"schedule.trigger":   "-a---",
	"routine.list":       "-aer-",
	"routine.apply":      "-a---",
	"routine.show":       "-aer-",
	"routine.delete":     "-a---",
	"routine.pause":      "-a---",
	"routine.resume":     "-a---",
	"routine.run":        "-a---",
	"duty.show":          "oaers",
	"duty.set":           "o----",
	"duty.clear":         "o----",
	"ban.set":            "-a---",
	"ban.list":           "-aer-",
	"ban.lift":           "-a---",
	"ban.set_all":        "o----",
	"ban.list_all":       "o----",
	"ban.lift_all":       "o----",
}

// fill gives parameters what any of them may need.
func fill(t *testing.T, params any, tenant domain.TenantID) {
	t.Helper()
	v := reflect.ValueOf(params).Elem()
	for name, value := range map[string]any{"Context": tenant, "In": tenant, "Caller": admin, "ID": uint64(1), "Actor": admin, "Name": "go", "TimeoutMs": 1} {
		f := v.FieldByName(name)
		switch v.Type() {
		case reflect.TypeFor[api.SubmitParams]():
			if name != "Context" {
				continue
			}
		case reflect.TypeFor[api.ListRunnersParams](): // the context there is more than the table's right
			continue
		}
		if !f.IsValid() {
			continue
		}
		switch {
		case f.Kind() == reflect.Uint32:
			f.SetUint(reflect.ValueOf(value).Convert(reflect.TypeFor[uint64]()).Uint())
		case f.Kind() == reflect.Int64:
			f.SetInt(int64(value.(int)))
		case f.Kind() == reflect.String:
			f.SetString(value.(string))
		}
	}
}

func TestWhoMayUseWhichOperation(t *testing.T) {
	actors := map[byte]domain.ActorID{'o': operator, 'a': admin, 'e': executor, 'r': reader, 's': stranger}
	if len(allowed) != len(api.Operations) {
		t.Errorf("%d operations have a row here, of %d", len(allowed), len(api.Operations))
	}
	for _, o := range api.Operations {
		t.Run(o.Name, func(t *testing.T) {
			for letter, actor := range actors {
				r := newRig(t)
				r.submit(1, nil)
				params := o.NewParams()
				fill(t, params, house)
				_, err := o.Call(t.Context(), r.api.As(actor), params)
				want := strings.ContainsRune(allowed[o.Name], rune(letter))
				if forbidden := errors.Is(err, domain.ErrForbidden); forbidden == want {
					t.Errorf("actor %d: got %v, want allowed %v", actor, err, want)
				}
			}
		})
	}
}

// TestTheTableSaysTheRight compares the right in the table with the one that
// is asked for, which must come first and concern the right place.
func TestTheTableSaysTheRight(t *testing.T) {
	for _, o := range api.Operations {
		r := newRig(t)
		params := o.NewParams()
		fill(t, params, house)
		r.asked = nil
		_, _ = o.Call(t.Context(), r.api.As(stranger), params)
		check := func(how string) {
			t.Helper()
			if len(r.asked) == 0 || r.asked[0].Verb != o.Right || r.asked[0].Actor != stranger || r.asked[0].Object == "" {
				t.Errorf("%s %s: asked %+v, the table says %s", o.Name, how, r.asked, o.Right)
				return
			}
			onNode := o.Right == identity.Know || o.Right == identity.Administrate
			if (r.asked[0].Tenant == 0) != onNode {
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
	for _, o := range api.Operations {
		if !strings.Contains(o.Path, "{context}") {
			continue
		}
		there, missing := o.NewParams(), o.NewParams()
		fill(t, there, house)
		fill(t, missing, 9)
		_, err1 := o.Call(t.Context(), r.api.As(stranger), there)
		_, err2 := o.Call(t.Context(), r.api.As(stranger), missing)
		if err1 == nil || err2 == nil || strings.ReplaceAll(err1.Error(), "7", "9") != err2.Error() {
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

func TestAnExecutorReadsTheEnvOfAJobItHolds(t *testing.T) {
	r := newRig(t)
	r.submit(1, map[string]string{"TOKEN": "secret"})
	r.hold("job:10:1", "actor:20")
	j, err := r.api.As(executor).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 1})
	if err != nil || j.EnvVars["TOKEN"] != "secret" {
		t.Errorf("got %+v, %v", j, err)
	}
}
