package console_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
)

// failed makes a flow of a trigger that has failed.
func (r *rig) failed(trigger string) domain.FlowID {
	r.Helper()
	done := do(r, admin, api.FlowSubmit, api.SubmitFlowParams{Context: 7, FlowInput: api.FlowInput{File: "b.yaml", Trigger: trigger,
		Text: "name: failing\nsteps:\n  - {name: a, script: fail, script_type: words}\n"}})
	r.ended(done.Flows[0].ID)
	return done.Flows[0].ID
}

// bulkDone does a bulk operation to its end, as the node that handles alarms would; a is
// its page.
func (r *rig) bulkDone(a answer) domain.Bulk {
	r.Helper()
	_, number, ok := strings.Cut(a.Request.URL.Path, "/bulk/")
	id, err := domain.ParseBulkID(number)
	if !ok || err != nil {
		r.Fatalf("%s is no page of a bulk operation: %s", a.Request.URL, mainOf(a.text))
	}
	for {
		due, err := r.board.Due(r.Context(), 100, 0)
		if err != nil {
			r.Fatal(err)
		}
		for _, alarm := range due {
			if strings.HasPrefix(alarm.Name, "bulk:") {
				if _, err := r.bulks.HandleAlarm(r.Context(), alarm); err != nil {
					r.Fatal(err)
				}
			}
		}
		if b := do(r, admin, api.BulkShow, api.BulkParams{Context: 7, ID: id}); b.Final() {
			return *b
		}
	}
}

// TestWhatRunsIsNotOfferedToBeRetried: nor are those that are suspended.
func TestWhatRunsIsNotOfferedToBeRetried(t *testing.T) {
	r := newRig(t)
	defer close(r.gate)
	key := r.job("gate")
	testwait.Until(t, "the job runs", func() bool { return do(r, admin, api.JobShow, key).StartedMs != 0 })
	b := r.as(admin)
	a := b.get(200, path("jobs?phase=running"))
	b.has(a, `name="act" value="cancel"`)
	b.hasNot(a, `name="act" value="retry"`)
}

func TestTickedFlowsAreCountedFirst(t *testing.T) {
	r := newRig(t)
	one, two, well := r.failed("one"), r.failed("two"), r.flow("name: well\nsteps:\n  - {name: a, script: \"say x\", script_type: words}\n")
	r.ended(well)
	b := r.as(admin)
	list := b.get(200, path("flows?status=error"))
	b.has(list, `name="key" value="flow%3A1"`, `form="many"`, `<button name="act" value="retry">`, "All that the filter finds")
	b.hasNot(list, `value="cancel"`) // nothing of that status can be cancelled
	a := b.get(200, path("flows/many?status=error&act=retry&key=flow:%d&key=flow:%d&key=flow:%d", one, two, one))
	b.has(a, "Retry 2 flows", fmt.Sprintf("ramet flow retry flow:%d --failed --context 7; ramet flow retry flow:%d", one, two))
	a = b.post(200, path("flows/many?status=error"), "act", "retry", "key", fmt.Sprintf("flow:%d", one))
	b.has(a, "1 flow started again.")
	if got := a.Request.URL.Query().Get("status"); got != "error" {
		t.Errorf("one does not come back to the filter, but to %q", got)
	}
	r.ended(one)
	a = b.post(200, path("flows/many"), "act", "retry", "key", fmt.Sprintf("flow:%d", well))
	b.has(a, "This was not done:")
	b.post(200, path("flows/many"), "act", "delete", "key", fmt.Sprintf("flow:%d", well))
	b.hasNot(b.get(200, path("flows")), ">well<")
}

func TestWhatIsChosenIsLookedAt(t *testing.T) {
	r := newRig(t)
	b := r.as(admin)
	for _, p := range []string{"flows/many", "flows/many?act=retry", "flows/many?act=burn&all=yes", "jobs/many?act=delete&all=yes",
		"messages/inbox/many?act=take&all=yes",
		"flows/many?act=retry&all=yes&where=" + url.QueryEscape("flow."), "flows/many?act=retry&all=yes&from_ms=x",
		"flows/many?act=retry" + strings.Repeat("&key=flow:1", 51)} {
		b.get(400, path("%s", p))
	}
	b.post(400, path("flows/many"), "act", "delete") // not all of them, by accident
	b.has(b.post(200, path("flows/many"), "act", "delete", "key", "<script>"), "This was not done:")
	b.has(b.get(200, path("flows/many?act=delete&all=yes")), "Delete no flow", "There is no flow of which that could be done")
	b.get(404, path("bulk/7"))
	b.get(400, path("bulk/x"))
	for _, act := range acts {
		for _, list := range []string{"flows", "jobs", "letters/list", "messages/inbox", "sagas/order"} {
			harmless(t, b.send(statusAny, "GET", path("%s/many?act=%s&key=%s&text=%s", list, url.QueryEscape(act), url.QueryEscape(act), url.QueryEscape(act)), ""))
		}
		harmless(t, b.send(statusAny, "GET", path("flows/many?act=delete&key=%s&text=%s", url.QueryEscape(act), url.QueryEscape(act)), ""))
		harmless(t, b.send(statusAny, "GET", path("jobs/many?act=retry&all=yes&where=%s", url.QueryEscape(act)), ""))
	}
}

func TestAllThatAFilterFindsIsDealtWith(t *testing.T) {
	r := newRig(t)
	const n = 5
	for i := range n {
		r.failed(strconv.Itoa(i))
	}
	b := r.as(admin)
	b.has(b.get(200, path("operate/bulk")), "Nothing was done to many things at once")
	a := b.get(200, path("flows/many?act=retry&all=yes&status=error&blueprint=failing"))
	b.has(a, "Retry 5 flows", "ramet flow retry --status error --blueprint failing --failed --all --yes --context 7")
	post := between(a.text, `<div class="form"><form method="post" action="/console/`, `"`)
	if !strings.Contains(post, "to_ms=") {
		t.Errorf("what is made after the count would be dealt with, too: %s", post)
	}
	a = b.post(200, strings.ReplaceAll(post, "&amp;", "&"), "act", "retry", "all", "yes")
	done := r.bulkDone(a)
	if done.Done != n || done.Failed != 0 || !strings.Contains(done.Filter, "failed=true") {
		t.Errorf("got %+v, want %d flows started again", done, n)
	}
	b.has(b.get(200, path("bulk/%d", done.ID)), "5 of 5 done.", "blueprint: failing; ", "status: error", "<progress")
	b.has(b.get(200, path("operate/bulk")), "flow.retry", "blueprint: failing")
	b.hasNot(b.get(200, path("operate/bulk")), "--blueprint")
}

func TestABulkOperationIsCancelled(t *testing.T) {
	r := newRig(t)
	r.job("gate")
	b := r.as(admin)
	a := b.post(200, path("jobs/many"), "act", "cancel", "all", "yes")
	b.has(a, "0 of 1 done.", `data-live="/console/live?page=%2Fconsole%2Fc%2F7%2Fbulk%2F1"`, "Cancel the bulk operation")
	b.has(r.as(reader).post(200, path("bulk/1/cancel")), "This was not done: actor")
	b.hasNot(r.as(reader).get(200, path("bulk/1")), "Cancel the bulk operation")
	b.has(b.post(200, path("bulk/1/cancel")), "The bulk operation was cancelled.", "cancelled")
	b.has(b.get(200, path("operate/bulk")), "job.cancel")
}

func TestAReaderTicksNothing(t *testing.T) {
	r := newRig(t)
	r.failed("t")
	r.letter(domain.DeadLetter{Kind: domain.DeadEffect, ID: "e1", Effect: "go", Cause: "the payload is cut", MadeMs: 1000})
	b := r.as(reader)
	a := b.get(200, path("flows"))
	b.has(a, `value="compare"`) // which changes nothing
	b.hasNot(a, `value="retry"`, `value="delete"`, "All there are")
	for _, list := range []string{"jobs", "letters/list", "letters"} {
		b.hasNot(b.get(200, path("%s", list)), `type="checkbox"`, `id="many"`, `method="post" action="/console/c/7/`)
	}
	b.has(b.post(200, path("flows/many"), "act", "delete", "key", "flow:1"), "This was not done: actor")
	b.has(b.post(200, path("flows/many"), "act", "delete", "all", "yes"), "This was not done: actor")
	b.get(403, path("flows/many?act=delete&all=yes"))
	r.as(stranger).get(403, path("operate/bulk"))
}

// between is the part of a text between two others.
func between(text, from, to string) string {
	_, rest, _ := strings.Cut(text, from)
	part, _, _ := strings.Cut(rest, to)
	return part
}
