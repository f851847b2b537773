package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// large writes more than a job may, once somebody lets it: its log has at most 1 MiB, of which each line takes some
// for its time and place, and the one attempt leaves an eighth, so that it has more than 7,000.
const large = `jobs:
  - script_type: rhai
    script: |
      wait("go");
      let rest = "";
      rest.pad(48, '.');
      for i in 0..16384 { print(` + "`line ${i} ${rest}`" + `); }
`

// again goes wrong, and is tried once more.
const again = `jobs:
  - {script_type: rhai, retries: 1, retry: {delay: 1}, script: 'print("begun at the first shop"); throw "shop 3 does not answer";'}
`

// fails goes wrong at once.
const fails = `jobs:
  - {script_type: rhai, script: 'print("begun at the first shop"); throw "shop 3 does not answer";'}
`

// TestALargeLogIsFollowed holds that a page which follows 1 MiB has a bounded part of it at any time, says where
// the rest is, and finds what is in that.
func TestALargeLogIsFollowed(t *testing.T) {
	b, n := chromiumtest.Start(t), startNode(t)
	n.run("job", "submit", n.file(large))
	base := n.signIn(b)
	b.See(1280, 800, "light")
	visit(b, base+"c/1/jobs/1/1", "suspended")
	chromiumtest.Eval[any](b, `(() => {
		window.most = 0; window.stalls = [];
		const log = document.querySelector(".log[role=log]");
		new MutationObserver(() => { window.most = Math.max(window.most, log.getElementsByTagName("*").length); }).observe(log, {childList: true, subtree: true});
		new PerformanceObserver((list) => { for (const e of list.getEntries()) window.stalls.push(Math.round(e.duration)); }).observe({type: "longtask"});
	})()`)
	n.run("job", "signal", "job:1:1", "go")
	b.Until(`document.querySelector(".log").lastElementChild.lastElementChild.innerText.includes("log cut")`)
	t.Logf("tasks of more than 50 ms while it came: %v ms", chromiumtest.Eval[[]int](b, `window.stalls`))
	if lines := chromiumtest.Eval[int](b, `document.querySelectorAll(".log .line").length`); lines != 2000 {
		t.Errorf("the page has %d lines, want 2000", lines)
	}
	// A line has four elements, and a frame brings 200 before the oldest go.
	if most := chromiumtest.Eval[int](b, `window.most`); most > 4*2400 {
		t.Errorf("the log had %d elements at once", most)
	}
	if at := chromiumtest.Eval[float64](b, `(() => { const l = document.querySelector(".log");
return l.scrollHeight - l.clientHeight - l.scrollTop; })()`); at > 40 {
		t.Errorf("it follows, and its end is %.0f pixels below", at)
	}
	if chromiumtest.Eval[bool](b, `document.querySelector("[data-earlier]").hidden || document.querySelector("[data-all]").hidden`) {
		t.Error("lines have gone, and nothing leads to them")
	}
	b.Do(chromedp.SendKeys("[data-find]", "line 12 "))
	b.Until(`document.querySelector(".found").innerText === "0 lines"`)
	b.Do(chromedp.SendKeys("[data-find]", "\r")) // it is in none of those that are here: the node looks in all
	b.Until(`document.querySelector(".found")?.innerText.startsWith("1 line of 7,")`)
	n.accessible(b, "lines that were found")
	b.Do(chromedp.Click(".line .n"))
	b.Until(`location.hash === "#L13" && document.readyState === "complete" && document.querySelector("#L13")?.innerText.includes("line 12 ")`)
	if lines := chromiumtest.Eval[int](b, `document.querySelectorAll(".log .line").length`); lines != 2000 {
		t.Errorf("a page has %d lines", lines)
	}
	if exact := chromiumtest.Eval[string](b, `document.querySelector("#L13 time").title`); !strings.Contains(exact, "20") {
		t.Errorf("the time of a line is %q", exact)
	}
	if size := chromiumtest.Await[int](b, `fetch(document.querySelector("[download]").href).then((a) => a.text()).then((t) => t.length)`); size < 400_000 {
		t.Errorf("the download has %d bytes", size)
	}
}

// talker writes 3,000 lines, and 10 more at each signal.
const talker = `jobs:
  - script_type: rhai
    script: |
      for i in 0..3000 { print(` + "`line ${i}`" + `); }
      for n in 0..3 { wait(` + "`more ${n}`" + `); for i in 0..10 { print(` + "`more ${n} ${i}`" + `); } }
`

// TestAFollowedLogIsLeftByScrolling, by whatever means: a finger and the bar make no other event. While it is
// followed its newest lines are in the window, and *earlier lines* leads to those before the first that is left.
func TestAFollowedLogIsLeftByScrolling(t *testing.T) {
	b, n := chromiumtest.Start(t), startNode(t)
	n.run("job", "submit", n.file(talker))
	base := n.signIn(b)
	b.See(1280, 800, "light")
	visit(b, base+"c/1/jobs/1/1", "suspended")
	says := func(text string) string {
		return `document.querySelector(".log").lastElementChild.lastElementChild.textContent.includes("` + text + `")`
	}
	n.run("job", "signal", "job:1:1", "more 0")
	b.Until(says("more 0 9"))
	const below = `Math.round(document.querySelector(".log .attempt:last-child .line:last-child").getBoundingClientRect().bottom - innerHeight)`
	if is := chromiumtest.Eval[int](b, below); is > 0 {
		t.Errorf("the newest line ends %d pixels below the window", is)
	}
	if !chromiumtest.Eval[bool](b, `document.querySelector("[data-follow]").checked`) {
		t.Fatal("lines that come leave it")
	}
	chromiumtest.Eval[any](b, `document.querySelector(".log").scrollTop -= 120`)
	b.Until(`!document.querySelector("[data-follow]").checked`)
	n.run("job", "signal", "job:1:1", "more 1")
	b.Until(`parseInt(document.querySelector(".newer:not([hidden]) button")?.innerText) >= 10`)
	if at := chromiumtest.Eval[float64](b, `(() => { const l = document.querySelector(".log");
return l.scrollHeight - l.clientHeight - l.scrollTop; })()`); at < 100 {
		t.Errorf("who has scrolled up is brought back to the end: %.0f pixels from it", at)
	}
	b.Do(chromedp.Click("[data-follow]"))
	n.run("job", "signal", "job:1:1", "more 2")
	b.Until(says("more 2 9"))
	if is := chromiumtest.Eval[int](b, below); is > 0 {
		t.Errorf("the newest line ends %d pixels below the window, after it was followed again", is)
	}
	first := chromiumtest.Eval[int](b, `Number(document.querySelector(".line .n").dataset.n)`)
	b.Do(chromedp.Click("[data-earlier]"))
	b.Until(fmt.Sprintf(`location.hash === "#L%d" && document.readyState === "complete" && !!document.querySelector("#L%[1]d")`, first-1))
	b.Until(fmt.Sprintf(`(() => { const l = document.querySelector("#L%d").getBoundingClientRect(), g = document.querySelector(".log").getBoundingClientRect();
		return l.top >= g.top && l.bottom <= g.bottom && l.bottom <= innerHeight; })()`, first-1))
}

// stages writes 1,500 lines, and 3,000 more once it may.
const stages = `jobs:
  - script_type: rhai
    script: |
      for i in 0..1500 { print(` + "`line ${i} of 4500`" + `); }
      wait("go");
      for i in 1500..4500 { print(` + "`line ${i} of 4500`" + `); }
      wait("end");
`

// TestALineThatOneReadsStays: who has left the end of a log keeps the lines that are there, however many come, and what
// was found in them. The newer ones come when they are asked for.
func TestALineThatOneReadsStays(t *testing.T) {
	b, n := chromiumtest.Start(t), startNode(t)
	n.run("job", "submit", n.file(stages))
	base := n.signIn(b)
	b.See(1280, 800, "light")
	visit(b, base+"c/1/jobs/1/1", "line 1499 of")
	chromiumtest.Eval[any](b, `document.querySelector(".log").scrollTop = 200`)
	b.Until(`!document.querySelector("[data-follow]").checked`)
	b.Do(chromedp.SendKeys("[data-find]", "line 7 of"))
	b.Until(`document.querySelector(".found").innerText === "1 line"`)
	const at = `document.querySelector("#L8").getBoundingClientRect().top`
	before := chromiumtest.Eval[float64](b, at)
	n.run("job", "signal", "job:1:1", "go")
	b.Until(`parseInt(document.querySelector(".newer:not([hidden]) button")?.innerText) >= 3000`)
	if !chromiumtest.Eval[bool](b, `!!document.querySelector("#L8.hit")`) {
		t.Fatal("the line that was found is gone")
	}
	if after := chromiumtest.Eval[float64](b, at); after != before {
		t.Errorf("the line that one reads went from %v to %v", before, after)
	}
	if lines := chromiumtest.Eval[int](b, `document.querySelectorAll(".log .line").length`); lines != 2000 {
		t.Errorf("the page has %d lines, want 2000", lines)
	}
	n.accessible(b, "a log with newer lines")
	b.Do(chromedp.Click(".newer button"))
	b.Until(`document.querySelector(".log").innerText.includes("line 4499 of") && document.querySelector(".newer").hidden`)
	b.Until(`document.querySelector(".found").innerText === "0 lines"`) // it went, and nothing is told that points to it
	if at := chromiumtest.Eval[float64](b, `(() => { const l = document.querySelector(".log");
return l.scrollHeight - l.clientHeight - l.scrollTop; })()`); at > 40 {
		t.Errorf("the end is %.0f pixels below after it was asked for", at)
	}
}

// TestALogGoesOnAfterARetry: a page that was opened when all had ended shows what comes.
func TestALogGoesOnAfterARetry(t *testing.T) {
	b, n := chromiumtest.Start(t), startNode(t)
	n.run("job", "submit", n.file(fails))
	base := n.signIn(b)
	for _, attempt := range []string{"attempt 2", "attempt 3"} { // of a page that had a stream, and lost it, too
		visit(b, base+"c/1/jobs/1/1", "Retry")
		n.run("job", "retry", "job:1:1")
		b.Until(`document.querySelector(".log").innerText.includes("` + attempt + `")`)
		b.Until(`document.querySelector(".log").lastElementChild.innerText.includes("begun at the first shop")`)
		b.Until(`document.querySelector("h1").parentElement.innerText.includes("failed")`)
	}
}

// TestALogIsFoldedByAttempts: the last one is open, another opens by a click or because a hit is in it, and one that
// begins while somebody looks comes as a part of its own.
func TestALogIsFoldedByAttempts(t *testing.T) {
	b, n := chromiumtest.Start(t), startNode(t)
	n.run("job", "submit", n.file(again))
	base := n.signIn(b)
	b.See(1280, 800, "light")
	b.Do(chromedp.Navigate(base + "c/1/jobs/1/1"))
	b.Until(`document.querySelectorAll(".log .attempt").length === 2`)
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("failed")`)
	b.Do(chromedp.Navigate(base + "c/1/jobs/1/1"))
	open := `[...document.querySelectorAll(".attempt")].map((a) => a.open).join()`
	b.Until(open + ` === "false,true"`)
	n.accessible(b, "a log with attempts")
	b.Do(chromedp.SendKeys("[data-find]", "first shop"))
	b.Until(`document.querySelector(".found").innerText.endsWith(" lines")`)
	b.Do(chromedp.SendKeys("[data-find]", "\r"))
	b.Until(open + ` === "true,true"`)
}
