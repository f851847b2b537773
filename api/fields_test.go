package api_test

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

func TestSelect(t *testing.T) {
	job := &domain.Job{ID: 3, CallerID: 12, Status: domain.JobStarted}
	page := api.JobPage{Jobs: []*domain.Job{job, {ID: 4}}, Next: "x", Looked: 2}
	for _, tc := range []struct {
		name   string
		answer any
		fields string
		want   string
	}{
		{"a page", page, "status,id", `{"jobs":[{"status":"started","id":3},{"status":"","id":4}],"next":"x","looked":2}`},
		{"a thing", job, "id, caller_id", `{"id":3,"caller_id":12}`},
		{"twice the same", job, "id,id", `{"id":3}`},
		{"what is left out as it is empty", job, "reason,id", `{"id":3}`},
		{"what is embedded", api.Schedule{Schedule: domain.Schedule{Name: "n"}}, "name", `{"name":"n"}`},
		{"a page without things", api.FlowPage{}, "id", `{"flows":[],"looked":0}`},
	} {
		s := api.SelectableOf(reflect.TypeOf(tc.answer))
		names, err := s.Choose(tc.fields)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if got, err := s.Select(tc.answer, names); err != nil || string(got) != tc.want {
			t.Errorf("%s: got %s, %v", tc.name, got, err)
		}
	}
	for text, want := range map[string]string{"stauts": "did you mean status?", "": `no field ""`, "id,,": `no field ""`, "zzz": "there are id,",
		strings.Repeat("id,", 1000): "the limit is"} {
		if _, err := api.JobList.Selectable().Choose(text); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: got %v", text, err)
		}
	}
}

// What every operation that lists has is a page, and none of the others.
func TestSelectable(t *testing.T) {
	for _, o := range api.Table {
		s := o.Selectable()
		_, verb, _ := strings.Cut(o.Name, ".")
		lists := strings.HasPrefix(verb, "list") || slices.Contains([]string{"archive.search", "archive.export", "audit.log", "audit.log_all",
			"blueprint.versions", "flow.logs", "saga.versions", "saga.instances", "saga.history", "saga.lag", "job.artifacts",
			"flow.artifacts"}, o.Name)
		if o.Name == "routine.list" { // it has two lists
			lists = false
		}
		if lists != (s.List != "") {
			t.Errorf("%s: the field with the things of a page is %q", o.Name, s.List)
		}
		if schema := strings.HasSuffix(o.Name, ".schema"); (o.Method == "GET" && !schema && o.Bytes == "") != (len(s.Names) > 0) {
			t.Errorf("%s: fields to select are %v", o.Name, s.Names)
		}
	}
}
