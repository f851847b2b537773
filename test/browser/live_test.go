package browser

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// signInAs brings a browser into the console as another actor, whose role in context 1 it
// gets before.
func (n *node) signInAs(b *chromiumtest.Browser, actor, role string) (base string) {
	n.Helper()
	key := filepath.Join(n.TempDir(), actor+".key")
	n.run("actor", "new", "--id", actor, "--file", key)
	n.run("context", "grant", "1", actor, "--role", role)
	token := n.run("token", "--key", key, "--audience", "node-a")
	base = n.base()
	b.Away() // who is not signed in is answered 401
	b.Do(chromedp.Navigate(base), chromedp.SendKeys("#proof", token), chromedp.Click("main button.primary"), chromedp.WaitVisible("nav.rail"))
	return base
}

// visit goes to a page and waits until it is there, and says something: the page before may
// have said it, too.
func visit(b *chromiumtest.Browser, address, text string) {
	b.Do(chromedp.Navigate(address))
	b.Until(fmt.Sprintf(`location.href.split("#")[0] === %q && document.readyState === "complete" && document.querySelector("main").innerText.includes(%q)`,
		address, text))
}

// TestAPageEndsWithTheRoleOfWhoLooks: what was on it does not stay, and it says why.
func TestAPageEndsWithTheRoleOfWhoLooks(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(release), "--trigger", "1.4.0")
	base := n.signInAs(b, "12", "reader")
	for _, page := range []string{"c/1/flows", "c/1/flows/1", "c/1/"} {
		visit(b, base+page, "1.4.0")
		n.run("context", "revoke", "1", "12")
		b.Until(`document.querySelector("main").innerText.includes("You may not see or do this")`)
		if chromiumtest.Eval[bool](b, `document.querySelector("main").innerText.includes("1.4.0")`) {
			t.Errorf("%s still shows what it showed", page)
		}
		b.Until(`document.querySelector("main").innerText.includes("actor 12")`)
		n.accessible(b, page+" without the role")
		n.run("context", "grant", "1", "12", "--role", "reader")
	}
}

// TestAPageSaysThatItsNodeIsGone, keeps what it shows, and asks to sign in at the next life
// of the node, which knows no sessions of the one before.
func TestAPageSaysThatItsNodeIsGone(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(release), "--trigger", "1.4.0")
	base := n.signIn(b)
	visit(b, base+"c/1/flows", "1.4.0")
	b.Away()
	n.stop()
	b.Until(`!document.querySelector("#node-chip .stale").hidden`)
	if !chromiumtest.Eval[bool](b, `document.querySelector("main").innerText.includes("1.4.0")`) {
		t.Error("what the page showed is gone with the node")
	}
	address, _, _ := strings.Cut(strings.TrimPrefix(base, "http://"), "/")
	n.serve("--listen", address)
	b.Until(`!!document.querySelector("#proof")`) // nothing was written here that could be lost
}

// TestAPageSaysThatItsNodeHangs: the connection is there, and nothing comes. The page looks again by itself.
func TestAPageSaysThatItsNodeHangs(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	base := n.signIn(b)
	visit(b, base+"c/1/flows", "There is no flow yet")
	b.Away()
	n.signal(syscall.SIGSTOP)
	defer n.signal(syscall.SIGCONT)
	// Half a second stands for the time after which silence is no good sign.
	chromiumtest.Eval[any](b, `(() => {
		const wait = setTimeout;
		window.setTimeout = (then, ms) => wait(then, ms === 25000 ? 500 : ms);
		dispatchEvent(new Event("pagehide"));
		dispatchEvent(new Event("pageshow"));
	})()`)
	const stale = `document.querySelector("#node-chip .stale").hidden`
	b.Until("!" + stale)
	if title := chromiumtest.Eval[string](b, `document.querySelector("#node-chip").title`); strings.Contains(title, "answers") {
		t.Errorf("the chip of a node that hangs says %q", title)
	}
	chromiumtest.Eval[any](b, `window.setTimeout = (then, ms) => 0`) // what comes is not held against half a second any more
	n.signal(syscall.SIGCONT)
	b.Until(stale)
	if title := chromiumtest.Eval[string](b, `document.querySelector("#node-chip").title`); !strings.Contains(title, "answers") {
		t.Errorf("the chip of a node that goes on says %q", title)
	}
}

// TestFitShowsAllOfADrawing: also of one that is much higher than the window.
func TestFitShowsAllOfADrawing(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	var text strings.Builder
	text.WriteString("name: fan\nsteps:\n  - {name: root, kind: approval}\n")
	for i := range 40 {
		fmt.Fprintf(&text, "  - {name: s%d, needs: root, script: \"print(%[1]d);\", script_type: rhai}\n", i)
	}
	n.run("flow", "submit", n.file(text.String()))
	base := n.signIn(b)
	b.See(1280, 844, "light")
	visit(b, base+"c/1/flows/1", "needs approval")
	b.Do(chromedp.Click("[data-zoom=fit]"))
	if over := chromiumtest.Eval[[]int](b, `(() => { const g = document.querySelector(".graph");
		return [g.scrollWidth - g.clientWidth, g.scrollHeight - g.clientHeight]; })()`); over[0] > 0 || over[1] > 0 {
		t.Errorf("after Fit %v pixels are out of sight", over)
	}
	before := chromiumtest.Eval[float64](b, `document.querySelector(".graph svg").getBoundingClientRect().height`)
	b.Do(chromedp.Click("[data-zoom='0.8']"))
	if after := chromiumtest.Eval[float64](b, `document.querySelector(".graph svg").getBoundingClientRect().height`); after > before {
		t.Errorf("smaller made a drawing of %v pixels one of %v", before, after)
	}
	n.run("flow", "pause", "1")
	b.Until(`document.querySelector("main").innerText.includes("It is paused")`)
	if after := chromiumtest.Eval[float64](b, `document.querySelector(".graph svg").getBoundingClientRect().height`); after > before {
		t.Errorf("a change of the flow made a drawing of %v pixels one of %v", before, after)
	}
}

// TestNewRowsPushNothing: the rows that one looks at stay where they are until one asks for
// the others.
func TestNewRowsPushNothing(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(release), "--trigger", "first")
	base := n.signIn(b)
	for _, width := range []int64{390, 1440} {
		b.See(width, 844, "light")
		visit(b, base+"c/1/flows", "first")
		row := `[...document.querySelectorAll("tbody tr")].find((r) => r.innerText.includes("first")).getBoundingClientRect().top`
		before := chromiumtest.Eval[float64](b, row)
		n.run("flow", "submit", n.file(release), "--trigger", fmt.Sprint("another", width))
		b.Until(`document.querySelector(".fresh:not([hidden]) button")?.innerText === "1 new"`)
		if after := chromiumtest.Eval[float64](b, row); after != before {
			t.Errorf("in a window of %d the table went from %v to %v", width, before, after)
		}
		n.accessible(b, "flows, with a new one")
		chromiumtest.Eval[any](b, `document.querySelector(".fresh button").click()`)
		b.Until(`document.querySelector("main").innerText.includes("another") && document.querySelector(".fresh").hidden`)
	}
}

// TestRowsThatArePushedOffStay until one asks for the new ones: those that are ticked, and the one that has the focus.
func TestRowsThatArePushedOffStay(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	many := n.file("jobs:\n" + strings.Repeat("  - {script_type: rhai, script: 'print(1);'}\n", 60))
	n.run("job", "submit", many)
	base := n.signIn(b)
	b.See(1280, 844, "light")
	visit(b, base+"c/1/jobs", "1:60")
	chromiumtest.Eval[any](b, `(() => { const rows = document.querySelectorAll("tbody tr");
		rows[1].querySelector("td.pick input").click(); rows[3].querySelector("td.pick input").click(); rows[5].querySelector("a").focus(); })()`)
	const (
		shown  = `document.querySelectorAll("tbody tr:not([hidden])").length`
		ticked = `document.querySelectorAll("tbody :checked").length`
	)
	top := chromiumtest.Eval[string](b, `document.querySelector("tbody tr").innerText.split("\t")[0]`)
	n.run("job", "submit", many)
	b.Until(`document.querySelector(".fresh:not([hidden]) button")?.innerText === "50+ new"`)
	if rows, marks := chromiumtest.Eval[int](b, shown), chromiumtest.Eval[int](b, ticked); rows != 50 || marks != 2 {
		t.Errorf("%d rows are left, of which %d are ticked, want 50 and 2", rows, marks)
	}
	if !chromiumtest.Eval[bool](b, `document.activeElement.matches("tbody a")`) {
		t.Error("the focus is gone")
	}
	if got := chromiumtest.Eval[string](b, `document.querySelector("tbody tr:not([hidden])").innerText.split("\t")[0]`); got != top {
		t.Errorf("the first row is %q, it was %q", got, top)
	}
	n.accessible(b, "jobs, with more new ones than a page has")
	chromiumtest.Eval[any](b, `document.querySelector(".fresh button").click()`)
	if rows, marks := chromiumtest.Eval[int](b, shown), chromiumtest.Eval[int](b, ticked); rows != 52 || marks != 2 {
		t.Errorf("after the new ones were asked for there are %d rows, of which %d are ticked, want 52 and 2", rows, marks)
	}
	if !chromiumtest.Eval[bool](b, `document.activeElement.matches("tbody tr:first-child a")`) {
		t.Error("the focus is not with the first of the new ones")
	}
}

// TestAnActionSaysWhatItDid, and what it said stays while the page lives, and is gone with the
// next.
func TestAnActionSaysWhatItDid(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(release))
	h := &hand{node: n, b: b, base: n.signIn(b)}
	b.Do(chromedp.Navigate(h.base + "c/1/flows/1"))
	h.click(".sentence summary", "Pause")
	h.click(".sheet[open] button", "Pause the flow")
	b.Until(`document.querySelector(".flash[role=status]")?.innerText === "The flow is paused."`)
	n.accessible(b, "a page with what was done")
	n.run("flow", "resume", "1")
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("needs approval")`)
	if !chromiumtest.Eval[bool](b, `!!document.querySelector(".flash")`) {
		t.Error("what was done is not told any more, as the page has changed")
	}
	// What could not be done says so, and why.
	n.run("flow", "approve", "1", "look")
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("succeeded")`)
	chromiumtest.Eval[any](b, `(() => { const f = document.createElement("form"); f.method = "post"; f.action = `+
		`"/console/c/1/flows/1/pause"; document.body.append(f); f.submit(); })()`)
	b.Until(`document.querySelector(".flash.unwell")?.innerText.startsWith("This was not done: ")`)
	visit(b, h.base+"c/1/flows", "release")
	if chromiumtest.Eval[bool](b, `!!document.querySelector(".flash")`) {
		t.Error("another page still says what was done")
	}
}

func TestThePaletteSaysThatNothingIsFound(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/"))
	b.Press("/")
	b.Until(`!!document.querySelector(".palette[open] a")`)
	b.Press("812")
	b.Until(`document.querySelector(".palette .none").innerText === "Nothing that you may see is called like that." && !document.querySelector(".palette a")`)
	n.accessible(b, "the palette without a hit")
	b.Press("\x1b")
	b.Until(`!document.querySelector(".palette[open]")`)
	b.Press("/flows")
	b.Until(`!!document.querySelector(".palette a") && !document.querySelector(".palette .none").innerText`)
}
