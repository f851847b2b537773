package browser

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// signOut ends the session behind the back of the page that is open.
func signOut(b *chromiumtest.Browser) {
	chromiumtest.Await[int](b, `fetch("/console/sign-out", {method: "POST"}).then((a) => a.status)`)
}

// signInElsewhere signs in as another tab of the browser does.
func (n *node) signInElsewhere(b *chromiumtest.Browser) {
	_, link, _ := strings.Cut(n.run("console"), "link=")
	chromiumtest.Await[int](b, `fetch("/console/enter", {method: "POST", body: new URLSearchParams({link: "`+link+`"})}).then((a) => a.status)`)
}

// TestWhatIsWrittenStaysWhenOneIsSignedOut holds that neither the check as one types, nor a
// button, nor a page that lives takes away what somebody has written.
func TestWhatIsWrittenStaysWhenOneIsSignedOut(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("blueprint", "apply", n.file("name: hello\nparams: {who: world}\nsteps: [{name: greet, script: \"print(1);\", script_type: rhai}]\n"))
	base := n.signIn(b)
	b.Away() // answers of 401 are wanted
	b.Do(chromedp.Navigate(base + "c/1/blueprint/edit"))
	chromiumtest.Eval[any](b, `document.querySelector("#text").value = "name: mine\nsteps:\n"`)
	signOut(b)
	b.Do(chromedp.SendKeys("#text", "# more"))
	b.Until(`document.querySelector("main").innerText.includes("You are signed out. Nothing was sent")`)
	n.accessible(b, "what is said to who is signed out")
	chromiumtest.Eval[any](b, `document.querySelector(".editing button").click()`)
	b.Until(`document.querySelector("#text").value.startsWith("name: mine")`)
	n.signInElsewhere(b)
	chromiumtest.Eval[any](b, `window.before = true; document.querySelector(".editing button").click()`)
	b.Until(`!window.before && document.querySelector("main").innerText.includes("wrong") && document.querySelector("#text").value.startsWith("name: mine")`)
	b.Do(chromedp.Navigate(base + "c/1/blueprint?name=hello&tab=start"))
	b.Until(`!!document.querySelector("main form [name=trigger]")`)
	b.Do(chromedp.SendKeys("main form [name=trigger]", "monday"))
	signOut(b)
	b.Do(chromedp.SendKeys("main form [name=trigger]", "\r"))
	b.Until(`document.querySelector("main").innerText.includes("You are signed out. Nothing was sent")`)
	n.signInElsewhere(b)
	b.Do(chromedp.SendKeys("main form [name=trigger]", "\r"))
	b.Until(`location.pathname.includes("/flows/")`)
	if out := n.run("flow", "list"); !strings.Contains(out, "monday") {
		t.Errorf("the flow that was started is not that which was written: %s", out)
	}
}

// TestASecretIsTypedUnseen: its value is dots, unless one asks to see it, and goes to the node
// once, to be set: not with each letter of its name, by which the command is written.
func TestASecretIsTypedUnseen(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/rights/secrets/new"))
	seen := `getComputedStyle(document.querySelector("[data-secret]")).webkitTextSecurity`
	if is := chromiumtest.Eval[string](b, seen); is != "disc" {
		t.Errorf("what is typed is shown as %q", is)
	}
	chromiumtest.Eval[any](b, `window.sent = "";
		{ const fetch = window.fetch; window.fetch = (url, o) => { window.sent += " " + o?.body; return fetch(url, o); } }; 1`)
	b.Do(chromedp.SendKeys("[data-secret]", "hello-secret"), chromedp.SendKeys("[name=name]", "warehouse"))
	b.Until(`document.querySelector(".outcome .cmd").innerText === "ramet secret set warehouse --from-file FILE"`)
	if sent := chromiumtest.Eval[string](b, "window.sent"); strings.Contains(sent, "hello") {
		t.Errorf("the value was sent as one typed: %s", sent)
	}
	b.Do(chromedp.Click(".reveal input"))
	if is := chromiumtest.Eval[string](b, seen); is != "none" {
		t.Errorf("what was asked to be shown is %q", is)
	}
	n.accessible(b, "the form of a secret")
}
