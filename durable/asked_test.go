package durable_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
)

// TestAScriptAsksAsABlueprintDoes writes what is asked for as the page of approvals has it, and as
// a list.
func TestAScriptAsksAsABlueprintDoes(t *testing.T) {
	ten := "10"
	want := durable.Asked{Text: "Pay?", Approval: domain.Approval{Approvers: []string{"admin"}, Answers: []domain.TypedField{
		{Name: "share", Type: domain.TypeInteger, Min: "1", Max: "100", Default: &ten, Description: "Percent"},
		{Name: "plan", Enum: []string{"1", "pro"}, Required: true},
	}}}
	for _, text := range []string{
		`{"text":"Pay?","approvers":["admin"],"answers":{"share":{"type":"integer","min":1,"max":100,"default":10,"description":"Percent"},
			"plan":{"enum":[1,"pro"],"required":true}}}`,
		`{"text":"Pay?","approvers":["admin"],"answers":[{"name":"share","type":"integer","min":"1","max":"100","default":"10","description":"Percent"},
			{"name":"plan","enum":["1","pro"],"required":true}]}`,
	} {
		var got durable.Asked
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
		var again durable.Asked
		if kept, err := json.Marshal(got); err != nil || json.Unmarshal(kept, &again) != nil || !cmp.Equal(again, want) {
			t.Errorf("as it is kept: %s, %v: %+v", kept, err, again)
		}
	}
	for text, says := range map[string]string{
		`{"answers":{"a":{"typ":"integer"}}}`:     `unknown field "typ"`,
		`{"answers":"amount"}`:                    "want fields by name",
		`{"answers":{"a":{"name":"b"}}}`:          "want one of them",
		`{"answers":{"a":{"min":[1]}}}`:           "want a text or a number",
		`{"answers":{"a":{"required":"yes"}}}`:    "required is a JSON string, want a JSON bool",
		`{"answers":{"a":"number"}}`:              "is a JSON string, want a JSON object",
		`{"text":"x","aprovers":["admin"]}`:       `unknown field "aprovers"`,
		`{"text":"x","answers":[{"name":"a"},7]}`: "JSON number",
	} {
		err := json.Unmarshal([]byte(text), new(durable.Asked))
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "domain.") || strings.Contains(err.Error(), "durable.") {
			t.Errorf("%s: got %v, want one with %s", text, err, says)
		}
	}
}
