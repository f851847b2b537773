package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

func input(id domain.JobID, change ...func(*api.JobInput)) api.JobInput {
	in := api.JobInput{Job: domain.Job{ID: id, Script: "x", ScriptType: "shell"}}
	for _, c := range change {
		c(&in)
	}
	return in
}

func list(in ...api.JobInput) api.SubmitParams {
	return api.SubmitParams{Context: house, JobInputs: api.JobInputs{Jobs: in}}
}

func TestSubmitAnswersForEachJob(t *testing.T) {
	r := newRig(t)
	got, err := r.api.As(admin).SubmitJobs(t.Context(), list(input(1), input(0), input(3, func(in *api.JobInput) { in.ScriptType = "?" })))
	if err != nil || len(got.Jobs) != 3 || got.Durability != "memory" {
		t.Fatalf("got %+v, %v", got, err)
	}
	if got.Jobs[0].Key != "job:10:1" || got.Jobs[1].Key == "" || got.Jobs[1].Error == nil && got.Jobs[1].Existing {
		t.Errorf("got %+v", got.Jobs)
	}
	if p := got.Jobs[2].Error; p == nil || p.Code != "invalid" {
		t.Errorf("got %+v, want it refused", got.Jobs[2])
	}
	again, err := r.api.As(admin).SubmitJobs(t.Context(), list(input(1)))
	if err != nil || !again.Jobs[0].Existing {
		t.Errorf("again: got %+v, %v", again, err)
	}
	other, err := r.api.As(admin).SubmitJobs(t.Context(), list(input(1, func(in *api.JobInput) { in.Script = "y" })))
	if err != nil || other.Jobs[0].Error == nil || other.Jobs[0].Error.Code != "conflict" {
		t.Errorf("other content: got %+v, %v", other, err)
	}
}

func TestSubmitOne(t *testing.T) {
	r := newRig(t)
	one := api.SubmitParams{Context: house, JobInput: input(5)}
	got, err := r.api.As(admin).SubmitJobs(t.Context(), one)
	if err != nil || got.Jobs[0].Key != "job:10:5" {
		t.Errorf("got %+v, %v", got, err)
	}
	one.Script = "y"
	if _, err := r.api.As(admin).SubmitJobs(t.Context(), one); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("a single job that is refused: got %v", err)
	}
	both := list(input(1))
	both.JobInput = input(2)
	if _, err := r.api.As(admin).SubmitJobs(t.Context(), both); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("both forms at once: got %v", err)
	}
	if _, err := r.api.As(admin).SubmitJobs(t.Context(), api.SubmitParams{Context: house}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("nothing at all: got %v", err)
	}
}

// TestASubmitWithAKeyMakesJobsOfItsOwn: numbers that somebody has chosen by hand are not taken
// for those of its jobs, whatever these ask for, nor where it chooses them itself.
func TestASubmitWithAKeyMakesJobsOfItsOwn(t *testing.T) {
	r := newRig(t)
	as := r.api.As(admin)
	var byHand []api.JobInput
	for id := range 40 {
		byHand = append(byHand, input(domain.JobID(id+1)))
	}
	if _, err := as.SubmitJobs(t.Context(), list(byHand...)); err != nil {
		t.Fatal(err)
	}
	made := map[string]bool{}
	for i, asked := range [][]api.JobInput{{input(0)}, {input(0), input(0)}, {input(100), input(0)}, {input(0, func(in *api.JobInput) { in.Script = "y" })}} {
		var first api.JobSubmitted
		for again := range 2 {
			p := list(slices.Clone(asked)...)
			got, _, err := as.CallOnce(t.Context(), service.Named("job.submit"), house, &p, fmt.Sprint("key", i), [32]byte{byte(i)})
			if err != nil {
				t.Fatal(err)
			}
			if again == 1 {
				if text, _ := json.Marshal(first); string(text) != string(got.(json.RawMessage)) {
					t.Errorf("request %d again: got %s, want %s", i, got, text)
				}
				continue
			}
			first = got.(api.JobSubmitted)
			for _, j := range first.Jobs {
				if j.Existing || j.Error != nil || made[j.Key] {
					t.Errorf("request %d: got %+v, want a job of its own", i, j)
				}
				made[j.Key] = true
			}
		}
	}
}

// TestAnAnswerIsKeptThoughItsCallerHasGone: who hangs up is who asks again.
func TestAnAnswerIsKeptThoughItsCallerHasGone(t *testing.T) {
	r := newRig(t)
	as := r.api.As(admin)
	op := *service.Named("job.submit")
	call := op.Call
	hangsUp, gone := context.WithCancel(t.Context())
	op.Call = func(ctx context.Context, c service.Caller, params any) (any, error) {
		defer gone()
		return call(ctx, c, params)
	}
	p := list(input(0))
	if _, _, err := as.CallOnce(hangsUp, &op, house, &p, "key", [32]byte{}); err != nil {
		t.Fatal(err)
	}
	if _, replayed, err := as.CallOnce(t.Context(), service.Named("job.submit"), house, &p, "key", [32]byte{}); err != nil || !replayed {
		t.Errorf("it was done again: %v", err)
	}
}

func TestSubmitTakesOnlyWhatACallerMayChoose(t *testing.T) {
	r := newRig(t)
	three := 3
	in := input(1, func(in *api.JobInput) {
		in.CallerID, in.ContextID = admin, house
		in.Status, in.Result, in.ExitCode, in.Attempt = domain.JobFinished, map[string]string{"a": "b"}, &three, 9
		in.FlowID, in.Step, in.Shard, in.Pack, in.Origin, in.LeaseOwner = 4, "s", "1", "2", "elsewhere", "me"
	})
	if _, err := r.api.As(admin).SubmitJobs(t.Context(), list(in)); err != nil {
		t.Fatal(err)
	}
	j, err := r.api.As(admin).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 1})
	if err != nil || j.Status != domain.JobDispatched || j.Result != nil || j.ExitCode != nil || j.Attempt != 0 ||
		j.FlowID != 0 || j.Step+j.Shard+j.Pack+j.Origin+j.LeaseOwner != "" {
		t.Errorf("got %+v, %v", j, err)
	}
}

func TestSubmitRefusesOtherNames(t *testing.T) {
	r := newRig(t)
	for want, change := range map[string]func(*api.JobInput){
		"caller_id 20 is not you": func(in *api.JobInput) { in.CallerID = executor },
		"context_id 8":            func(in *api.JobInput) { in.ContextID = 8 },
		"two spellings of one":    func(in *api.JobInput) { in.Dependends, in.Depends = []domain.JobID{1}, []domain.JobID{2} },
	} {
		_, err := r.api.As(admin).SubmitJobs(t.Context(), list(input(1), input(2, change)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	if _, err := r.api.As(admin).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 1}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("half of a refused submit was done: %v", err)
	}
}

func TestDependsIsAnAlias(t *testing.T) {
	r := newRig(t)
	_, err := r.api.As(admin).SubmitJobs(t.Context(), list(input(1), input(2, func(in *api.JobInput) { in.Depends = []domain.JobID{1} })))
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.api.As(admin).ShowJob(t.Context(), api.JobParams{Context: house, Caller: admin, ID: 2})
	if err != nil || len(j.Dependends) != 1 || j.Status != domain.JobWaiting {
		t.Errorf("got %+v, %v", j, err)
	}
}

func TestBoundsOfReading(t *testing.T) {
	r := newRig(t)
	r.submit(1, nil)
	p := api.JobParams{Context: house, Caller: admin, ID: 1}
	c := r.api.As(admin)
	for name, err := range map[string]error{
		"from": func() error { _, err := c.JobLogs(t.Context(), api.LogParams{JobParams: p, From: -1}); return err }(),
		"limit": func() error {
			_, err := c.JobLogs(t.Context(), api.LogParams{JobParams: p, Limit: 10_001})
			return err
		}(),
		"timeout_ms": func() error {
			_, err := c.WaitJob(t.Context(), api.WaitParams{JobParams: p, TimeoutMs: 60_001})
			return err
		}(),
		"status": func() error {
			_, err := c.ListJobs(t.Context(), api.ListJobsParams{Context: house, JobFilter: api.JobFilter{Status: "done"}})
			return err
		}(),
	} {
		if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if logs, err := c.JobLogs(t.Context(), api.LogParams{JobParams: p}); err != nil || logs.Logs == nil || len(logs.Logs) != 0 {
		t.Errorf("a silent job: got %+v, %v", logs, err)
	}
	p.ID = 2
	if _, err := c.JobLogs(t.Context(), api.LogParams{JobParams: p}); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("logs of no job: got %v", err)
	}
}

func TestPagesOfAnyLength(t *testing.T) {
	r := newRig(t)
	for id := range domain.JobID(25) {
		r.submit(id+1, nil)
	}
	for _, limit := range []int{0, 1, 7, 25, 100} {
		seen, p := map[string]int{}, api.ListJobsParams{Context: house, Limit: limit}
		for pages := 0; ; pages++ {
			l, err := r.api.As(reader).ListJobs(t.Context(), p)
			if err != nil || limit > 0 && len(l.Jobs) > limit || pages > 30 {
				t.Fatalf("limit %d: got %d jobs, %v on page %d", limit, len(l.Jobs), err, pages)
			}
			for _, j := range l.Jobs {
				seen[j.Key().String()]++
			}
			if p.Cursor = l.Next; l.Next == "" {
				break
			}
		}
		for key, n := range seen {
			if n != 1 {
				t.Errorf("limit %d: %s came %d times", limit, key, n)
			}
		}
		if len(seen) != 25 {
			t.Errorf("limit %d: got %d jobs", limit, len(seen))
		}
	}
	for _, bad := range []string{"x", "job:1:x~", "x~y"} {
		if _, err := r.api.As(reader).ListJobs(t.Context(), api.ListJobsParams{Context: house, Cursor: bad}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("cursor %q: got %v", bad, err)
		}
	}
}
