package console_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/archive/sqlitearchive"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// newArchiveRig has an archive in which a job went wrong and a flow succeeded.
func newArchiveRig(t *testing.T, job domain.Job, logs ...string) *rig {
	t.Helper()
	a, err := sqlitearchive.Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"), sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	var lines []domain.Log
	for i, text := range logs {
		lines = append(lines, domain.Log{AtMs: 1000, Stream: "stdout", Line: text, N: i + 1})
	}
	rec, err := archive.OfJob(7, &job, lines)
	if err != nil {
		t.Fatal(err)
	}
	flow := archive.Record{Context: 7, Kind: domain.ArchiveFlow, Key: "flow:5", BeginMs: 1000, EndMs: 3000, Status: "finished", Blueprint: "nightly",
		Trigger: "t5", Caller: admin, Body: json.RawMessage(`{"id":5}`)}
	if err := a.Put(t.Context(), []archive.Record{rec, flow}); err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Archive = a })
	r.archive = a
	return r
}

func failedJob() domain.Job {
	return domain.Job{ID: 9, CallerID: admin, ContextID: 7, Script: "count walnuts", ScriptType: "shell", Status: domain.JobError,
		Reason: domain.ReasonTimeout, Error: "it took more than 10 s",
		CreatedAt: 1, StartedMs: 1000, FinishedMs: 12_000, Params: map[string]string{"day": "monday"}}
}

func TestTheArchiveIsSearched(t *testing.T) {
	r := newArchiveRig(t, failedJob(), "one walnut", "two walnuts")
	b := r.as(reader)
	b.has(b.get(200, path("archive")), "job:10:9", "timed out", "flow:5", "nightly", "ramet archive search --context 7")
	a := b.get(200, path("archive?text=walnut&kind=job&status=error"))
	b.has(a, "job:10:9", "ramet archive search walnut --kind job --status error --context 7")
	b.hasNot(a, "flow:5")
	b.has(b.get(200, path("archive?text=hazelnut")), "Nothing is like that")
	b.has(b.get(200, path("archive?since=1h")), "Nothing is like that", "--since 1h")
	b.has(b.get(200, path("archive?since=1970-01-01")), "job:10:9", "--since 1970-01-01")
	b.has(b.get(200, path("archive?since=7d")), "Nothing is like that", "--since 7d")
	a = b.get(400, path("archive?since=rubbish"))
	b.has(a, `id="about-since"`, "want 90m or 7d (ago)")
	b.hasNot(a, "job:10:9")
	b.has(b.get(200, path("archive/record?key=job:10:9")), "It took more than 10 s.", "two walnuts", "count walnuts", "monday",
		"ramet archive show job:10:9 --logs --context 7")
	b.has(b.get(200, path("archive/record?key=flow:5")), "Record", "blueprint?name=nightly")
	b.get(404, path("archive/record?key=job:10:10"))
	r.as(stranger).get(403, path("archive"))
	empty := newRig(t).as(reader)
	if a := empty.send(statusAny, "GET", path("archive"), ""); a.StatusCode >= 500 && !strings.Contains(a.text, "archive") {
		t.Errorf("a node without an archive does not say so: %s", mainOf(a.text))
	}
}

// The second in which something was asked for is not the instant: what took 251 ms is not said
// to have taken 1.3 s.
func TestTheArchiveSaysNoMoreOfTimesThanItKnows(t *testing.T) {
	j := failedJob()
	j.CreatedAt, j.QueuedMs, j.StartedMs, j.FinishedMs = 10, 10_900, 10_910, 11_151
	r := newArchiveRig(t, j)
	b := r.as(reader)
	b.has(b.get(200, path("archive?kind=job")), "251 ms")
	a := b.get(200, path("archive?kind=flow")) // of which the record has whole seconds
	b.has(a, "up to 2 s")
	b.hasNot(a, "2.0 s")
	b.has(b.get(200, path("archive/record?key=flow:5")), "up to 2 s")
	b.has(b.get(200, path("")), "up to 2 s")
}

func TestHostileArchive(t *testing.T) {
	all := strings.ReplaceAll(strings.ToValidUTF8(strings.Join(acts, " "), ""), "\x00", "")
	j := failedJob()
	j.Script, j.Error, j.Params = all, all, map[string]string{"p": all}
	b := newArchiveRig(t, j, acts[:10]...).as(reader)
	harmless(t, b.get(200, path("archive")))
	harmless(t, b.get(200, path("archive/record?key=job:10:9")))
	for _, text := range acts {
		if strings.HasPrefix(text, "javascript:") {
			continue // as the value of a filter it does nothing
		}
		harmless(t, b.send(statusAny, "GET", path("archive?text=%s&where=%s", url.QueryEscape(text), url.QueryEscape(text)), ""))
		harmless(t, b.send(statusAny, "GET", path("archive/record?key=%s", url.QueryEscape(text)), ""))
	}
}

func TestTheOverviewCountsTheLastHour(t *testing.T) {
	j := failedJob()
	j.FinishedMs = 12*60_000 + 100
	r := newArchiveRig(t, j)
	r.now = func() time.Time { return time.UnixMilli(14*60_000 + 500) }
	b := r.as(reader)
	b.has(b.get(200, path("")), `<span class="value">1</span>`, "ended in the last hour", "<title>00:12 UTC: 1 ended, 1 in error</title>",
		"jobs running", "jobs waiting")
	b.hasNot(b.get(200, path("")), "#s-errored") // red is for what crashed: it counts what only failed, too
	r.now = func() time.Time { return time.UnixMilli(80 * 60_000) }
	b.hasNot(b.get(200, path("")), "00:12 UTC: ")
	b = newRig(t).as(reader)
	b.hasNot(b.get(200, path("")), "ended in the last hour") // there is no archive to count it
}

// TestWhatWasSkippedIsNoError: a job that another's failure, or the end of its flow, kept from going on is not counted
// with what went wrong, and the figure leads to a list of what it counts.
func TestWhatWasSkippedIsNoError(t *testing.T) {
	for reason, wrong := range map[domain.Reason]int{domain.ReasonDependencyFailed: 0, domain.ReasonFlowAborted: 0, domain.ReasonTimeout: 1} {
		j := failedJob()
		j.FinishedMs, j.Reason = 102*60_000+100, reason
		r := newArchiveRig(t, j)
		r.now = func() time.Time { return time.UnixMilli(104*60_000 + 500) }
		b := r.as(reader)
		a := b.get(200, path(""))
		b.has(a, fmt.Sprintf("%d ended in the last hour, %d of them in error", wrong, wrong))
		link := regexp.MustCompile(`/console/(c/7/archive\?[^"]*status=error[^"]*)"`).FindStringSubmatch(a.text)
		if link == nil {
			t.Fatal("the figure leads nowhere")
		}
		list := b.get(200, html.UnescapeString(link[1]))
		if got := strings.Count(list.text, "<tr data-href"); got != wrong {
			t.Errorf("%s: the list has %d, the figure %d", reason, got, wrong)
		}
	}
}

// TestAMinuteThatMayStillChangeIsNotCountedForEachPage holds that a page which is made ten times a
// second does not count thousands of records each time.
func TestAMinuteThatMayStillChangeIsNotCountedForEachPage(t *testing.T) {
	j := failedJob()
	j.FinishedMs = 60*60_000 + 100
	r := newArchiveRig(t, j)
	now := time.UnixMilli(60*60_000 + 1000)
	r.now = func() time.Time { return now }
	b := r.as(reader)
	b.has(b.get(200, path("")), "01:00 UTC: 1 ended")
	j.ID = 10
	rec, err := archive.OfJob(7, &j, nil)
	if err == nil {
		err = r.archive.Put(t.Context(), []archive.Record{rec})
	}
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(900 * time.Millisecond)
	b.has(b.get(200, path("")), "01:00 UTC: 1 ended")
	now = now.Add(100 * time.Millisecond)
	b.has(b.get(200, path("")), "01:00 UTC: 2 ended")
}

// TestTheOverviewCountsWhatItShows: what went wrong is counted as soon as it stands there, though
// the archive, which nothing fills here, has it some seconds later.
func TestTheOverviewCountsWhatItShows(t *testing.T) {
	r := newArchiveRig(t, failedJob())
	now := time.Now()
	r.now = func() time.Time { return now }
	b := r.as(reader)
	b.has(b.get(200, path("")), "0 ended in the last hour")
	r.ended(r.flow("name: n\nsteps:\n  - {name: a, script: fail, script_type: words}\n"))
	do(r, admin, api.JobWait, api.WaitParams{JobParams: r.job("fail")})
	now = time.Now()
	b.has(b.get(200, path("")), "1 flow and 1 single job went wrong", "3 ended in the last hour, 3 of them in error", "3 failed</span>")
}

func TestEarlierAttemptsAreFoundInTheLog(t *testing.T) {
	a, err := sqlitearchive.Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"), sqlitearchive.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { a.Close() })
	j := failedJob()
	j.Attempt, j.StartedMs, j.Losses, j.Failures = 3, 9000, 1, 2
	rec, err := archive.OfJob(7, &j, []domain.Log{{AtMs: 1000, Stream: "stdout", Attempt: 1, Line: "one"},
		{AtMs: 2500, Stream: "ramet", Attempt: 1, Line: "<b>shop</b> is away"},
		{AtMs: 4000, Stream: "stderr", Attempt: 2, Line: "\x1b[31mtwo"},
		{AtMs: 4500, Stream: "ramet", Attempt: 2, Line: "attempt 2 ended: exit code 3; the next begins in 4s"},
		{AtMs: 9000, Stream: "stdout", Attempt: 3, Line: "three"}})
	if err == nil {
		err = a.Put(t.Context(), []archive.Record{rec})
	}
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Archive = a })
	b := r.as(reader)
	page := b.get(200, path("jobs/10/9?tab=history"))
	b.has(page, "was in attempt 1, which wrote 2 lines in 1.5 s, in the end:", "&lt;b&gt;shop&lt;/b&gt; is away", "wrote 1 line;",
		"attempt 2 ended: exit code 3; the next begins in 4s", "began attempt 3",
		"<dt>failed</dt><dd>2 attempts</dd>", "<dt>lost</dt><dd>1 attempt</dd>")
	log := b.get(200, path("jobs/10/9")) // by attempts, of which the last is open
	b.has(log, `<details class="attempt"><summary><b>attempt 1</b>`, `<details class="attempt"><summary><b>attempt 2</b>`,
		`<details class="attempt" open><summary><b>attempt 3</b>`)
	b.has(b.get(200, path("jobs/10/9?from=2")), "<b>attempt 2</b>")
	b.hasNot(b.get(200, path("jobs/10/9?from=2")), "<b>attempt 1</b>")
	found := b.get(200, path("jobs/10/9?find=SHOP")) // in all of it, each line with its place
	b.has(found, "1 line of ", "?from=0#L", "&lt;b&gt;shop&lt;/b&gt; is away", "all lines", `value="SHOP"`)
	b.hasNot(found, "attempt 2 ended")
	b.has(b.get(200, path("jobs/10/9?find=%s", "nowhere")), "No line has this.", "0 lines of ")
	b.hasNot(page, "\x1b", "attempt 3, which")
}
