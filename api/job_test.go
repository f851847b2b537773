package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestAJobInputIsReadAsItWasWritten(t *testing.T) {
	for name, want := range map[string]api.JobInput{
		"without depends": {Job: domain.Job{ID: 1, Script: "{}"}},
		"with depends":    {Job: domain.Job{ID: 1, Script: "}\n"}, Depends: []domain.JobID{2, 3}},
		"with both":       {Job: domain.Job{ID: 1, Dependends: []domain.JobID{4}}, Depends: []domain.JobID{2}},
	} {
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got api.JobInput
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.ID != want.ID || got.Script != want.Script {
			t.Errorf("%s: got job %+v", name, got.Job)
		}
		if diff := cmp.Diff(want.Depends, got.Depends); diff != "" {
			t.Errorf("%s: depends (-want +got):\n%s", name, diff)
		}
	}
}
