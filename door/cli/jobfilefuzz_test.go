package cli

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
)

// FuzzParseJobs: a jobs file is refused with its name, or its jobs are what it says:
// written as JSON, with the names that jobs have everywhere, they are the same.
func FuzzParseJobs(f *testing.F) {
	for _, s := range []string{"jobs:\n  - {id: 1, script_type: v, script: a, depends: [2]}\n",
		`{"jobs":[{"id":1,"script":"\ud83d\ude00","script_type":"shell"}]}`, "jobs: [&a {script: x, script_type: v, env_vars: {A: b}}, *a]\n",
		"jobs:\n- {script: 1, script_type: v, timeout: 0x10}\n", "jobs:\n- {script: yes, script_type: v, id: 1_0}\n",
		"jobs:\n- {script: ~, script_type: v}\n", "jobs:\n- {<<: {script: a}, script_type: v}\n", "jobs:\n- script_type: v\n  script: |\n    a\n\n    b\n",
		"jobs:\n- {script: a, script_type: v, env_vars: {A: 1, B: yes, C: 1e3, D: ~}}\n",
		"jobs:\n- {script: a, script_type: v, affinity: {zone: 1}, prerequisites: [file:/x], not_before: 1.0}\n",
		"jobs:\n- {script: a, script_type: v, at: 7@acme}\n- {script: a, script_type: v, at: runner:20}\n- {script: a, script_type: v, at: x}\n",
		"jobs:\n- {script: !!binary aGk=, script_type: v}\n",
		"jobs:\n- {id: 010, script: a, script_type: v}\n- {id: 8, script: a, script_type: v}\n"} {
		f.Add(s)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		jobs, err := parseJobs("f.yaml", dir, []byte(text))
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) && !errors.Is(err, domain.ErrNotFound) && !errors.Is(err, domain.ErrForbidden) {
				t.Errorf("%q: got %v", text, err)
			}
			return
		}
		var list []map[string]json.RawMessage
		ids := map[domain.JobKey]bool{}
		for _, j := range jobs {
			if key := (domain.JobKey{Caller: j.CallerID, ID: j.ID}); j.ID != 0 && ids[key] {
				t.Errorf("%q has job %s twice", text, key)
			} else {
				ids[key] = true
			}
			written, err := json.Marshal(j.Job)
			if err != nil {
				t.Fatalf("%q cannot be written: %v", text, err)
			}
			var fields map[string]json.RawMessage
			if err := json.Unmarshal(written, &fields); err != nil {
				t.Fatal(err)
			}
			for name, value := range fields {
				if zero := string(value); !slices.Contains(fileJobFields, name) || slices.Contains([]string{"null", "0", `""`, "[]", "{}"}, zero) {
					delete(fields, name)
				}
			}
			list = append(list, fields)
		}
		written, err := json.Marshal(map[string]any{"jobs": list})
		if err != nil {
			t.Fatal(err)
		}
		again, err := parseJobs("f.yaml", dir, written)
		if err != nil {
			t.Fatalf("%q is taken, and as %s refused: %v", text, written, err)
		}
		for i := range again {
			one, errOne := json.Marshal(jobs[i])
			other, errOther := json.Marshal(again[i])
			if diff := cmp.Diff(string(one), string(other)); diff != "" || errOne != nil || errOther != nil {
				t.Errorf("%q is not as %s: %s", text, written, diff)
			}
		}
	})
}
