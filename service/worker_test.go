package service_test

import (
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// TestExecutorsTakeNoTypesOfAdminsBack, however many they register, where they may submit.
func TestExecutorsTakeNoTypesOfAdminsBack(t *testing.T) {
	r := newRigOf(t, work.Config{Served: func(domain.ScriptType) bool { return false }})
	yes := true
	submits := api.UpdateContextParams{Context: house, TenantChange: domain.TenantChange{ExecutorsMaySubmit: &yes}}
	if _, err := r.api.As(admin).UpdateContext(t.Context(), submits); err != nil {
		t.Fatal(err)
	}
	register := func(as domain.ActorID, types ...domain.ScriptType) {
		t.Helper()
		if _, err := r.api.As(as).RegisterWork(t.Context(), api.RegisterParams{Context: house, Types: types}); err != nil {
			t.Fatal(err)
		}
	}
	submit := func(as domain.ActorID, typ domain.ScriptType) {
		t.Helper()
		done, err := r.api.As(as).SubmitJobs(t.Context(), api.SubmitParams{Context: house, JobInput: api.JobInput{Job: domain.Job{Script: "x", ScriptType: typ}}})
		if err != nil || done.Jobs[0].Error != nil {
			t.Errorf("a job of type %s: %v, %v", typ, done, err)
		}
	}
	register(admin, "ours")
	register(executor, "theirs")
	submit(executor, "theirs")
	for i := range (domain.MaxContextTypes + 100) / domain.MaxWorkerTypes {
		var types []domain.ScriptType
		for n := range domain.MaxWorkerTypes {
			types = append(types, domain.ScriptType(fmt.Sprintf("t%d", i*domain.MaxWorkerTypes+n)))
		}
		register(executor, types...)
	}
	submit(admin, "ours")
}
