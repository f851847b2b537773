package domain_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func good() domain.Job {
	return domain.Job{ID: 1, CallerID: 1, Script: "x", ScriptType: "shell"}
}

func TestJobValidate(t *testing.T) {
	tests := []struct {
		name   string
		change func(*domain.Job)
		want   string // part of the error; "" is valid
	}{
		{"the least job is valid", func(*domain.Job) {}, ""},
		{"a job needs a caller", func(j *domain.Job) { j.CallerID = 0 }, "caller_id"},
		{"a job needs a script", func(j *domain.Job) { j.Script = "" }, "script is empty"},
		{"the largest script is valid", func(j *domain.Job) { j.Script = strings.Repeat("x", domain.MaxScriptBytes) }, ""},
		{"a larger script is refused", func(j *domain.Job) { j.Script = strings.Repeat("x", domain.MaxScriptBytes+1) }, "1048576"},
		{"a NUL byte is refused", func(j *domain.Job) { j.Script = "a\x00b" }, "NUL"},
		{"a script type is a plain word", func(j *domain.Job) { j.ScriptType = "../sh" }, "script type"},
		{"priority 9 is valid", func(j *domain.Job) { j.Priority = 9 }, ""},
		{"priority 10 is refused", func(j *domain.Job) { j.Priority = 10 }, "priority"},
		{"thirty days is the longest timeout", func(j *domain.Job) { j.Timeout = domain.MaxTimeout + 1 }, "timeout"},
		{"a job may not depend on itself", func(j *domain.Job) { j.Dependends = []domain.JobID{1} }, "itself"},
		{"a job may not depend twice on one", func(j *domain.Job) { j.Dependends = []domain.JobID{2, 2} }, "twice"},
		{"the runner's variables are its own", func(j *domain.Job) { j.EnvVars = map[string]string{"RAMET_JOB": "x"} }, "RAMET_"},
		{"a variable has a proper name", func(j *domain.Job) { j.EnvVars = map[string]string{"A=B": "x"} }, "A=B"},
		{"a prerequisite has a name", func(j *domain.Job) { j.Prerequisites = []string{""} }, "prerequisite"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			j := good()
			tt.change(&j)
			err := j.Validate()
			if tt.want == "" && err != nil {
				t.Errorf("got %v", err)
			}
			if tt.want != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want an invalid error with %q", err, tt.want)
			}
		})
	}
}

func TestJobMoves(t *testing.T) {
	all := []domain.JobStatus{domain.JobDispatched, domain.JobWaiting, domain.JobStarted, domain.JobError, domain.JobFinished}
	allowed := map[string]bool{
		"dispatched>waiting_for_prerequisites": true, "dispatched>started": true, "dispatched>error": true,
		"waiting_for_prerequisites>started": true, "waiting_for_prerequisites>error": true,
		"started>started": true, "started>error": true, "started>finished": true,
	}
	for _, from := range all {
		for _, to := range all {
			if got, want := from.CanBecome(to), allowed[string(from)+">"+string(to)]; got != want {
				t.Errorf("%s -> %s: got %v, want %v", from, to, got, want)
			}
		}
		if from.Final() && from.CanBecome(domain.JobStarted) {
			t.Errorf("%s is final but can start", from)
		}
	}
}

func TestOrderJobs(t *testing.T) {
	j := func(id domain.JobID, deps ...domain.JobID) *domain.Job {
		return &domain.Job{ID: id, CallerID: 1, Dependends: deps}
	}
	got, err := domain.OrderJobs([]*domain.Job{j(3, 2, 1), j(2, 1), j(1), j(4, 99)})
	if err != nil || len(got) != 4 {
		t.Fatalf("got %v, %v", got, err)
	}
	seen := map[domain.JobID]bool{99: true}
	for _, x := range got {
		for _, d := range x.Dependends {
			if !seen[d] {
				t.Errorf("job %d comes before job %d", x.ID, d)
			}
		}
		seen[x.ID] = true
	}
	_, err = domain.OrderJobs([]*domain.Job{j(1, 3), j(2, 1), j(3, 2), j(4)})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "job:1:3 -> job:1:2") {
		t.Errorf("a circle: got %v", err)
	}
	// A chain longer than any goroutine stack should bear.
	long := make([]*domain.Job, 200_000)
	for i := range long {
		long[i] = j(domain.JobID(i+1), domain.JobID(i+2))
	}
	if _, err := domain.OrderJobs(long); err != nil {
		t.Errorf("a long chain: %v", err)
	}
}

func TestParseJobKey(t *testing.T) {
	for _, text := range []string{"job:12:2001", "12:2001"} {
		k, err := domain.ParseJobKey(text)
		if err != nil || k.String() != "job:12:2001" {
			t.Errorf("%q: got %v, %v", text, k, err)
		}
	}
	for _, bad := range []string{"", "job:", "job:1", "job:1:0", "job:01:2", "job:1:2:3", "job:-1:2", "job:1:4294967296", "flow:1"} {
		if k, err := domain.ParseJobKey(bad); err == nil {
			t.Errorf("%q was read as %v", bad, k)
		}
	}
}

func TestQueueSuffix(t *testing.T) {
	if got := domain.ScriptPython.QueueSuffix(); got != "python" {
		t.Errorf("got %q", got)
	}
	if got := domain.MessageJob.QueueSuffix(); got != "job" {
		t.Errorf("got %q", got)
	}
}

func FuzzParseJobKey(f *testing.F) {
	f.Add("job:1:2")
	f.Fuzz(func(t *testing.T, s string) {
		k, err := domain.ParseJobKey(s)
		if err != nil {
			return
		}
		if again, err := domain.ParseJobKey(k.String()); err != nil || again != k {
			t.Errorf("%q -> %v -> %v, %v", s, k, again, err)
		}
	})
}

func TestCancelledText(t *testing.T) {
	for by, want := range map[string]string{
		"7": "cancelled by actor 7", "0": "cancelled by its flow, which goes on without it", "": `cancelled by whoever wrote "" on its record`,
		"true": `cancelled by whoever wrote "true" on its record`, "\x1b[2J": `cancelled by whoever wrote "\x1b[2J" on its record`,
	} {
		if got := domain.CancelledText(by); got != want {
			t.Errorf("%q: got %q, want %q", by, got, want)
		}
	}
}
