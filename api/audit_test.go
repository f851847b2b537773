package api_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestAnAuditThatFoundNothingHasEmptyLists(t *testing.T) {
	got, err := json.Marshal(api.AuditReport{Context: 1, Audit: domain.Audit{Looked: 3}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"context":1,"looked":3,"repaired":[],"stuck":[],"lacking":[]}`, string(got)); diff != "" {
		t.Error(diff)
	}
}
