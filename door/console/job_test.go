package console_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

func (r *rig) jobEnded(p api.JobParams) *domain.Job {
	r.Helper()
	j := do(r, admin, api.JobWait, api.WaitParams{JobParams: p})
	if !j.Final() {
		r.Fatalf("job %s has not ended", p.Key())
	}
	return j
}

func TestAJobsPage(t *testing.T) {
	r := newRig(t)
	p := r.job("say one\nerr two\nanswer=42\nfail")
	r.jobEnded(p)
	b := r.as(admin)
	a := b.get(200, path("jobs/10/%d", p.ID))
	b.has(a, "Failed: exit code 3.", `id="L1"`, "one", `class="line err" id="L2"`, "Retry", "ramet job retry job:10:1 --context 7", "download")
	b.has(b.get(200, path("jobs/10/%d?tab=script", p.ID)), "answer=42")
	b.has(b.get(200, path("jobs/10/%d?tab=history", p.ID)), "began attempt 1")
	b.has(b.get(200, path("jobs?status=error")), "exit code 3", "job:10:1")
	b.has(b.post(200, path("jobs/10/%d/retry", p.ID)), "The job is queued again.")
	b.get(404, path("jobs/10/99"))
	b.get(400, path("jobs/x/y"))

	text := b.get(200, path("jobs/10/%d/log.txt", p.ID))
	if !strings.HasPrefix(text.Header.Get("Content-Type"), "text/plain") || !strings.HasPrefix(text.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("got %v", text.Header)
	}
	b.has(text, " stdout one\n", " stderr two\n")
}

func TestAJobsLogIsFollowed(t *testing.T) {
	r := newRig(t)
	p := r.job("say one\nsay <b>two</b>\ngate\nsay three")
	b := r.as(reader)
	events, end := r.follow(reader, path("jobs/10/%d/log?from=0", p.ID))
	defer end()
	line := func() string {
		var e struct{ HTML string }
		got := <-events
		if err := json.Unmarshal([]byte(got[1]), &e); err != nil || got[0] != "line" {
			t.Fatalf("got %v, %v", got, err)
		}
		return e.HTML
	}
	if got := line(); !strings.Contains(got, `id="L1"`) || !strings.Contains(got, "one") {
		t.Errorf("got %s", got)
	}
	if got := line(); !strings.Contains(got, "&lt;b&gt;two") {
		t.Errorf("got %s", got)
	}
	b.has(b.get(200, path("jobs/10/%d", p.ID)), `data-log="/console/c/7/jobs/10/1/log?from=2"`, "running")
	close(r.gate)
	if got := line(); !strings.Contains(got, `id="L3"`) {
		t.Errorf("got %s", got)
	}
	if e := <-events; e[0] != "end" {
		t.Errorf("got %v", e)
	}
	// Where a connection broke it goes on behind the last line that came.
	again, end := r.follow(reader, path("jobs/10/%d/log?from=0", p.ID), "Last-Event-ID", "1")
	defer end()
	if e := <-again; !strings.Contains(e[1], "three") {
		t.Errorf("got %v", e)
	}
}

func TestAJobThatRunsIsCancelled(t *testing.T) {
	r := newRig(t)
	p := r.job("say begun\ngate")
	events, end := r.follow(reader, path("jobs/10/%d/log?from=0", p.ID))
	<-events // it runs
	end()
	b := r.as(admin)
	b.has(b.get(200, path("jobs/10/%d", p.ID)), "Its script is told to stop")
	b.post(200, path("jobs/10/%d/cancel", p.ID))
	if j := r.jobEnded(p); j.Reason != domain.ReasonCancelled {
		t.Errorf("got %+v", j)
	}
	b.has(b.get(200, path("jobs/10/%d", p.ID)), "cancelled")
}

// Between two attempts nothing runs: what has no running time shows none.
func TestAJobBetweenTwoAttemptsHasNoRunningTime(t *testing.T) {
	r := newRig(t)
	do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: "fail", ScriptType: "words", Retries: 3,
		Retry: &domain.Retry{Delay: 3600}}}})
	b := r.as(admin)
	testwait.Until(t, "the first attempt has failed", func() bool {
		return strings.Contains(b.get(200, path("jobs/10/1")).text, "waits to retry")
	})
	a := b.get(200, path("jobs/10/1"))
	b.has(a, "next attempt")
	b.hasNot(a, "so far")
}
