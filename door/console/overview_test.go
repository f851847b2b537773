package console_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/listing"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/work"
)

// TestTheOverviewSaysWhatDoctorFinds: it does not call well what Health and the command do not.
func TestTheOverviewSaysWhatDoctorFinds(t *testing.T) {
	r := newRig(t)
	now := time.Now()
	r.now = func() time.Time { return now }
	b := r.as(reader)
	b.hasNot(b.get(200, path("")), "All is well", "node or a worker that is not there")
	for range 3 {
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: "x", ScriptType: "cobol"}}})
	}
	// What was found of unfinished things is kept for a moment, for all who look.
	b.hasNot(r.as(admin).get(200, path("")), "node or a worker that is not there")
	now = now.Add(time.Minute)
	a := b.get(200, path(""))
	b.has(a, "things wait for a node or a worker that is not there", "and 2 more", "serves cobol", "What doctor finds", "nobody runs jobs now")
	if !slices.ContainsFunc(strings.Split(a.text, "</tr>"), func(row string) bool {
		return strings.Contains(row, "serves cobol") && strings.Contains(row, `data-of="Since"><time `)
	}) {
		t.Errorf("it does not say since when it waits: %s", mainOf(a.text))
	}
	health := b.get(200, path("operate"))
	b.has(health, "work of context 7", "serves cobol", "nobody runs jobs now")
	if found := do(r, reader, api.AuditLook, api.LookParams{Context: 7}); len(found.Lacking) == 0 || found.Lacks() != 3 || len(found.Repaired) > 0 {
		t.Errorf("the look found %+v, want 3 that wait", found)
	}
	// Who repairs sees what there is then.
	do(r, admin, api.JobCancel, api.JobParams{Context: 7, Caller: admin, ID: 1})
	r.as(admin).post(200, path("operate/audit"))
	b.has(b.get(200, path("")), "and 1 more")
}

// TestTheOverviewCountsWhatItDoesNotName: what lacks somebody for more reasons than it names.
func TestTheOverviewCountsWhatItDoesNotName(t *testing.T) {
	r := newRig(t)
	for i := range 13 {
		p := api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: "x", ScriptType: domain.ScriptType(fmt.Sprintf("nobody%c", 'a'+i))}}}
		for range 1 + i%2 {
			do(r, admin, api.JobSubmit, p)
		}
	}
	found := do(r, reader, api.AuditLook, api.LookParams{Context: 7})
	named := 0
	for _, f := range found.Lacking[:10] {
		named += 1 + f.More
	}
	b := r.as(reader)
	b.has(b.get(200, path("")), fmt.Sprintf("%d things wait for a node or a worker that is not there", found.Lacks()), fmt.Sprintf("%d more", found.Lacks()-named),
		"See all that an audit finds")
}

// awayArchive does not answer, and counts how often it is asked.
type awayArchive struct {
	service.Archive
	asked *atomic.Int32
}

func (a awayArchive) Search(context.Context, archive.Query) (archive.Page, error) {
	a.asked.Add(1)
	return archive.Page{}, domain.Unavailablef("the archive is away")
}

func (a awayArchive) Count(context.Context, archive.Query) (int64, error) {
	a.asked.Add(1)
	return 0, domain.Unavailablef("the archive is away")
}

func (awayArchive) Ping(context.Context) error { return domain.Unavailablef("the archive is away") }

func (awayArchive) Durability() board.Durability { return board.DurableDisk }

// TestTheOverviewIsThereWithoutTheArchive: it says what is away, and does not ask for each page.
func TestTheOverviewIsThereWithoutTheArchive(t *testing.T) {
	var asked atomic.Int32
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Archive = awayArchive{asked: &asked} })
	b := r.as(admin)
	for range 3 {
		b.has(b.get(200, path("")), "jobs running")
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the archive was asked %d times, want once", n)
	}
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

// passes counts how often unfinished jobs are looked through.
type passes struct {
	service.Jobs
	n *atomic.Int32
}

func (p passes) List(ctx context.Context, t domain.TenantID, f work.Filter, cursor string) ([]*domain.Job, listing.At, error) {
	if f.Ways()[0] == listing.WayLive && cursor == "" {
		p.n.Add(1)
	}
	return p.Jobs.List(ctx, t, f, cursor)
}

// TestTheOverviewCountsOnceForAll: what runs, is suspended and waits is counted in one pass, for
// all who look.
func TestTheOverviewCountsOnceForAll(t *testing.T) {
	var n atomic.Int32
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Jobs = passes{p.Jobs, &n} })
	now := time.Now()
	r.now = func() time.Time { return now }
	waits := func() {
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInput: api.JobInput{Job: domain.Job{Script: "x", ScriptType: "cobol"}}})
	}
	r.job("gate")
	waits()
	waits()
	testwait.Until(t, "a job runs", func() bool {
		list := do(r, admin, api.JobList, api.ListJobsParams{Context: 7, JobFilter: api.JobFilter{Phase: domain.PhaseRunning}})
		return len(list.Jobs) == 1
	})
	n.Store(0)
	figures := func(as domain.ActorID, running, waiting string) {
		t.Helper()
		a := r.as(as).get(200, path(""))
		for name, want := range map[string]string{"jobs running": running, "jobs waiting for a runner": waiting} {
			if before, _, ok := strings.Cut(a.text, name); !ok || !strings.Contains(before[strings.LastIndex(before, `class="value"`):], ">"+want+"<") {
				t.Errorf("%s: want %s", name, want)
			}
		}
	}
	figures(admin, "1", "2")
	waits()
	figures(reader, "1", "2") // kept for a moment
	if got := n.Load(); got != 1 {
		t.Errorf("jobs were looked through %d times for two pages, want once", got)
	}
	now = now.Add(time.Second)
	figures(reader, "1", "3")
	close(r.gate)
}

// slowly has jobs looked through once gate lets it.
type slowly struct {
	service.Jobs
	gate *atomic.Pointer[chan struct{}]
}

func (s slowly) List(ctx context.Context, t domain.TenantID, f work.Filter, cursor string) ([]*domain.Job, listing.At, error) {
	if gate := s.gate.Load(); gate != nil && f.Ways()[0] == listing.WayLive && cursor == "" {
		<-*gate
	}
	return s.Jobs.List(ctx, t, f, cursor)
}

// TestTheOverviewDoesNotWaitForALargeCount: it shows the one before, and the new one once that is
// there.
func TestTheOverviewDoesNotWaitForALargeCount(t *testing.T) {
	var slow atomic.Pointer[chan struct{}]
	r := newRig(t, func(_ *rig, p *service.Parts) { p.Jobs = slowly{p.Jobs, &slow} })
	now := time.Now()
	r.now = func() time.Time { return now }
	waits := func(n int) {
		list := make([]api.JobInput, n)
		for i := range list {
			list[i].Job = domain.Job{Script: "x", ScriptType: "cobol"}
		}
		do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInputs: api.JobInputs{Jobs: list}})
	}
	for range 5 {
		waits(1000)
	}
	b := r.as(reader)
	b.has(b.get(200, path("")), `<span class="value">5,000</span>`)
	waits(1)
	gate := make(chan struct{})
	slow.Store(&gate)
	now = now.Add(time.Minute)
	b.has(b.get(200, path("")), `<span class="value">5,000</span>`)
	b.has(r.as(admin).get(200, path("")), `<span class="value">5,000</span>`)
	slow.Store(nil)
	close(gate)
	testwait.Until(t, "the new count is shown", func() bool { return strings.Contains(b.get(200, path("")).text, `<span class="value">5,001</span>`) })
}

// TestTheOverviewSaysWhatADecisionAsks: of one that a script has begun the name of the step says nothing.
func TestTheOverviewSaysWhatADecisionAsks(t *testing.T) {
	r := newRig(t)
	r.flow("name: pays\nsteps:\n  - {name: decision, summary: 'Pay <5>?', approval: {deadline: 2d}}\n  - {name: second, approval: {deadline: 2d}}\n")
	b := r.as(reader)
	testwait.Until(t, "two steps wait for somebody", func() bool {
		return len(do(r, admin, api.FlowExplain, api.FlowParams{Context: 7, Flow: 1}).WaitsFor) == 2
	})
	b.has(b.get(200, path("")), "Approve or reject step decision: Pay &lt;5&gt;?; step second", ">somebody has to decide<")
}

// TestWhatRunsIsNoDecision: a flow that waits for a decision names what runs beside it, too.
func TestWhatRunsIsNoDecision(t *testing.T) {
	r := newRig(t)
	defer close(r.gate)
	r.flow("name: pays\nsteps:\n  - {name: decision, approval: {deadline: 2d}}\n  - {name: busy, script: gate, script_type: words}\n")
	b := r.as(reader)
	testwait.Until(t, "a step waits for somebody, and one runs", func() bool {
		return len(do(r, admin, api.FlowExplain, api.FlowParams{Context: 7, Flow: 1}).WaitsFor) == 2
	})
	b.has(b.get(200, path("")), "Approve or reject step decision<")
	b.has(b.get(200, path("flows/1")), "Waits for somebody to approve or reject step decision.")
}

// TestTheOverviewCountsAtLeast: of what went wrong it looks at the newest alone, and says so.
func TestTheOverviewCountsAtLeast(t *testing.T) {
	r := newRig(t)
	list := make([]api.JobInput, 101)
	for i := range list {
		list[i].Job = domain.Job{Script: "fail", ScriptType: "words"}
	}
	made := do(r, admin, api.JobSubmit, api.SubmitParams{Context: 7, JobInputs: api.JobInputs{Jobs: list}})
	for i := range made.Jobs {
		r.jobEnded(api.JobParams{Context: 7, Caller: admin, ID: domain.JobID(1 + i)})
	}
	b := r.as(admin) // whose first page has it looked what waits, which holds for a while
	a := b.get(200, path(""))
	b.has(a, "At least 100 single jobs went wrong, at least 100 of them of type words", "at least 100 jobs of type words")
	b.hasNot(a, "went wrong, all")
}

// TestWhatHasHappenedIsNotToCome: a page reads of what ended after it was begun.
func TestWhatHasHappenedIsNotToCome(t *testing.T) {
	r := newRig(t)
	was := time.Now().Add(-time.Minute)
	r.now = func() time.Time { return was }
	r.jobEnded(r.job("fail"))
	b := r.as(admin)
	for _, page := range []string{"", "jobs", "jobs/10/1"} {
		if text := mainOf(b.get(200, path("%s", page)).text); strings.Contains(text, "in 1 m") || strings.Contains(text, "in 59 ") {
			t.Errorf("%q says of what has happened that it is to come: %s", page, text)
		}
	}
}

// TestAFlowThatNobodyTakesIsSaidAlike: on the list, the overview and its page it waits, and they say for whom.
func TestAFlowThatNobodyTakesIsSaidAlike(t *testing.T) {
	r := newRig(t)
	r.flow("name: n\nsteps:\n  - {name: odd, script: x, script_type: cobol}\n")
	testwait.Until(t, "its job is there", func() bool {
		return len(do(r, admin, api.JobList, api.ListJobsParams{Context: 7, JobFilter: api.JobFilter{Phase: domain.PhaseQueued}}).Jobs) == 1
	})
	b := r.as(admin)
	for _, page := range []string{"flows", "", "flows/1"} {
		text := mainOf(b.get(200, path("%s", page)).text)
		if strings.Contains(text, ">running") || !strings.Contains(text, "#s-failed") || !strings.Contains(text, "serves cobol") {
			t.Errorf("%q: want that it waits, and for whom: %s", page, text)
		}
	}
	b.has(b.get(200, path("")), "(step odd of flow 1)")
}

// TestWhoMayDoNothingIsNotNeeded: a reader looks on.
func TestWhoMayDoNothingIsNotNeeded(t *testing.T) {
	r := newRig(t)
	r.jobEnded(r.job("fail"))
	for as, want := range map[domain.ActorID]string{reader: "Needs somebody", admin: "Needs you"} {
		b := r.as(as)
		b.has(b.get(200, path("")), want+"</h2>")
	}
}
