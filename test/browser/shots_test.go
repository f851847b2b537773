package browser

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

var shots = flag.String("shots", "", "a folder for pictures of every page, on a desk and a phone, in both colours")

// sleeper is a durable job that waits, and stopper one that goes wrong.
const (
	sleeper = "jobs:\n  - {script_type: rhai, script: 'step(\"measure\", || 41 + 1); wait(\"click\");'}\n"
	stopper = "jobs:\n  - {script_type: rhai, script: 'print(\"begun\"); throw \"shop 3 does not answer\";'}\n"
)

// ugly is what others may call things, and strange a blueprint that says it.
const (
	ugly = "<img src=x onerror=alert(1)> \u202edesrever\u202c 請求書の確認 \U0001f469\u200d\U0001f469\u200d\U0001f466 Z\u0351\u036b\u0343algo " +
		"one-word-that-does-not-end-and-has-no-place-at-which-it-could-be-broken-into-two-lines-of-a-phone-or-of-a-desk"
	strange = `name: a-blueprint-whose-name-is-as-long-as-it-may-be-and-says-it-all-x
params: {who: ""}
steps:
  - {name: says, script_type: rhai, script: 'print("\u001b[31mred \u001b[1;44mbold\u001b[0m " + params.who);
    let s = "x"; s.pad(20000, "w"); print(s); throw params.who;'}
  - {name: a-step-that-comes-after-it-and-has-a-long-name-too, needs: says, script_type: rhai, script: 'print(1);'}
`
)

// listPages are the pages that list things.
var listPages = []string{"", "flows", "jobs", "sagas", "routines", "routines/new",
	"webhooks", "listeners", "schedules", "schedules/calendar", "schedules/new", "blueprints", "effects",
	"letters", "letters/list", "messages", "messages/inbox", "messages/peers", "archive", "operate", "operate/queues", "operate/runners", "operate/nodes",
	"operate/bans", "operate/duties", "operate/bulk",
	"rights", "rights/contexts", "rights/actors", "rights/tokens", "rights/secrets", "rights/settings", "rights/audit"}

// TestShotsOfNothing takes pictures of a node on which nothing was done yet.
func TestShotsOfNothing(t *testing.T) {
	if *shots == "" {
		t.Skip("pictures of every page: go test ./test/browser -run TestShots -shots DIR")
	}
	b := chromiumtest.Start(t)
	n := startNode(t)
	base := n.signIn(b)
	for _, width := range []int64{1280, 390} {
		for i, path := range listPages {
			n.shoot(b, base+"c/1/"+path, fmt.Sprintf("empty-%d-%02d-%s", width, i, path), width, "light")
		}
	}
}

// shoot takes a picture of a page.
func (n *node) shoot(b *chromiumtest.Browser, address, name string, width int64, colours string) {
	n.Helper()
	b.See(width, 800, colours)
	b.Do(chromedp.Navigate(address))
	high := chromiumtest.Eval[int64](b, `Math.min(document.documentElement.scrollHeight, 1800)`)
	b.See(width, max(high, 500), colours)
	name = strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "-", "%", "").Replace(name)
	if err := os.WriteFile(filepath.Join(*shots, name[:min(len(name), 100)]+".png"), b.Picture(), 0o644); err != nil {
		n.Fatal(err)
	}
}

// TestShots takes pictures of pages for somebody to look at: of a node for development with
// work of each kind. It holds nothing, and is skipped without -shots.
func TestShots(t *testing.T) {
	if *shots == "" {
		t.Skip("pictures of every page: go test ./test/browser -run TestShots -shots DIR")
	}
	b := chromiumtest.Start(t)
	n := startNode(t, "--dev")
	base := n.signIn(b)
	n.run("blueprint", "apply", "nightly/nightly.yaml")
	n.run("blueprint", "apply", n.file(town))
	n.run("flow", "submit", "nightly", "--trigger", "2026-11-20", "--param", "closed=3")
	n.run("flow", "submit", "approval/release.yaml", "--trigger", "1.4.0")
	n.run("flow", "submit", "town", "--trigger", "monday", "--param", "day=2026-11-27")
	n.run("schedule", "create", "nightly", "--blueprint", "nightly", "--cron", "0 2 * * *", "--zone", "Europe/Brussels", "--summary", "counts the day")
	n.run("routine", "apply", n.file("name: sync\nevery: 1h\nscale: 2\nsummary: copies new orders\n"+
		"script_type: rhai\nscript: 'print(1);'\nparams: {table: orders}\n"))
	n.run("routine", "apply", n.file("name: broken\nevery: 1h\nscript_type: rhai\nscript: 'throw \"shop 3 does not answer\";'\n"))
	n.run("saga", "apply", "order-saga/order.yaml")
	n.run("event", "publish", "OrderPlaced", "--aggregate", "Order/ann", "--schema-version", "9")
	n.run("message", "send", "good morning", "--to", "1")
	n.run("ban", "type", "v", "--reason", "not before the audit")
	n.run("blueprint", "apply", n.file(strange))
	n.run("flow", "submit", "a-blueprint-whose-name-is-as-long-as-it-may-be-and-says-it-all-x", "--param", "who="+ugly,
		"--trigger", "one-word-that-does-not-end-and-at-which-no-line-could-be-broken")
	n.run("event", "publish", "OrderPlaced", "--aggregate", "Order/"+ugly, "--schema-version", "9")
	n.run("message", "send", ugly, "--to", "1")
	n.run("ban", "type", "node", "--reason", ugly)
	n.run("job", "submit", n.file(stopper))
	n.run("job", "submit", n.file(sleeper))
	visit(b, base+"c/1/jobs", "suspended")
	visit(b, base+"c/1/letters", "schema version")
	letter := strings.TrimPrefix(chromiumtest.Eval[string](b, `document.querySelector("tr[data-href]").dataset.href`), "/console/")
	b.Do(chromedp.Navigate(base + "c/1/flows?blueprint=nightly"))
	b.Until(`document.querySelector("main tbody").innerText.includes("failed")`)
	link := func(list, text string) string {
		b.Do(chromedp.Navigate(base + "c/1/" + list))
		href := chromiumtest.Eval[string](b, fmt.Sprintf(`[...document.querySelectorAll("tr[data-href]")].find((r) => r.innerText.includes(%q)).dataset.href`, text))
		return strings.TrimPrefix(href, "/console/c/1/")
	}
	nightly, count, three, release := link("flows", "nightly"), link("flows", "count"), link("flows", "town"), link("flows", "release")
	wait, bad := link("jobs", "suspended"), link("jobs", "shop 3")
	odd := link("flows", "a-blueprint-whose")
	oddJob := link("jobs?status=error", "onerror")
	instance := link("sagas/parcel", "")
	paths := []string{"", "flows", nightly, nightly + "?tab=gantt", nightly + "?tab=steps", nightly + "?tab=logs", nightly + "?tab=data", nightly + "?tab=history",
		nightly + "?step=load", count, three, three + "?step=a-step-with-a-name-that-is-long-indeed", release,
		"flows/compare?a=" + strings.TrimPrefix(nightly, "flows/") + "&b=" + strings.TrimPrefix(three, "flows/"),
		"jobs", wait, wait + "?tab=memory", wait + "?tab=history", bad, bad + "?tab=data", bad + "?tab=script", "sagas", "sagas/order", "sagas/parcel",
		"sagas/parcel?tab=states", "sagas/order?tab=states", "sagas/parcel?tab=lag", instance,
		"routines", "routine?name=sync", "routine?name=sync&tab=rounds", "routine?name=sync&tab=definition", "routine/edit?name=sync", "routine?name=broken",
		"webhooks", "listeners", "schedules", "schedules/calendar", "schedules/new",
		"schedule?name=nightly", "schedule?name=nightly&tab=flows", "schedule?name=nightly&tab=definition", "blueprints", "blueprint?name=nightly",
		"blueprint?name=nightly&tab=source",
		"blueprint?name=nightly&tab=versions", "blueprint?name=town&tab=start", "blueprint/edit?name=nightly", "effects",
		"letters", "letters/list",
		"messages", "messages/inbox", "messages/peers", "archive", "operate", "operate/queues", "operate/runners", "operate/nodes",
		"operate/bans", "operate/duties", "operate/bulk",
		"rights", "rights/contexts", "rights/actors", "rights/tokens", "rights/secrets", "rights/secrets/new", "rights/settings",
		"rights/audit", odd, odd + "?tab=gantt", odd + "?tab=steps", odd + "?tab=logs", odd + "?tab=data", odd + "?tab=history", oddJob, oddJob + "?tab=history",
		"archive?status=error", "search?q=order"}
	for i := range paths {
		paths[i] = "c/1/" + paths[i]
	}
	paths = append(paths, letter, "sessions")
	for _, width := range []int64{1280, 390} {
		for _, colours := range []string{"light", "dark"} {
			for i, path := range paths {
				n.shoot(b, base+path, fmt.Sprintf("%s-%d-%02d-%s", colours, width, i, path), width, colours)
			}
		}
	}
}
