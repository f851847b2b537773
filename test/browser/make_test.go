package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// TestThingsAreMadeByForms makes a schedule as a person does, who types something wrong at
// first; the other forms are looked at in each width and colour.
func TestThingsAreMadeByForms(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("blueprint", "apply", "nightly/nightly.yaml")
	h := &hand{node: n, b: b, base: n.signIn(b)}
	b.See(1440, 900, "light")
	b.Do(chromedp.Navigate(h.base + "c/1/schedules"))
	h.click("main a.button", "New schedule")
	b.Until(`!!document.querySelector(".making [name=name]")`)
	b.Do(chromedp.SendKeys(".making [name=name]", "night"), chromedp.SendKeys(".making [name=blueprint]", "nightly"),
		chromedp.SendKeys(".making [name=cron]", "0 2 * *"))
	b.Until(`document.querySelector("[name=cron]").getAttribute("aria-invalid") === "true" && !!document.querySelector("#about-cron.fault")`)
	n.accessible(b, "a form with a fault")
	b.Do(chromedp.SendKeys(".making [name=cron]", " *"))
	b.Until(`document.querySelectorAll(".outcome tbody tr").length === 10 && !document.querySelector("[aria-invalid]")`)
	b.Until(`document.querySelector(".outcome code").innerText === "ramet schedule create night --blueprint nightly --cron '0 2 * * *'"`)
	if got := chromiumtest.Eval[string](b, `document.querySelector(".making [name=name]").value`); got != "night" {
		t.Errorf("the check left %q of the name", got)
	}
	h.click(".making button", "Make 1 schedule")
	h.sees("The schedule night is made")
	if out := n.run("schedule", "show", "night"); !strings.Contains(out, "0 2 * * *") {
		t.Errorf("it was made as %s", out)
	}
	for _, width := range []int64{390, 1440} {
		for _, colours := range []string{"light", "dark"} {
			b.See(width, 844, colours)
			for _, path := range []string{"schedules/new", "rights/new", "rights/contexts/new", "rights/actors/new", "rights/tokens/new"} {
				b.Do(chromedp.Navigate(h.base + "c/1/" + path))
				n.accessible(b, path)
				if wide := chromiumtest.Eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
					t.Errorf("%s is %d wide in a window of %d", path, wide, width)
				}
			}
		}
	}
}
