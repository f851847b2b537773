package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// maxClicks is how many clicks a task may take, from the overview on.
const maxClicks = 3

// hand clicks as a person does, and counts.
type hand struct {
	*node
	b      *chromiumtest.Browser
	base   string
	clicks int
}

// task begins one at the overview.
func (h *hand) task(name string, do func()) {
	h.Helper()
	h.b.Do(chromedp.Navigate(h.base + "c/1/"))
	h.clicks = 0
	do()
	if h.clicks > maxClicks {
		h.Errorf("%s takes %d clicks, want at most %d", name, h.clicks, maxClicks)
	}
}

// click clicks the first thing that can be seen and has a text, once it is there.
func (h *hand) click(css, text string) {
	h.Helper()
	find := fmt.Sprintf(`[...document.querySelectorAll(%q)].find((e) => e.checkVisibility() && e.textContent.includes(%q))`, css, text)
	h.b.Until("!!" + find)
	chromiumtest.Eval[bool](h.b, "setTimeout(() => "+find+"?.click()), true") // an answer before the page is left
	h.clicks++
}

// sees waits until the page says something.
func (h *hand) sees(text string) {
	h.Helper()
	h.b.Until(fmt.Sprintf(`document.querySelector("main").innerText.includes(%q)`, text))
}

const stuck = `name: stuck
steps:
  - {name: a, script: "throw \"the shop does not answer\";", script_type: rhai}
  - {name: b, needs: a, script: "print(1);", script_type: rhai}
`

func TestTasksTakeThreeClicks(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(stuck))
	n.run("blueprint", "apply", "nightly/nightly.yaml")
	n.run("schedule", "create", "nightly", "--blueprint", "nightly", "--cron", "0 2 * * *")
	n.run("schedule", "pause", "nightly")
	for _, cron := range []string{"0 3 * * *", "0 4 * * *"} {
		n.run("schedule", "apply", n.file("{name: hourly, blueprint: nightly, cron: \""+cron+"\"}\n"))
	}
	n.run("saga", "apply", "order-saga/order.yaml")
	n.run("event", "publish", "OrderPlaced", "--aggregate", "Order/ann", "--schema-version", "9")
	n.run("job", "submit", n.file("jobs:\n  - {script_type: shell, script: \"echo tick 1; sleep 3; echo tick 2; exec sleep 600\"}\n"))
	h := &hand{node: n, b: b, base: n.signIn(b)}
	b.See(1440, 900, "light")
	b.Do(chromedp.Navigate(h.base + "c/1/letters"))
	h.sees("schema version")
	b.Do(chromedp.Navigate(h.base + "c/1/flows/1"))
	h.sees("failed")
	h.task("finding the flow that is stuck, and why", func() {
		h.click("main a", "stuck")
		h.sees("the shop does not answer")
	})
	h.task("retrying what failed of it", func() {
		h.click("main a", "stuck")
		h.click("summary", "Retry")
		h.click(".sheet[open] button", "Retry")
		h.sees("was started again")
	})
	h.task("following a log", func() {
		h.click(".rail a", "Jobs")
		h.click("main td a", "job:1:")
		b.Until(`document.querySelector("[role=log]").innerText.includes("tick 1")`)
		b.Until(`document.querySelector("[role=log]").innerText.includes("tick 2")`) // which came after the page
	})
	h.task("stopping a tenant", func() {
		h.click(".rail a", "Operate")
		h.click("summary", "Stop context")
		b.Do(chromedp.SendKeys(".sheet[open] input[name=reason]", "it floods the others"))
		h.click(".sheet[open] button", "Hold up")
		h.sees("It is held up: context")
	})
	h.task("replaying the dead letters of a cause", func() {
		h.click(".rail a", "Dead letters")
		h.click("summary", "Replay 1")
		h.click(".sheet[open] button", "Replay 1")
		h.sees("1 of 1 done")
	})
	h.task("undoing a change of a schedule", func() {
		h.click(".rail a", "Schedules")
		h.click("summary", "Undo")
		h.click(".sheet[open] button", "Undo the change")
		h.sees("when is 0 3 * * *")
	})
	h.task("undoing a pause of a schedule", func() {
		h.click(".rail a", "Schedules")
		h.click("summary", "Resume")
		h.click(".sheet[open] button", "Resume")
		h.sees("goes on")
	})
}

func TestThePaletteGoesByKeysAlone(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("blueprint", "apply", "nightly/nightly.yaml")
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/"))
	b.Press("k", chromedp.ModifierCtrl)
	b.Until(`!!document.querySelector(".palette[open] a")`)
	n.accessible(b, "the palette")
	b.Press("nightly")
	b.Until(`document.querySelector(".palette a").innerText.includes("nightly")`)
	b.Press("\r")
	b.Until(`location.pathname.endsWith("/blueprint") && !!document.querySelector("h1")`)
}

// TestFaultsOfANodeForDevelopment causes faults by the buttons of `ramet serve --dev`, and
// the flow comes to its end all the same.
func TestFaultsOfANodeForDevelopment(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t, "--dev")
	testwait.Until(t, "the worker of the samples is there", func() bool { return strings.Contains(n.run("runner", "list"), "greet") })
	n.run("flow", "submit", "count", "--trigger", "t", "--param", "upto=4")
	h := &hand{node: n, b: b, base: n.signIn(b)}
	b.Away() // the node restarts
	for _, fault := range []string{"Drop all leases", "Kill the scripts", "Lose the next answer", "Cut the board off", "Fail the next effect",
		"Restart the node"} {
		b.Do(chromedp.Navigate(h.base + "c/1/flows"))
		h.sees("count")
		h.click(".fault-tray summary", fault)
		h.click(".fault-tray .sheet[open] button", fault)
		b.Until(`!!document.querySelector(".flash")`)
		if chromiumtest.Eval[bool](b, `!!document.querySelector(".flash.unwell")`) {
			t.Errorf("%s: %s", fault, chromiumtest.Eval[string](b, `document.querySelector(".flash").innerText`))
		}
	}
	n.accessible(b, "the faults")
	n.log.Await(t, "event=node.started", 2)
	b.Until(`document.querySelector("#node-chip .stale").hidden`) // it is there, with the same session
	h.click("main tr a", "2")
	b.Until(`document.querySelector("main").innerText.includes("needs approval")`)
	if out := n.run("job", "list", "--where", `job.step == "count" && job.flow_id == 2 && job.attempt > 1`, "--count"); out == "0 jobs" {
		t.Error("nothing was tried again")
	}
}
