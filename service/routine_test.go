package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
)

// TestARoutineSaysThatItsTypeIsUnknown: its round begins, with the number of a job that is refused.
func TestARoutineSaysThatItsTypeIsUnknown(t *testing.T) {
	r := newRigOf(t, work.Config{Served: func(typ domain.ScriptType) bool { return typ != "nope" }})
	in := api.RoutineApplyParams{Context: house, Routine: domain.Routine{Name: "sync", Script: "x", ScriptType: "nope"}}
	made, err := r.api.As(admin).ApplyRoutine(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	begun := domain.RoutineInstance{Round: 1, Job: "job:10:2", BeganMs: 5}
	set := board.Batch{Space: layout.SpaceOf(house)}
	set.Set(layout.RoutineInstance("sync", domain.RoutinePart{Scale: 1}), layout.EncodeInstance(begun)...)
	if err := r.board.Commit(t.Context(), set); err != nil {
		t.Fatal(err)
	}
	shown, err := r.api.As(reader).ShowRoutine(t.Context(), api.RoutineParams{Context: house, Name: "sync"})
	if err != nil {
		t.Fatal(err)
	}
	list, err := r.api.As(reader).ListRoutines(t.Context(), api.ListRoutinesParams{Context: house})
	if err != nil {
		t.Fatal(err)
	}
	for name, is := range map[string]*domain.Routine{"applied": made, "shown": shown, "listed": list.Routines[0]} {
		if at := is.Instances[0]; !strings.Contains(at.Held, `"nope"`) || at.Job != "" || at.BeganMs != 0 {
			t.Errorf("%s: got %+v, want why no round begins", name, at)
		}
	}
}

func TestRoutinesByTheirCallers(t *testing.T) {
	r := newRig(t)
	in := api.RoutineApplyParams{Context: house,
		Routine: domain.Routine{Name: "sync", Script: "x", ScriptType: "shell", Env: map[string]string{"TOKEN": "secret"}, CallerID: stranger}}
	made, err := r.api.As(admin).ApplyRoutine(t.Context(), in)
	if err != nil || made.CallerID != admin || len(made.Instances) != 1 {
		t.Fatalf("got %+v, %v", made, err)
	}
	p := api.RoutineParams{Context: house, Name: "sync"}
	for actor, want := range map[domain.ActorID]string{admin: "secret", executor: api.Redacted, reader: api.Redacted} {
		got, err := r.api.As(actor).ShowRoutine(t.Context(), p)
		if err != nil || got.Env["TOKEN"] != want {
			t.Errorf("actor %d: got %+v, %v", actor, got, err)
		}
		list, err := r.api.As(actor).ListRoutines(t.Context(), api.ListRoutinesParams{Context: house})
		if err != nil || len(list.Routines) != 1 || list.Routines[0].Env != nil || list.Routines[0].Script != "" {
			t.Errorf("actor %d: got %+v, %v", actor, list, err)
		}
	}
	for name, do := range map[string]func(api.RoutineParams) (*domain.Routine, error){
		"pause": func(p api.RoutineParams) (*domain.Routine, error) {
			return r.api.As(admin).PauseRoutine(t.Context(), p)
		},
		"resume": func(p api.RoutineParams) (*domain.Routine, error) {
			return r.api.As(admin).ResumeRoutine(t.Context(), p)
		},
		"run": func(p api.RoutineParams) (*domain.Routine, error) {
			return r.api.As(admin).RunRoutine(t.Context(), p)
		},
		"delete": func(p api.RoutineParams) (*domain.Routine, error) {
			return r.api.As(admin).DeleteRoutine(t.Context(), p)
		},
	} {
		if _, err := do(api.RoutineParams{Context: house, Name: "missing"}); !errors.Is(err, domain.ErrNotFound) {
			t.Errorf("%s one that is not there: got %v", name, err)
		}
	}
	if got, err := r.api.As(admin).PauseRoutine(t.Context(), p); err != nil || !got.Paused {
		t.Errorf("pause: got %+v, %v", got, err)
	}
	if _, err := r.api.As(admin).RunRoutine(t.Context(), p); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("run: got %v", err)
	}
	if got, err := r.api.As(admin).ResumeRoutine(t.Context(), p); err != nil || got.Paused {
		t.Errorf("resume: got %+v, %v", got, err)
	}
	if _, err := r.api.As(admin).DeleteRoutine(t.Context(), p); err != nil {
		t.Errorf("delete: got %v", err)
	}
	if _, err := r.api.As(admin).ShowRoutine(t.Context(), p); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("show: got %v", err)
	}
}

// TestARepeatedRequestTellsNoEnvironment that somebody else has applied since.
func TestARepeatedRequestTellsNoEnvironment(t *testing.T) {
	r := newOnceRig(t)
	yes := true
	submits := api.UpdateContextParams{Context: house, TenantChange: domain.TenantChange{ExecutorsMaySubmit: &yes}}
	if _, err := r.api.As(admin).UpdateContext(t.Context(), submits); err != nil {
		t.Fatal(err)
	}
	ours := api.RoutineApplyParams{Context: house, Routine: domain.Routine{Name: "r", Script: "x", ScriptType: "shell"}}
	theirs := ours
	theirs.Env = map[string]string{"TOKEN": "hunter2"}
	o := service.Named(api.RoutineApply.Name)
	if _, err := r.once(o, executor, ours, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := r.api.As(admin).ApplyRoutine(t.Context(), theirs); err != nil {
		t.Fatal(err)
	}
	got, err := r.once(o, executor, ours, 1)
	if text, _ := json.Marshal(got); err != nil || strings.Contains(string(text), "hunter2") || !strings.Contains(string(text), api.Redacted) {
		t.Errorf("got %s, %v", text, err)
	}
}
