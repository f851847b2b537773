package condition_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
)

func TestConditions(t *testing.T) {
	job := domain.Job{ID: 7, ScriptType: "python", Status: domain.JobError, Error: "no luck", Timeout: 90}
	for _, tc := range []struct {
		name, text string
		want       bool
		bad        string // part of the error
	}{
		{name: "a field", text: `job.status == "error"`, want: true},
		{name: "a number", text: `job.timeout > 60 && job.id < 8`, want: true},
		{name: "a text", text: `job.error.contains("luck")`, want: true},
		{name: "a field that is left out is nothing", text: `job.reason == ()`, want: true},
		{name: "no", text: `job.script_type == "shell"`},
		{name: "no yes or no", text: `job.id + 1`, bad: "want true or false"},
		{name: "a name that there is not", text: `flow.id == 1`, bad: "flow"},
		{name: "a statement", text: `let x = 1; true`, bad: ""},
		{name: "not finished", text: `job.id ==`, bad: ""},
		{name: "too long", text: strings.Repeat(" ", condition.MaxBytes) + "true", bad: "limit"},
		{name: "work without end", text: `(0..100000000).reduce(|a, b| 0) == 1`, bad: ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c, err := condition.Compile(tc.text, "job")
			got := false
			if err == nil {
				v, verr := condition.Of(job)
				if verr != nil {
					t.Fatal(verr)
				}
				got, err = c.Holds(t.Context(), v)
			}
			wantErr := tc.bad != "" || strings.Contains(tc.name, "statement") || strings.Contains(tc.name, "not finished") || strings.Contains(tc.name, "without end")
			if wantErr != (err != nil) || got != tc.want {
				t.Fatalf("got %v, %v, want %v, error %v", got, err, tc.want, wantErr)
			}
			if err != nil && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tc.bad)) {
				t.Errorf("got %v, want one with %q", err, tc.bad)
			}
		})
	}
}
