package console_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
)

func TestTheSearchFindsWhatOneMaySee(t *testing.T) {
	r := newRig(t)
	id := r.failed("2026-11-20")
	do(r, admin, api.BlueprintApply, api.ApplyBlueprintParams{Context: 7,
		Text: "name: nightly\nsummary: counts the day\nsteps:\n  - {name: a, script: x, script_type: words}\n"})
	b := r.as(admin)
	b.has(b.get(200, path("search")), ">Flows<", ">Retry all flows that went wrong<") // all pages, and what can be done
	b.has(b.get(200, path("search?q=count+DAY")), "/console/c/7/blueprint?name=nightly")
	b.has(b.get(200, path("search?q=start+nightly")), "Start a flow of nightly", "tab=start")
	b.has(b.get(200, path("search?q=2026-11-20")), "failing 2026-11-20", "1, failed")
	b.has(b.get(200, path("search?q=queues")), "Operate: Queues")
	b.has(b.get(200, path("search?q=job:10:1")), "<span class=\"name\">job:10:1</span>", "jobs/10/1")
	// What a number or a key names is offered where it is there.
	for _, q := range []string{"812", "flow:812", "10:99", "message:10:99"} {
		b.has(b.get(200, path("search?q=%s", q)), "Nothing that you may see is called like that.")
		if got := b.get(200, path("jump?q=%s", q)).Request.URL.Path; got != "/console/c/7/search" {
			t.Errorf("%s leads to %s", q, got)
		}
	}
	b.hasNot(b.get(200, path("search?q=queues")), "<span class=\"name\">Flows</span>")
	b.has(b.get(200, path("search?q=nothing-is-called-so")), "Nothing that you may see is called like that.")
	if got := b.get(200, path("jump?q=nightly")).Request.URL; got.Path != "/console/c/7/search" || got.Query().Get("q") != "nightly" {
		t.Errorf("what is no key leads to %s", got)
	}
	if got := b.get(200, path("jump?q=flow:%d", id)).Request.URL.Path; got != "/console/c/7/flows/1" {
		t.Errorf("a key leads to %s", got)
	}
	r.as(reader).hasNot(r.as(reader).get(200, path("search?q=all")), "Retry all", "Write a new")
	r.as(stranger).get(403, path("search?q=nightly"))
	for _, text := range acts {
		if strings.HasPrefix(text, "javascript:") {
			continue // as the value of a field it does nothing
		}
		harmless(t, b.send(statusAny, "GET", path("search?q=%s", url.QueryEscape(text)), ""))
		harmless(t, b.send(statusAny, "GET", path("jump?q=%s", url.QueryEscape(text)), ""))
	}
}
