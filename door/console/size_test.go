package console_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
)

// BenchmarkPagesAtSize is the node's time for pages, in milliseconds: the processor's, which
// says what a page costs whatever else the machine does, and by the clock at the 95th
// percentile; beside 100,000 flows on a memory board, 1,000,000 jobs in the archive (SQLite), and 100
// jobs a second that run meanwhile, and at last beside 100,000 jobs that wait. Filling takes minutes:
//
//	go test -run XXX -bench PagesAtSize -benchtime 100x -timeout 30m ./door/console
func BenchmarkPagesAtSize(b *testing.B) {
	const flows, archived, backlog = 100_000, 1_000_000, 100_000
	a, err := sqlitearchive.Open(b.Context(), filepath.Join(b.TempDir(), "archive.db"), sqlitearchive.Config{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	now := time.Now().UnixMilli()
	for from := 0; from < archived; from += 1000 {
		var batch []archive.Record
		for i := from; i < from+1000; i++ {
			end := now - int64(archived-i)*10 // 100 a second
			j := domain.Job{ID: domain.JobID(1_000_000 + i), CallerID: admin, ContextID: 7, Script: "say a", ScriptType: "words", Status: domain.JobFinished,
				CreatedAt: domain.UnixTime(end / 1000),
				StartedMs: end - 5, FinishedMs: end}
			if i%100 == 0 {
				j.Status, j.Reason = domain.JobError, domain.ReasonScriptFailed
			}
			rec, err := archive.OfJob(7, &j, nil)
			if err != nil {
				b.Fatal(err)
			}
			batch = append(batch, rec)
		}
		if err := a.Put(b.Context(), batch); err != nil {
			b.Fatal(err)
		}
	}
	var jobsOf *work.Engine
	r := newRig(b, func(_ *rig, p *service.Parts) { p.Archive, jobsOf = a, p.Jobs.(*work.Engine) })
	for i := range flows {
		text := "name: small\nsteps: [{name: x, script: say a, script_type: words}]"
		if i%1000 == 0 {
			text = "name: small\nsteps: [{name: x, script: fail, script_type: words}]"
		}
		do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{Text: text, File: "b.yaml", Trigger: fmt.Sprint(i)}})
	}
	failed := r.flow(nightly)
	r.ended(failed)
	// A node's auditor sees to it that what ended in error is found by its list.
	if err := jobsOf.KeepFailed(b.Context(), 7, false); err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	go func() {
		for tick := time.NewTicker(10 * time.Millisecond); ; {
			select {
			case <-tick.C:
				r.job("say a")
			case <-ctx.Done():
				return
			}
		}
	}()
	// What the jobs cost meanwhile is no page's.
	at, used := time.Now(), processor()
	time.Sleep(3 * time.Second)
	jobs := (processor() - used).Seconds() / time.Since(at).Seconds()
	who := r.as(admin)
	measure := func(name, of string) {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			began, used := time.Now(), processor()
			for b.Loop() {
				at := time.Now()
				who.get(200, path("%s", of))
				took = append(took, time.Since(at))
			}
			b.ReportMetric(1000*((processor()-used).Seconds()-jobs*time.Since(began).Seconds())/float64(len(took)), "ms-processor")
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "ms-p95")
		})
	}
	for _, page := range []struct{ name, path string }{{"overview", ""}, {"flows", "flows"}, {"flows that went wrong", "flows?status=error"},
		{"flow", fmt.Sprintf("flows/%d", failed)},
		{"gantt", fmt.Sprintf("flows/%d?tab=gantt", failed)}, {"logs", fmt.Sprintf("flows/%d?tab=logs", failed)}, {"jobs", "jobs"},
		{"jobs that wait", "jobs?status=dispatched"}, {"job", "jobs/10/1"},
		{"sagas", "sagas"}, {"letters", "letters"}, {"schedules", "schedules"}, {"blueprints", "blueprints"}, {"archive", "archive"},
		{"archive by word", "archive?text=say"},
		{"health", "operate"}, {"queues", "operate/queues"}, {"rights", "rights"}, {"audit", "rights/audit"}} {
		measure(page.name, page.path)
	}
	// Flows and jobs that nobody takes.
	for i := range 60 {
		do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{File: "b.yaml", Trigger: fmt.Sprint("w", i),
			Text: "name: waits\nconcurrency: {key: one, max: 1}\nsteps: [{name: x, script: say a, script_type: nobodys}]"}})
	}
	measure("flows beside those that wait", "flows")
	for left := backlog; left > 0; left -= 1000 {
		list := make([]api.JobInput, 1000)
		for i := range list {
			list[i].Job = domain.Job{Script: "say a", ScriptType: "nobodys"}
		}
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInputs: api.JobInputs{Jobs: list}})
	}
	measure("overview beside jobs that wait", "")
}
