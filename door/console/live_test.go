package console_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// livePath is where a page of context 7 is followed.
func livePath(format string, args ...any) string {
	return "live?page=" + url.QueryEscape("/console/"+path(format, args...))
}

// followed is a page as a browser has it that follows it.
type followed struct {
	*rig
	events <-chan [2]string
	lines  []string
	id     string
	last   string // the name of the last event
	node   string // what was said of the node last
}

// followPage follows a page of context 7.
func (r *rig) followPage(as domain.ActorID, page string, header ...string) (f *followed, end func()) {
	r.Helper()
	events, end := r.follow(as, livePath("%s", page), header...)
	return &followed{rig: r, events: events}, end
}

// next takes an event, and reports whether one came.
func (f *followed) next() bool {
	f.Helper()
	e, open := <-f.events
	if !open {
		return false
	}
	var data struct {
		ID, From, Text string
		Lines          []struct {
			At, Drop int
			Add      []string
		}
	}
	if err := json.Unmarshal([]byte(e[1]), &data); err != nil {
		f.Fatal(err)
	}
	switch f.last = e[0]; f.last {
	case "whole":
		f.lines, f.id = strings.Split(data.Text, "\n"), data.ID
	case "node":
		f.node = e[1]
	case "patch":
		if data.From != f.id {
			f.Fatalf("a patch of %q came to who has %q", data.From, f.id)
		}
		for _, h := range slices.Backward(data.Lines) {
			f.lines = slices.Replace(f.lines, h.At, h.At+h.Drop, h.Add...)
		}
		f.id = data.ID
	}
	return true
}

// until takes events until the page has a text.
func (f *followed) until(text string) {
	f.Helper()
	for !strings.Contains(strings.Join(f.lines, "\n"), text) {
		if !f.next() {
			f.Fatalf("the stream ended with %s before the page had %q: %s", f.last, text, strings.Join(f.lines, "\n"))
		}
	}
}

func TestAFlowIsFollowed(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: a\nsteps: [{name: x, script: gate, script_type: words}]")
	f, end := r.followPage(reader, path("flows/%d", id)[len("c/7/"):])
	defer end()
	f.until("<h1>a t</h1>")
	f.until("Step x runs.")
	close(r.gate)
	f.until("succeeded")
	got := strings.Join(f.lines, "\n")
	page := r.as(reader).get(200, path("flows/%d", id))
	for _, line := range []string{"<title>x: succeeded", "<h1>a t</h1>"} {
		if !strings.Contains(got, line) || !strings.Contains(page.text, line) {
			t.Errorf("the page and what followed it are not both with %q", line)
		}
	}
}

// TestWhatHasEndedIsFollowed: somebody else may start it again, or delete it.
func TestWhatHasEndedIsFollowed(t *testing.T) {
	r := newRig(t)
	id, job := r.flow("name: a\nsteps: [{name: x, script: \"gate\\nfail\", script_type: words}]"), r.job("gate\nfail")
	r.gate <- struct{}{}
	r.gate <- struct{}{}
	r.ended(id)
	f, end := r.followPage(admin, path("flows/%d", id)[len("c/7/"):])
	defer end()
	f.until("failed")
	j, end := r.followPage(admin, path("jobs/%d/%d", job.Caller, job.ID)[len("c/7/"):])
	defer end()
	j.until("Retry the job")
	do(r, admin, api.FlowRetry, api.RetryFlowParams{FlowParams: api.FlowParams{Context: 7, Flow: id}, Failed: true})
	f.until("Step x runs.")
	do(r, admin, api.JobRetry, job)
	j.until("Cancel the job")
	j.until("attempt=2")
	close(r.gate)
	r.ended(id)
	do(r, admin, api.FlowDelete, api.DeleteFlowParams{FlowParams: api.FlowParams{Context: 7, Flow: id}})
	for f.next() {
	}
	if text := strings.Join(f.lines, "\n"); f.last != "end" || !strings.Contains(text, "There is no such thing") {
		t.Errorf("a flow that was deleted ended with %s: %s", f.last, text)
	}
}

// TestASilentPageSaysThatTheNodeIsThere: nothing else tells a browser from one that hangs.
func TestASilentPageSaysThatTheNodeIsThere(t *testing.T) {
	r := newRig(t, func(r *rig, _ *service.Parts) { r.beat = 10 * time.Millisecond })
	f, end := r.followPage(reader, "operate/bans")
	defer end()
	for f.next() && f.last != "beat" {
	}
	if f.last != "beat" {
		t.Errorf("it ended with %s", f.last)
	}
}

// TestWhoComesLaterIsShownNothingOlder: a ban tells nobody of itself, and what others look at was made before it.
func TestWhoComesLaterIsShownNothingOlder(t *testing.T) {
	r := newRig(t)
	first, end := r.followPage(admin, "operate/bans")
	defer end()
	first.until("Nothing is held up")
	whole := domain.BanScope{Kind: domain.BanContext, Context: 7}
	do(r, admin, api.BanSet, api.BanParams{In: 7, BanInput: api.BanInput{BanScope: whole, Level: domain.BanPick, Reason: "r"}})
	later, end := r.followPage(admin, "operate/bans")
	defer end()
	for len(later.lines) == 0 && later.next() {
	}
	if text := strings.Join(later.lines, "\n"); !strings.Contains(text, "is stopped") {
		t.Errorf("a page that was opened after a ban has become one from before it: %s", text)
	}
}

// TestAPageSaysWhenItsNodeIsWholeAgain, and that it is not: it lives as long as what is missing is missing.
func TestAPageSaysWhenItsNodeIsWholeAgain(t *testing.T) {
	var away atomic.Pointer[error]
	r := newRig(t, func(r *rig, p *service.Parts) {
		p.Board = func(context.Context) error {
			if err := away.Load(); err != nil {
				return *err
			}
			return nil
		}
	})
	do(r, admin, api.ContextGrant, api.GrantParams{Context: 7, Actor: domain.Operator, Role: domain.Admin})
	f, end := r.followPage(domain.Operator, "operate/bans")
	defer end()
	says := func(want string) {
		for !strings.Contains(f.node, want) {
			if !f.next() {
				t.Fatalf("it ended with %s, and the node was said to be %s", f.last, f.node)
			}
		}
	}
	says(`"away":false`)
	err := errors.New("the board is away")
	away.Store(&err)
	says(`"title":"the board is away"`)
	away.Store(nil)
	says(`"away":false`)
}

func TestAListIsFollowed(t *testing.T) {
	r := newRig(t)
	for _, page := range []string{"flows", "jobs", ""} {
		f, end := r.followPage(reader, page)
		defer end()
		f.until("</h1>")
		r.ended(r.flow("name: one-" + page + "\nsteps: [{name: x" + page + ", script: say a, script_type: words}]"))
		if page == "jobs" {
			f.until("x" + page)
		} else if page == "flows" {
			f.until("one-" + page)
		}
	}
}

func TestWhoGoesOnHasMissedNothing(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: a\nsteps:\n  - {name: look, kind: approval}\n  - {name: x, needs: look, script: gate, script_type: words}\n")
	page := path("flows/%d", id)[len("c/7/"):]
	f, end := r.followPage(reader, page)
	f.until("needs approval")
	end()
	do(r, admin, api.FlowApprove, api.DecideParams{StepParams: api.StepParams{FlowParams: api.FlowParams{Context: 7, Flow: id}, Step: "look"}})
	again, end := r.followPage(reader, page, "Last-Event-ID", f.id)
	defer end()
	again.lines, again.id = f.lines, f.id
	again.until("Step x runs.")
	close(r.gate)
	again.until("succeeded")
}

func TestWhatOneIsShownFollowsFromOnesRights(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: a\nsteps: [{name: look, kind: approval}]")
	page := path("flows/%d", id)[len("c/7/"):]
	boss, end := r.followPage(admin, page)
	defer end()
	f, end := r.followPage(reader, page)
	defer end()
	boss.until("Approve look")
	f.until("needs approval")
	if text := strings.Join(f.lines, "\n"); strings.Contains(text, "Approve look</summary>") || strings.Contains(text, `method="post"`) {
		t.Errorf("a reader is offered: %s", text)
	}
	// Who is made an admin is offered more, with the next change.
	do(r, admin, api.ContextGrant, api.GrantParams{Context: 7, Actor: reader, Role: domain.Admin})
	do(r, admin, api.FlowPause, api.FlowParams{Context: 7, Flow: id})
	f.until("Resume")
	// Who has no role any more is shown nothing more.
	for _, role := range []domain.ContextRole{domain.Admin, domain.Reader} {
		do(r, admin, api.ContextRevoke, api.GrantParams{Context: 7, Actor: reader, Role: role})
	}
	do(r, admin, api.FlowResume, api.FlowParams{Context: 7, Flow: id})
	boss.until("Pause the flow")
	before := strings.Join(f.lines, "\n")
	for f.next() {
	}
	if f.last != "error" || strings.Join(f.lines, "\n") != before {
		t.Errorf("it ended with %s", f.last)
	}
}

func TestASessionThatEndedIsShownNothingMore(t *testing.T) {
	r := newRig(t)
	id := r.flow("name: a\nsteps: [{name: look, kind: approval}]")
	b := r.as(reader)
	events, end := b.follow(livePath("flows/%d", id))
	defer end()
	f := &followed{rig: r, events: events}
	f.until("needs approval")
	b.post(200, "sign-out")
	do(r, admin, api.FlowPause, api.FlowParams{Context: 7, Flow: id})
	// What was sent before that may still be on its way.
	for f.next() {
	}
	if text := strings.Join(f.lines, "\n"); f.last != "error" || strings.Contains(text, "paused") {
		t.Errorf("it ended with %s, and has shown %s", f.last, text)
	}
}

func TestWhatCannotBeFollowed(t *testing.T) {
	r := newRig(t)
	id := r.flow(nightly)
	r.ended(id)
	b := r.as(reader)
	accept := []string{"Accept", "text/event-stream"}
	b.send(404, "GET", livePath("nowhere"), "", accept...)
	b.send(404, "GET", livePath("archive"), "", accept...)
	b.send(404, "GET", livePath("rights/tokens"), "", accept...)
	for _, page := range []string{"", "/console/", "/console/sessions", "//elsewhere/console/c/7/", "http://elsewhere/", "%zz",
		"/console/c/7/../../admin", "\x00"} {
		a := b.send(statusAny, "GET", "live?page="+url.QueryEscape(page), "", accept...)
		if a.StatusCode != 400 && a.StatusCode != 404 {
			t.Errorf("%q: got %d", page, a.StatusCode)
		}
	}
	r.as(stranger).send(403, "GET", livePath("flows/%d", id), "", accept...)
	r.stranger().send(401, "GET", livePath("flows/%d", id), "", accept...)
	// What is not there is a page that says so, and then nothing more comes.
	for _, page := range []string{"flows/99", "flows/x"} {
		f, end := r.followPage(reader, page)
		for f.next() {
		}
		if end(); f.last != "end" || len(f.lines) == 0 {
			t.Errorf("%s: it ended with %s", page, f.last)
		}
	}
}

// TestEveryLivePageCanBeFollowed looks at each page that says where it is followed.
func TestEveryLivePageCanBeFollowed(t *testing.T) {
	r := newRig(t)
	r.ended(r.flow(nightly))
	id := r.flow("name: a\nsteps: [{name: look, kind: approval}]")
	b := r.as(admin)
	for _, page := range []string{"", "flows", path("flows/%d", id)[len("c/7/"):], "jobs", "sagas", "schedules", "webhooks", "listeners", "effects",
		"effect?name=go", "letters",
		"letters/list", "messages", "messages/inbox",
		"messages/peers", "operate", "operate/queues", "operate/runners", "operate/bans"} {
		a := b.get(statusAny, path("%s", page))
		_, live, lives := strings.Cut(a.text, `data-live="/console/`)
		if !lives {
			if a.StatusCode == 200 {
				t.Errorf("%q does not live", page)
			}
			continue
		}
		live, _, _ = strings.Cut(live, `"`)
		events, end := b.follow(strings.ReplaceAll(live, "&amp;", "&"))
		f := &followed{rig: r, events: events}
		f.until("<h1")
		end()
	}
}
