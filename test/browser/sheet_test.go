package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
	"github.com/ramet-run/ramet/internal/testwait"
)

// cutSheets opens the sheets of a page one after the other, and names those that reach over
// the edge of the window, make it scroll sideways, or move the row that their button is in.
const cutSheets = `(() => {
	const found = [], wide = document.documentElement.clientWidth;
	for (const sheet of document.querySelectorAll(".sheet")) {
		const row = sheet.closest("tr"), high = row?.offsetHeight;
		sheet.open = true;
		const form = sheet.querySelector("form"), is = form.getBoundingClientRect();
		scrollBy(0, is.top - 300);
		const at = form.getBoundingClientRect();
		const shown = [at.left + 8, at.right - 8].every((x) => form.contains(document.elementFromPoint(x, at.top + 8)));
		if (is.left < 0 || is.right > wide || document.documentElement.scrollWidth > wide || !shown || row?.offsetHeight !== high)
			found.push(sheet.querySelector("summary").innerText + " " + is.left + " to " + is.right +
				(shown ? "" : ", cut") + ", its row " + high + " and " + row?.offsetHeight);
		sheet.open = false;
	}
	return found.join("\n");
})()`

// TestSheetsAreWithinThePage: what an action will do is read whole, in each width.
func TestSheetsAreWithinThePage(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t, "--dev")
	testwait.Until(t, "the samples are there", func() bool { return strings.Contains(n.run("runner", "list"), "greet") })
	n.run("blueprint", "apply", n.file(release))
	id, _, _ := strings.Cut(strings.TrimPrefix(n.run("flow", "submit", "release", "--trigger", "1.4.0"), "flow:"), " ")
	n.run("schedule", "create", "nightly", "--blueprint", "release", "--cron", "0 2 * * *", "--summary", "counts the day")
	n.run("secret", "set", "a-secret-with-a-name-that-is-long-indeed", "--from-file", n.file("hello-secret"))
	base := n.signIn(b)
	for _, width := range []int64{390, 740, 1280} {
		b.See(width, 900, "light")
		for path, sheets := range map[string]int{"flows/" + id: 3, "schedule?name=nightly": 3, "schedules": 2, "rights/secrets": 1, "rights": 1} {
			b.Do(chromedp.Navigate(base + "c/1/" + path))
			if found := chromiumtest.Eval[int](b, `document.querySelectorAll("main .sheet").length`); found < sheets {
				t.Errorf("%s has %d things to do, want %d", path, found, sheets)
			}
			if cut := chromiumtest.Eval[string](b, cutSheets); cut != "" {
				t.Errorf("sheets of %s in a window of %d: %s", path, width, cut)
			}
		}
	}
}

// TestListsHaveRoomBetweenAPhoneAndADesk: why something stands as it does can be read in each
// width, without scrolling sideways, and no figure is without its name where rows are folded.
func TestListsHaveRoomBetweenAPhoneAndADesk(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", "approval/release.yaml", "--trigger", "1.4.0")
	n.run("flow", "submit", n.file("name: talk\nsteps:\n"+
		"  - {name: say, script_type: rhai, script: 'let s = \"x\"; for i in 0..11 { s += s; } throw s;'}\n"))
	n.run("saga", "apply", n.file(order))
	n.run("event", "publish", "Placed", "--aggregate", "Order/ann")
	base := n.signIn(b)
	visit(b, base+"c/1/sagas/order", "ann")
	visit(b, base+"c/1/flows", "failed")
	for _, width := range []int64{390, 740, 1000, 1280} {
		b.See(width, 900, "light")
		for _, path := range []string{"", "flows", "flows/2", "jobs", "sagas/order"} {
			b.Do(chromedp.Navigate(base + "c/1/" + path))
			for what, expression := range map[string]string{
				"scrolls sideways": `[...document.querySelectorAll("main .scroll")].filter((s) => s.scrollWidth > s.clientWidth)
					.map((s) => s.innerText.slice(0, 80)).join("; ")`,
				"has no room for why": `[...document.querySelectorAll("main .list .why")].filter((c) => c.innerText && c.clientWidth < 100)
					.map((c) => c.clientWidth).join("; ")`,
				"has figures without a name": `[...document.querySelectorAll("main .list.stack td.num,main .list.stack td:has(>time:only-child)")]
					.filter((c) => c.innerText && !c.dataset.of).map((c) => c.innerText).join("; ")`,
				"is filled by what a script has said": `[...document.querySelectorAll(".sentence .said,main .list .why")].filter((c) => c.clientHeight > 200)
					.map((c) => c.clientHeight).join("; ")`,
			} {
				if found := chromiumtest.Eval[string](b, expression); found != "" {
					t.Errorf("%q in a window of %d %s: %s", path, width, what, strings.TrimSpace(fmt.Sprintf("%.400s", found)))
				}
			}
		}
	}
}
