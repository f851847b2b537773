package api_test

import (
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/api"
)

// TestConditionsOnListsTakeTurns has one of another list under way in the context.
func TestConditionsOnListsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.submit(1, nil)
		done, err := r.api.HoldConditions(t.Context(), house)
		if err != nil {
			t.Fatal(err)
		}
		ended := false
		go func() {
			list, err := r.api.As(admin).ListJobs(t.Context(), api.ListJobsParams{Context: house, Where: "job.id == 1"})
			if err != nil || len(list.Jobs) != 1 {
				t.Errorf("got %v, %v", list, err)
			}
			ended = true
		}()
		synctest.Wait()
		if ended {
			t.Error("it was not waited for the one under way")
		}
		done()
		synctest.Wait()
		if !ended {
			t.Error("it did not go on")
		}
	})
}
