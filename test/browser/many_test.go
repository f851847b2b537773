package browser

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// TestFiltersKeepWhatIsTyped holds that a filter of one click takes along what is typed beside
// it, sent or not, and that a condition that cannot be read is mended where it stands.
func TestFiltersKeepWhatIsTyped(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(stuck), "--trigger", "monday")
	n.run("flow", "submit", n.file(stuck), "--trigger", "tuesday")
	h := &hand{node: n, b: b, base: n.signIn(b)}
	b.Away() // a condition that cannot be read is answered with 400
	b.Do(chromedp.Navigate(h.base + "c/1/flows?where=flow.trigger+!%3D+%22sunday%22"))
	b.Until(`document.querySelectorAll("main tr[data-href]").length === 2 && document.querySelector("main").innerText.includes("failed")`)
	b.Do(chromedp.SendKeys(".by [name=trigger]", "monday"))
	h.click(".choices a", "Went wrong")
	b.Until(`location.search.includes("status=error") && document.querySelectorAll("main tr[data-href]").length === 1`)
	if got := chromiumtest.Eval[string](b, `document.querySelector(".by [name=trigger]").value + " " + document.querySelector(".by `+
		`[name=where]").value`); got != `monday flow.trigger != "sunday"` {
		t.Errorf("the filter has %q", got)
	}
	b.Do(chromedp.SendKeys(".by [name=where]", " &&\r"))
	b.Until(`document.querySelector(".by [name=where]").getAttribute("aria-invalid") === "true"`)
	n.accessible(b, "a condition that cannot be read")
	b.Do(chromedp.SendKeys(".by [name=where]", " true\r"))
	b.Until(`!document.querySelector("[aria-invalid]") && document.querySelectorAll("main tr[data-href]").length === 1`)
}

// TestManyAreDealtWithFromAListInSight ticks rows of a list that is longer than the window,
// and follows what is done to all that a filter finds.
func TestManyAreDealtWithFromAListInSight(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	for i := range 30 {
		n.run("flow", "submit", n.file(stuck), "--trigger", fmt.Sprint("t", i))
	}
	h := &hand{node: n, b: b, base: n.signIn(b)}
	const inSight = `(() => { const bar = document.querySelector(".many").getBoundingClientRect(); return bar.top > 0 && bar.bottom <= innerHeight })()`
	for _, width := range []int64{390, 1440} {
		b.See(width, 700, "light")
		b.Do(chromedp.Navigate(h.base + "c/1/flows?status=error"))
		b.Until(`document.querySelectorAll("td.pick").length === 30`)
		if !chromiumtest.Eval[bool](b, inSight) {
			t.Errorf("in a window of %d what can be done is out of sight", width)
		}
		chromiumtest.Eval[any](b, `document.querySelector("td.pick input").click()`)
		b.Until(`document.querySelector(".many .ticked").checkVisibility()`)
		if !chromiumtest.Eval[bool](b, inSight) {
			t.Errorf("in a window of %d what can be done with what is ticked is out of sight", width)
		}
		n.accessible(b, "a list with a ticked row")
	}
	chromiumtest.Eval[any](b, `document.querySelectorAll("td.pick input")[1].click()`)
	h.click(".many .ticked button", "Delete")
	h.sees("Delete 2 flows")
	h.click("main .form button", "Delete 2 flows")
	h.sees("2 flows deleted.")
	b.Until(`document.querySelectorAll("td.pick").length === 28`)
	h.click(".many .all a", "Delete")
	h.sees("Delete 28 flows")
	n.accessible(b, "what will be done to many")
	h.click("main .form button", "Delete 28 flows")
	b.Until(`location.pathname.includes("/bulk/") && document.querySelector("main").innerText.includes("28 of 28 done.")`)
	n.accessible(b, "a bulk operation")
	b.Do(chromedp.Navigate(h.base + "c/1/operate/bulk"))
	h.sees("flow.delete")
	// The list lives: another one comes by itself, behind its button.
	n.run("flow", "submit", n.file(stuck), "--trigger", "last")
	n.run("flow", "delete", "--all", "--yes")
	b.Until(`!document.querySelector(".fresh").hidden`)
	h.click(".fresh button", "1 new")
	b.Until(`document.querySelectorAll("tr[data-href]:not([hidden])").length === 2`)
}
