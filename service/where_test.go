package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
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
			list, err := r.api.As(admin).ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Where: "job.id == 1"}})
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

// TestConditionsOnListsNameFieldsThatThereAre also holds that each field that JSON
// writes of what lists have is one that a condition may ask for.
func TestConditionsOnListsNameFieldsThatThereAre(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.submit(1, nil)
		c := r.api.As(admin)
		_, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Where: `job.stauts == "started"`}})
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "did you mean status?") {
			t.Errorf("got %v", err)
		}
		page, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house})
		if err != nil || len(page.Jobs) == 0 {
			t.Fatalf("%v, %v", page, err)
		}
		text, _ := json.Marshal(page.Jobs[0])
		fields := map[string]any{}
		if err := json.Unmarshal(text, &fields); err != nil {
			t.Fatal(err)
		}
		for name := range fields {
			if _, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Where: "job." + name + " == ()"}}); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}
