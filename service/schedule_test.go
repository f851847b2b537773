package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

// noFlows makes flows of which only the record is there.
type noFlows struct{ b board.Board }

func (f noFlows) Named(_ context.Context, _ domain.TenantID, _ string, triggers []string) ([]domain.FlowID, error) {
	return make([]domain.FlowID, len(triggers)), nil
}

func (f noFlows) Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error) {
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Set("flow:7", board.Field{Name: "status", Value: "started"}, board.Field{Name: "caller_id", Value: string(rune('0' + reqs[0].Caller%10))})
	reqs[0].Also(&b, 7)
	return []flow.Receipt{{ID: 7}}, f.b.Commit(ctx, b)
}

// nightly is a schedule as somebody hands it in.
func nightly() api.ScheduleApplyParams {
	var p api.ScheduleApplyParams
	p.Context = house
	p.Schedule.Schedule = domain.Schedule{Name: "nightly", Blueprint: "b", Cron: "0 2 * * *", Zone: "Europe/Berlin",
		Params: map[string]string{"p": "1"}, Env: map[string]string{"SECRET": "x"}}
	return p
}

// newScheduleRig has the blueprint that nightly names.
func newScheduleRig(t *testing.T) *rig {
	r := newRig(t)
	if _, err := r.api.As(admin).ApplySchedule(t.Context(), nightly()); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("of a blueprint that is not there: got %v", err)
	}
	if _, err := r.applyText("name: b\nparams: {p: ''}\nsteps:\n- {name: a, script: x, script_type: shell}\n"); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestASchedulesLife(t *testing.T) {
	r := newScheduleRig(t)
	c := r.api.As(admin)
	made, err := c.ApplySchedule(t.Context(), nightly())
	if err != nil || made.CallerID != admin || len(made.Upcoming) != 10 || made.State.NextMs != made.Upcoming[0].UnixMilli() {
		t.Fatalf("got %+v, %v", made, err)
	}
	name := api.ScheduleParams{Context: house, Name: "nightly"}
	shown, err := c.ShowSchedule(t.Context(), api.ScheduleShowParams{ScheduleParams: name, N: 3})
	if err != nil || len(shown.Upcoming) != 3 {
		t.Errorf("got %v, %v", shown.Upcoming, err)
	}
	if paused, err := c.PauseSchedule(t.Context(), name); err != nil || !paused.Paused || paused.Upcoming != nil || paused.State.NextMs != 0 {
		t.Errorf("paused: got %+v, %v", paused, err)
	}
	if resumed, err := c.ResumeSchedule(t.Context(), name); err != nil || resumed.Paused || resumed.State.NextMs == 0 {
		t.Errorf("resumed: got %+v, %v", resumed, err)
	}
	fired, err := c.TriggerSchedule(t.Context(), name)
	if diff := cmp.Diff(api.ScheduleTriggered{Flow: "flow:7"}, fired); diff != "" || err != nil {
		t.Errorf("triggered: %v\n%s", err, diff)
	}
	if _, err := c.TriggerSchedule(t.Context(), name); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("while it lives: got %v", err)
	}
	list, err := c.ListSchedules(t.Context(), api.ScheduleListParams{Context: house})
	if err != nil || len(list.Schedules) != 1 || list.Schedules[0].Params != nil || list.Schedules[0].Env != nil || list.Schedules[0].State.LastFlow != 7 {
		t.Errorf("list: got %+v, %v", list, err)
	}
	if _, err := c.DeleteSchedule(t.Context(), name); err != nil {
		t.Error(err)
	}
	if _, err := c.ShowSchedule(t.Context(), api.ScheduleShowParams{ScheduleParams: name}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("deleted: got %v", err)
	}
}

func TestWhatWasShownOfAScheduleCanBeAppliedAgain(t *testing.T) {
	r := newScheduleRig(t)
	made, err := r.api.As(admin).ApplySchedule(t.Context(), nightly())
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(made)
	if err != nil {
		t.Fatal(err)
	}
	var p api.ScheduleApplyParams
	p.Context = house
	if err := json.Unmarshal(text, &p); err != nil {
		t.Fatal(err)
	}
	p.State.Fired = 1000
	again, err := r.api.As(admin).ApplySchedule(t.Context(), p)
	if diff := cmp.Diff(made, again); diff != "" || err != nil {
		t.Errorf("%v (-first +again):\n%s", err, diff)
	}
}

func TestReadersOfSchedulesSeeNoEnvironment(t *testing.T) {
	r := newScheduleRig(t)
	if _, err := r.api.As(admin).ApplySchedule(t.Context(), nightly()); err != nil {
		t.Fatal(err)
	}
	for actor, want := range map[domain.ActorID]string{admin: "x", executor: api.Redacted, reader: api.Redacted} {
		s, err := r.api.As(actor).ShowSchedule(t.Context(), api.ScheduleShowParams{ScheduleParams: api.ScheduleParams{Context: house, Name: "nightly"}})
		if err != nil || s.Env["SECRET"] != want || s.Params["p"] != "1" {
			t.Errorf("actor %d: got %v, %v, want %s", actor, s.Env, err, want)
		}
	}
}

// TestWhatAScheduleWasTellsNoEnvironment either, to whom what it is tells none, in any answer.
func TestWhatAScheduleWasTellsNoEnvironment(t *testing.T) {
	r := newScheduleRig(t)
	yes := true
	submits := api.UpdateContextParams{Context: house, TenantChange: domain.TenantChange{ExecutorsMaySubmit: &yes}}
	if _, err := r.api.As(admin).UpdateContext(t.Context(), submits); err != nil {
		t.Fatal(err)
	}
	for _, value := range []string{"hunter2", "new"} {
		p := nightly()
		p.Env = map[string]string{"SECRET": value}
		if _, err := r.api.As(admin).ApplySchedule(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	name := api.ScheduleParams{Context: house, Name: "nightly"}
	for actor, want := range map[domain.ActorID]string{admin: "hunter2", executor: api.Redacted, reader: api.Redacted} {
		c := r.api.As(actor)
		for what, do := range map[string]func() (api.Schedule, error){
			"show": func() (api.Schedule, error) {
				return c.ShowSchedule(t.Context(), api.ScheduleShowParams{ScheduleParams: name})
			},
			"pause": func() (api.Schedule, error) { return c.PauseSchedule(t.Context(), name) },
		} {
			s, err := do()
			if errors.Is(err, domain.ErrForbidden) && actor == reader {
				continue
			}
			if err != nil || s.Before == nil {
				t.Fatalf("actor %d, %s: got %+v, %v", actor, what, s, err)
			}
			var was domain.Schedule
			if err := json.Unmarshal(s.Before.Definition, &was); err != nil || was.Env["SECRET"] != want || was.Params["p"] != "1" || s.Before.ChangedMs == 0 {
				t.Errorf("actor %d, %s: got %s, %v, want %s", actor, what, s.Before.Definition, err, want)
			}
		}
	}
	// One that cannot be read is nobody's but his who may read all.
	b := board.Batch{Space: layout.SpaceOf(house)}
	b.Set(layout.Schedule("nightly"), board.Field{Name: "before", Value: `{"definition":{"env":["hunter2"]},"changed_ms":7}`})
	if err := r.board.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	for actor, hidden := range map[domain.ActorID]bool{admin: false, reader: true} {
		s, err := r.api.As(actor).ShowSchedule(t.Context(), api.ScheduleShowParams{ScheduleParams: name})
		if err != nil || s.Before == nil || s.Before.ChangedMs != 7 || (s.Before.Definition == nil) != hidden {
			t.Errorf("actor %d, of one that cannot be read: got %+v, %v", actor, s.Before, err)
		}
	}
}

func TestPreviewStoresNothing(t *testing.T) {
	r := newRig(t)
	p := api.SchedulePreviewParams{Context: house, N: 2}
	p.Every = 3600
	times, err := r.api.As(reader).PreviewSchedule(t.Context(), p)
	if err != nil || len(times.Upcoming) != 2 || times.Upcoming[1].Sub(times.Upcoming[0]) != time.Hour {
		t.Errorf("got %v, %v", times, err)
	}
	p.Every = 0
	if _, err := r.api.As(reader).PreviewSchedule(t.Context(), p); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("without times: got %v", err)
	}
	list, err := r.api.As(reader).ListSchedules(t.Context(), api.ScheduleListParams{Context: house})
	if err != nil || len(list.Schedules) != 0 {
		t.Errorf("got %v, %v", list, err)
	}
}
