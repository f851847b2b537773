package console_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// TestTheOverviewSaysWhatDoctorFinds: it does not call well what Health and the command do not.
func TestTheOverviewSaysWhatDoctorFinds(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	r.now = func() time.Time { return now }
	b := r.as(reader)
	b.hasNot(b.get(200, path("")), "All is well", "somebody who is not there")
	for range 3 {
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: "x", ScriptType: "cobol"}}})
	}
	// What was found of unfinished things is kept for a moment, for all who look.
	b.hasNot(r.as(admin).get(200, path("")), "somebody who is not there")
	now = now.Add(time.Minute)
	a := b.get(200, path(""))
	b.has(a, "things wait for somebody who is not there", "and 2 more", "serves cobol", "What doctor finds", "nobody runs jobs now")
	health := b.get(200, path("operate"))
	b.has(health, "jobs of context 7", "serves cobol", "nobody runs jobs now")
	if found := do(r, reader, api.AuditLook, api.LookParams{Context: 7}); len(found.Lacking) == 0 || found.Lacks() != 3 || len(found.Repaired) > 0 {
		t.Errorf("the look found %+v, want 3 that wait", found)
	}
	// Who repairs sees what there is then.
	do(r, admin, api.JobCancel, api.JobParams{Context: 7, Caller: admin, ID: 1})
	r.as(admin).post(200, path("operate/audit"))
	b.has(b.get(200, path("")), "and 1 more")
}

// TestJobsThatWentWrongNeedYou: those of no flow stand nowhere else.
func TestJobsThatWentWrongNeedYou(t *testing.T) {
	r := newRig(t)
	for range 2 {
		p := r.job("fail")
		do(r, admin, api.JobWait, api.WaitParams{JobParams: p})
	}
	f := r.flow("name: n\nsteps:\n  - {name: a, script: fail, script_type: words}\n")
	r.ended(f)
	b := r.as(reader)
	a := b.get(200, path(""))
	b.has(a, "1 flow and 2 single jobs went wrong", "2 jobs of type words", "Exit code 3")
	if n := strings.Count(mainOf(a.text), "of type words"); n != 2 { // the sentence, and the row
		t.Errorf("they stand %d times on the page", n)
	}
}
