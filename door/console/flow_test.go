package console_test

import (
	"bufio"
	"fmt"
	nethttp "net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

// nightly fails in one of three jobs, has a step that never begins and one that comes last.
const nightly = `name: nightly
params: {day: "2026-11-20"}
steps:
  - {name: rates, script: "say rates are there\nrate=1.2", script_type: words}
  - {name: sales, needs: rates, script: "say counting\nerr shop does not answer\nfail", script_type: words, shard: {count: 3}}
  - {name: report, needs: sales, script: say never, script_type: words}
  - {name: tell, phase: 1, script: say done, script_type: words}
output: {rate: rates.rate}
`

// TestALargeDrawingIsEnteredWithoutScript: of one that is higher or wider than the window the first step may be out of sight.
func TestALargeDrawingIsEnteredWithoutScript(t *testing.T) {
	r := newRig(t)
	text := "name: a\nsteps:\n  - {name: root, kind: approval}\n"
	for i := range 30 {
		text += fmt.Sprintf("  - {name: s%d, needs: root, script: say %d, script_type: words}\n", i, i)
	}
	large, small := r.flow(text), r.flow("name: b\nsteps: [{name: root, kind: approval}]")
	b := r.as(reader)
	a := b.get(200, path("flows/%d?step=s7", large))
	b.has(a, `href="#step-here"`, "Into the drawing")
	_, here, _ := strings.Cut(a.text, `data-step="s7"`)
	if here, _, _ = strings.Cut(here, ">"); !strings.Contains(here, `id="step-here"`) || strings.Count(a.text, `id="step-here"`) != 1 {
		t.Errorf("the chosen step is not the place, or not the only one: %s", here)
	}
	b.hasNot(b.get(200, path("flows/%d", small)), "step-here") // all of it is there
}

func TestAFlowThatFailedSaysWhatAndOffersToMendIt(t *testing.T) {
	r := newRig(t)
	id := r.flow(nightly)
	r.ended(id)
	b := r.as(admin)
	a := b.get(200, path("flows/%d", id))
	b.has(a, "nightly t", "Step sales failed", "shop does not answer (exit code 3)", "Retry", "Accept sales", "ramet flow retry 1 --failed --context 7",
		`<title>sales: failed`, `class="node failed chosen"`, `<title>report: skipped`, "phase 1", "copy as command", "ramet flow show 1 --context 7")
	for tab, want := range map[string]string{"gantt": "stretch failed", "steps": ">shard</td>", "logs": "shop does not answer",
		"logs&by=time": "In the order of time</b>", "data": "2026-11-20", "history": "submitted the flow"} {
		b.has(b.get(200, path("flows/%d?tab=%s", id, tab)), want, `aria-current="page"`)
	}
	b.has(b.get(200, path("flows/%d?step=rates", id)), "rates are there", `href="/console/c/7/jobs/10/1"`)
	b.has(b.get(200, path("flows")), "nightly", "failed")
	b.has(b.get(200, path("")), "1 flow went wrong, nightly: step sales: exit code 3.", "nightly t")
}

func TestAReaderIsOfferedNothingAndRefusedWhatItTries(t *testing.T) {
	r := newRig(t)
	id := r.flow(nightly)
	r.ended(id)
	for _, who := range []domain.ActorID{reader, executor} {
		b := r.as(who)
		a := b.get(200, path("flows/%d", id))
		b.has(a, "Step sales failed")
		b.hasNot(a, `method="post" action="/console/c/7/`)
		for _, act := range []string{"retry", "cancel", "delete", "pause"} {
			b.has(b.post(200, path("flows/%d/%s", id, act)), "This was not done: actor")
		}
		job := b.get(200, path("jobs/10/1"))
		b.hasNot(job, `method="post" action="/console/c/7/`)
		b.has(b.post(200, path("jobs/10/1/cancel")), "This was not done: actor")
		b.hasNot(b.get(200, path("flows/%d?tab=history", id)), "was not allowed to") // the audit log is not theirs to read
	}
	b := r.as(admin)
	testwait.Until(t, "the audit log has the denial", func() bool {
		return strings.Contains(b.get(200, path("flows/%d?tab=history", id)).text, "actor 30")
	})
	b.has(b.get(200, path("flows/%d?tab=history", id)), "<b>actor 30</b> was not allowed to ")
}

func TestAFlowIsSteered(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: release\nsteps:\n  - {name: build, script: gate, script_type: words}\n  - {name: look, kind: approval, needs: build}\n")
	b := r.as(admin)
	a := b.post(200, path("flows/%d/pause", id))
	b.has(a, "The flow is paused.", "Resume", `data-live="/console/live?page=`)
	b.hasNot(b.get(200, path("flows/%d", id)), "The flow is paused.") // it is said where the action led to
	b.has(b.post(200, path("flows/%d/resume", id)), "The flow goes on.", "Pause")
	close(r.gate)
	r.deciding(id)
	b.has(b.get(200, path("flows/%d", id)), "Waits for somebody to approve or reject", "Approve look", "needs approval", "ramet flow approve 1 look")
	b.has(b.get(200, path("")), "needs approval")
	b.post(200, path("flows/%d/approve", id), "step", "look", "comment", "figures checked")
	if v := r.ended(id); v.Status != domain.FlowFinished {
		t.Fatalf("got %+v", v)
	}
	testwait.Until(t, "the audit log has the approval", func() bool {
		return strings.Contains(b.get(200, path("flows/%d?tab=history", id)).text, "figures checked")
	})
	b.has(b.get(200, path("flows/%d?tab=history", id)), "<b>actor 10</b> paused it", "<b>actor 10</b> resumed it",
		`<b>actor 10</b> approved <span class="soft">step look`)
	b.has(b.post(200, path("flows/%d/cancel", id)), "This was not done")
	b.post(404, path("flows/%d/explode", id))
}

// deciding waits until a flow waits for a person.
func (r *rig) deciding(id domain.FlowID) {
	r.Helper()
	events, end := r.follow(admin, livePath("flows/%d", id))
	defer end()
	for range events {
		if x := do(r, admin, api.FlowExplain, api.FlowParams{Context: 7, Flow: id}); x.Standing == domain.StandingDeciding {
			return
		}
	}
	r.Fatal("it never waits for a person")
}

// follow reads the events of a stream, as name and data, until end is called.
func (r *rig) follow(as domain.ActorID, path string, header ...string) (events <-chan [2]string, end func()) {
	r.Helper()
	return r.as(as).follow(path, header...)
}

func (b *browser) follow(path string, header ...string) (events <-chan [2]string, end func()) {
	b.Helper()
	req, err := nethttp.NewRequestWithContext(b.Context(), "GET", b.server.URL+"/console/"+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.Fatal(err)
	}
	if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/event-stream" {
		b.Fatalf("%s: got %s %v", path, resp.Status, resp.Header)
	}
	found := make(chan [2]string, 100)
	go func() {
		defer close(found)
		name := ""
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 4<<20)
		for lines.Scan() {
			if word, rest, _ := strings.Cut(lines.Text(), ": "); word == "event" {
				name = rest
			} else if word == "data" {
				found <- [2]string{name, rest}
			}
		}
	}()
	return found, func() { resp.Body.Close() }
}

func TestFlowsAreFiltered(t *testing.T) {
	r := newRig(t)
	r.ended(r.flow(nightly))
	r.ended(r.flow("name: good\nsteps: [{name: x, script: say a, script_type: words}]"))
	b := r.as(reader)
	a := b.get(200, path("flows?status=error"))
	b.has(a, "nightly", "ramet flow list --status error --context 7")
	b.hasNot(a, ">good<")
	a = b.get(200, path("flows?where=flow.retried+%%3E+0"))
	b.has(a, "No flow is like that", "Show all flows")
	b.has(b.get(400, path("flows?where=flow.")), `class="below fault" id="about-where"`)
	b.get(400, path("flows?status=odd"))
	b.get(400, path("flows?cursor=odd"))
	a = b.get(200, path("jump?q=1"))
	if got := a.Request.URL.Path; got != "/console/c/7/flows/1" {
		t.Errorf("jumped to %s", got)
	}
	a = b.get(200, path("jump?q=10:2"))
	if got := a.Request.URL.Path; got != "/console/c/7/jobs/10/2" {
		t.Errorf("jumped to %s", got)
	}
}

func TestAnEmptyContextNamesTheCommand(t *testing.T) {
	r := newRig(t)
	b := r.as(reader)
	b.has(b.get(200, path("")), "Nothing runs, and nothing needs you. Doctor has 2 warnings, below.", "nobody runs jobs now",
		"ramet flow submit nightly.yaml --context 7")
	b.has(b.get(200, path("flows")), "There is no flow yet", "ramet flow submit")
	b.has(b.get(200, path("jobs")), "There is no job yet", "ramet job submit")
}

func TestALargeGraphIsFolded(t *testing.T) {
	r := newRig(t)
	var text strings.Builder
	text.WriteString("name: wide\non_error: continue\nsteps:\n  - {name: begin, script: say a, script_type: words}\n")
	for i := range 120 {
		script := "say a"
		if i == 60 {
			script = "fail"
		}
		fmt.Fprintf(&text, "  - {name: part%d, needs: begin, script: %s, script_type: words}\n", i, script)
	}
	id := r.flow(text.String())
	r.ended(id)
	b := r.as(reader)
	a := b.get(200, path("flows/%d", id))
	b.has(a, "stand in one box", `<title>part0 … part119: failed 119/120</title>`, "unfold=yes", "Step part60 failed")
	b.hasNot(a, `data-step="part7"`)
	a = b.get(200, path("flows/%d?unfold=yes", id))
	b.has(a, `data-step="part7"`, `data-step="part60"`)
	b.hasNot(a, "stand in one box")
}

// TestListsSayWhatAFlowAwaits: one that only a person moves on is not called running.
func TestListsSayWhatAFlowAwaits(t *testing.T) {
	r := newRig(t)
	asks := r.flow("name: asks\nsteps:\n  - {name: look, kind: approval}\n  - {name: b, needs: look, script: gate, script_type: words}\n")
	r.flow("name: works\nsteps:\n  - {name: a, script: gate, script_type: words}\n")
	deciding := api.ListFlowsParams{Context: 7, FlowFilter: api.FlowFilter{Awaits: domain.AwaitsDecision}}
	testwait.Until(t, "the flow waits for a decision", func() bool { return len(do(r, reader, api.FlowList, deciding).Flows) == 1 })
	b := r.as(reader)
	a := b.get(200, path("flows?awaits=decision"))
	b.has(a, ">asks<", "needs approval", `<a href="/console/c/7/flows" aria-current="true">Need approval</a>`, "ramet flow list --awaits decision")
	b.hasNot(a, ">works<")
	a = b.get(200, path("flows?awaits=jobs"))
	b.has(a, ">works<")
	b.hasNot(a, ">asks<")
	b.has(b.get(200, path("flows?awaits=others")), "No flow is like that")
	b.has(b.get(400, path("flows?awaits=odd")), "want jobs, decision or others")
	do(r, admin, api.FlowApprove, api.DecideParams{StepParams: api.StepParams{FlowParams: api.FlowParams{Context: 7, Flow: asks}, Step: "look"}})
	testwait.Until(t, "the flow works again", func() bool { return len(do(r, reader, api.FlowList, deciding).Flows) == 0 })
	b.hasNot(b.get(200, path("flows")), "needs approval")
	close(r.gate)
}

// TestLinesOfSeveralLogsHaveNamesOfTheirOwn: a link to a line of a flow's logs leads to that line.
func TestLinesOfSeveralLogsHaveNamesOfTheirOwn(t *testing.T) {
	r := newRig(t)
	f := r.flow("name: n\nsteps:\n  - {name: a, script: say one, script_type: words}\n  - {name: b, script: say two, script_type: words}\n")
	r.ended(f)
	b := r.as(reader)
	a := b.get(200, path("flows/%d?tab=logs", f))
	seen := map[string]bool{}
	for _, found := range regexp.MustCompile(` id="([^"]*)"`).FindAllStringSubmatch(a.text, -1) {
		if seen[found[1]] {
			t.Errorf("two things are called %q", found[1])
		}
		seen[found[1]] = true
	}
	links := regexp.MustCompile(`class="n" href="#([^"]*)"`).FindAllStringSubmatch(a.text, -1)
	if len(links) != 2 || !seen[links[0][1]] || !seen[links[1][1]] || links[0][1] == links[1][1] {
		t.Errorf("the lines are linked by %q", links)
	}
}

// TestAPausedFlowIsPausedSinceItsPause: its own begin says nothing of that.
func TestAPausedFlowIsPausedSinceItsPause(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: hold\nsteps:\n  - {name: wait, script: gate, script_type: words}\n")
	p := api.FlowParams{Context: 7, Flow: id}
	do(r, admin, api.FlowPause, p)
	bans := do(r, admin, api.BanList, api.ListBansParams{Context: 7}).Bans
	var x domain.FlowExplanation
	testwait.Until(t, "its keeper has seen the pause", func() bool {
		x = do(r, reader, api.FlowExplain, p)
		return x.Standing == domain.StandingPaused
	})
	if len(bans) != 1 || x.SinceMs != bans[0].AtMs {
		t.Errorf("got %+v, want since the pause: %+v", x, bans)
	}
	close(r.gate)
}
