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
	n.run("saga", "apply", "order-saga/order.yaml")
	n.run("event", "publish", "OrderPlaced", "--aggregate", "Order/ann", "--schema-version", "9")
	n.run("message", "send", "good morning", "--to", "1")
	n.run("ban", "type", "v", "--reason", "not before the audit")
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/letters"))
	b.Until(`document.querySelector("main").innerText.includes("schema version")`)
	letter := chromiumtest.Eval[string](b, `document.querySelector("tr[data-href]").dataset.href`)
	paths := []string{"schedules", "schedules/calendar", "schedule?name=nightly", "schedule?name=nightly&tab=flows", "schedule?name=nightly&tab=definition",
		"blueprints", "blueprint?name=nightly", "blueprint?name=nightly&step=sales", "blueprint?name=nightly&tab=source", "blueprint?name=nightly&tab=versions",
		"blueprint?name=nightly&tab=start", "blueprint/edit?name=nightly", "effects", "letters", "letters/list", "messages", "messages/inbox", "messages/peers",
		"archive", "operate", "operate/queues", "operate/runners", "operate/nodes", "operate/bans", "rights", "rights/contexts", "rights/actors", "rights/tokens", "rights/audit"}
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
