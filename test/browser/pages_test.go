package browser

import (
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// TestListsAndPagesOfOneThingFit looks at the pages that are made of a list, or of the parts
// of one thing, as TestEveryPageFitsAPhoneAndADesk does at the others.
func TestListsAndPagesOfOneThingFit(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("blueprint", "apply", "nightly/nightly.yaml")
	n.run("schedule", "create", "nightly", "--blueprint", "nightly", "--cron", "0 2 * * *", "--zone", "Europe/Brussels", "--summary", "counts the day")
	n.run("routine", "apply", n.file("name: sync\nevery: 1h\nscale: 2\nscript_type: rhai\nscript: 'print(1);'\n"))
	n.run("saga", "apply", "order-saga/order.yaml")
	n.run("event", "publish", "OrderPlaced", "--aggregate", "Order/ann", "--schema-version", "9")
	n.run("listener", "apply", n.file("name: cancelled\nblueprint: nightly\non_event: {of: Order, types: [OrderCancelled]}\n"))
	n.run("webhook", "create", "pushed", "--blueprint", "nightly", "--scheme", "github", "--secret-from", n.file("a-secret-of-some-length"))
	n.run("message", "send", "good morning", "--to", "1")
	n.run("ban", "type", "v", "--reason", "not before the audit")
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/letters"))
	b.Until(`document.querySelector("main").innerText.includes("schema version")`)
	letter := chromiumtest.Eval[string](b, `document.querySelector("tr[data-href]").dataset.href`)
	paths := []string{"sagas/order?tab=states", "routines", "routines/new", "routine?name=sync", "routine?name=sync&tab=rounds",
		"routine?name=sync&tab=definition", "routine/edit?name=sync", "webhooks", "webhook?name=pushed", "listeners", "listener?name=cancelled",
		"schedules", "schedules/calendar", "schedule?name=nightly", "schedule?name=nightly&tab=flows", "schedule?name=nightly&tab=definition",
		"blueprints", "blueprint?name=nightly", "blueprint?name=nightly&step=sales", "blueprint?name=nightly&tab=source", "blueprint?name=nightly&tab=versions",
		"blueprint?name=nightly&tab=start", "blueprint/edit?name=nightly", "effects", "letters", "letters/list", "messages", "messages/inbox", "messages/peers",
		"archive", "operate", "operate/queues", "operate/runners", "operate/nodes", "operate/bans", "operate/duties", "rights", "rights/contexts", "rights/actors",
		"rights/tokens", "rights/audit"}
	for i := range paths {
		paths[i] = "c/1/" + paths[i]
	}
	paths = append(paths, letter[len("/console/"):])
	for _, width := range []int64{390, 1440} {
		b.See(width, 844, "light")
		for _, path := range paths {
			b.Do(chromedp.Navigate(base + path))
			if width == 390 {
				n.accessible(b, path)
			}
			if wide := chromiumtest.Eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
				t.Errorf("%s is %d wide in a window of %d", path, wide, width)
			}
		}
	}
}

const town = `name: town
inputs:
  - {name: day, required: true, description: Which day is counted}
  - {name: loud, type: flag, default: "true"}
  - {name: mode, enum: [fast, slow], default: slow}
on:
  failed: {script_type: rhai, script: 'print("told");'}
steps:
  - name: a-step-with-a-name-that-is-long-indeed
    each: '["ulm", "bonn", "a town whose name is much longer than what fits into a line of a phone"]'
    key: item
    may_fail: true
    script_type: rhai
    script: 'print("measured"); if input.item == "bonn" { throw "no sensor"; }'
  - name: look
    needs: a-step-with-a-name-that-is-long-indeed
    summary: Somebody looks at what was measured
    approval:
      deadline: 2d
      approvers: [admin]
      answers:
        amount: {type: number, required: true, max: 500, description: What is paid}
        sure: {type: flag, default: "true"}
`

const charging = `jobs:
  - {script_type: rhai, script: 'step("charge", || 41 + 1); print(wait("click"));'}
`

// newer has one flow that waits for a decision and one durable job, and is signed in.
func newer(t *testing.T) (b *chromiumtest.Browser, h *hand) {
	b, n := chromiumtest.Start(t), startNode(t)
	n.run("blueprint", "apply", n.file(town))
	n.run("flow", "submit", "town", "--trigger", "monday", "--param", "day=2026-11-27")
	h = &hand{node: n, b: b, base: n.signIn(b)}
	visit(b, h.base+"c/1/flows/1", "needs approval") // its jobs have their numbers now
	n.run("job", "submit", n.file(charging))
	visit(b, h.base+"c/1/jobs", "suspended")
	visit(b, h.base+"c/1/flows/1", "needs approval")
	return b, h
}

// TestPagesOfDecisionsItemsAndMemoryFit looks at what flows and jobs have beside steps and logs.
func TestPagesOfDecisionsItemsAndMemoryFit(t *testing.T) {
	b, h := newer(t)
	h.run("schedule", "create", "weekly", "--blueprint", "town", "--cron", "0 2 * * 1", "--param", "day=2026-11-27")
	for _, width := range []int64{390, 1440} {
		for _, colours := range []string{"light", "dark"} {
			b.See(width, 844, colours)
			for path, want := range map[string]string{"flows/1": "decided by", "flows/1?step=a-step-with-a-name-that-is-long-indeed": "went wrong",
				"flows/1?tab=logs": "measured",
				"jobs/1/4":         "Send a signal", "jobs/1/4?tab=memory": "charge", "blueprint?name=town&tab=start": "Which day is counted",
				"schedule/edit?name=weekly": "Change schedule",
				"rights/secrets":            "by its name alone", "rights/secrets/new": "It is not shown again", "rights/settings": "weight",
				"": "1 more suspended", "jobs?phase=suspended": "wait click: for signal click"} {
				visit(b, h.base+"c/1/"+path, want)
				h.accessible(b, path)
				if wide := chromiumtest.Eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
					t.Errorf("%s is %d wide in a window of %d", path, wide, width)
				}
				high := chromiumtest.Eval[int](b, `Math.max(0, ...[...document.querySelectorAll(".units td.name a")].map((a) => a.offsetHeight))`)
				if high > 48 && width > 1000 {
					t.Errorf("%s: the name of an item is %d high: its column has no room", path, high)
				}
			}
		}
	}
}

// TestWhatIsRefusedIsStillThere holds that nobody types an answer, or a signal, twice.
func TestWhatIsRefusedIsStillThere(t *testing.T) {
	b, h := newer(t)
	b.Away() // what is refused is answered 400
	h.click(".sentence summary", "Approve look")
	b.Do(chromedp.SendKeys(`.sheet[open] [name="answer.amount"]`, "501"), chromedp.SendKeys(".sheet[open] [name=comment]", "after the trip"))
	h.click(".sheet[open] button", "Approve")
	h.sees("want a number, at most 500")
	b.Until(`document.querySelector('.sheet[open] [name="answer.amount"]')?.value === "501"`)
	b.Until(`document.querySelector(".sheet[open] [name=comment]").value === "after the trip"`)
	h.accessible(b, "an approval that was refused")
	b.Do(chromedp.SetValue(`.sheet[open] [name="answer.amount"]`, "48"))
	h.click(".sheet[open] button", "Approve")
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("succeeded")`)

	visit(b, h.base+"c/1/jobs/1/4", "Send a signal")
	h.click(".sentence summary", "Send a signal")
	b.Do(chromedp.SendKeys(".sheet[open] [name=payload]", "yes"))
	h.click(".sheet[open] button", "Send 1 signal")
	b.Until(`document.querySelector(".sheet[open] [name=payload]")?.value === "yes"`)
	b.Until(`document.querySelector(".sheet[open]").innerText.includes("This is no JSON")`)
	b.Do(chromedp.SetValue(".sheet[open] [name=payload]", `{"by": "ann"}`))
	h.click(".sheet[open] button", "Send 1 signal")
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("succeeded")`)
	visit(b, h.base+"c/1/jobs/1/4?tab=memory", "ann")
	h.click("td summary", "Fork")
	h.click(".sheet[open] button", "Make 1 new job")
	h.sees("This job was made of job job:1:4.")
}

// TestAFlowIsStartedByItsForm: what is typed is checked, and stands in the command, as one types.
func TestAFlowIsStartedByItsForm(t *testing.T) {
	b, h := newer(t)
	visit(b, h.base+"c/1/blueprint?name=town&tab=start", "Start 1 flow")
	b.Do(chromedp.SendKeys(`[name="param.day"]`, "2026-11-28"), chromedp.Click(`[type=checkbox][name="param.loud"]`))
	b.Until(`document.querySelector(".outcome .cmd").innerText === "ramet flow submit town --version 1 --param day=2026-11-28 --param loud=false"`)
	b.Do(chromedp.SendKeys(`[name="param.day"]`, "\r"))
	b.Until(`location.pathname.includes("/flows/2")`)
	visit(b, h.base+"c/1/flows/2?tab=data", "2026-11-28")
}
