package condition_test

import (
	"errors"
	"testing"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Conditions come with blueprints and lists of strangers. Whatever one says, it
// ends, with a yes or no or an error for people; it says the same when it is asked
// again; and it does nothing but compute: what it was given is as it was, also for
// the next item of a list, and on a second reading.
func FuzzCondition(f *testing.F) {
	for _, s := range []string{`job.status == "error"`, `job.timeout > 60 && job.id < 8`, `job.error.contains("luck")`, `job.reason == ()`,
		`job.id + 1`, `job.env_vars.clear() == ()`,
		`job.dependends.push(1) == ()`, `job.error.make_upper() == ()`, `(0..100000000).reduce(|a, b| 0) == 1`, `job.dependends.all(|x| x > 1)`,
		`timestamp() == 1`, `job.keys().len == 3`,
		`"x".pad(1000000000, "y") == ""`, `job.filter(|k, v| v == 7).len > 0`, `job?.none?.x == ()`, `if job.id == 7 { true } else { false }`,
		`switch job.id { 7 => true, _ => false }`,
		`job.dependends.sort(|a, b| b - a) == ()`, `eval("true")`, `{ let x = job; x.id = 1; x.id == 1 }`, `job.id in [7]`, `1/0 == 0`,
		`job.to_json() == ""`, `print("x") == ()`} {
		f.Add(s)
	}
	job := domain.Job{ID: 7, ScriptType: "python", Status: domain.JobError, Error: "no luck", Timeout: 90, Dependends: []domain.JobID{3, 2},
		EnvVars: map[string]string{"A": "b"}}
	f.Fuzz(func(t *testing.T, text string) {
		c, err := condition.Compile(text, "job")
		if err != nil {
			if !errors.Is(err, domain.ErrInvalid) || err.Error() == "" {
				t.Errorf("%q: got %v, want one of kind invalid", text, err)
			}
			return
		}
		given, err := condition.Of(job)
		if err != nil {
			t.Fatal(err)
		}
		before := jsonOf(t, given)
		holds, err := c.Holds(t.Context(), given)
		if err != nil && !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%q: got %v, want one of kind invalid", text, err)
		}
		if after := jsonOf(t, given); after != before {
			t.Errorf("%q changed what it was given: %s, was %s", text, after, before)
		}
		again, errAgain := c.Holds(t.Context(), given)
		if again != holds || (errAgain == nil) != (err == nil) {
			t.Errorf("%q is %v, %v, and asked again %v, %v", text, holds, err, again, errAgain)
		}
		if holds && err != nil {
			t.Errorf("%q holds, but: %v", text, err)
		}
	})
}

func jsonOf(t *testing.T, v value.Value) string {
	t.Helper()
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
