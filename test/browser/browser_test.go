// Package browser looks at the console of a real node in a real browser.
package browser

import (
	"bytes"
	"context"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
	"github.com/ramet-run/ramet/internal/leash"
	"github.com/ramet-run/ramet/internal/testbinary"
	"github.com/ramet-run/ramet/internal/testwait"
)

var (
	ramet  string
	update = flag.Bool("update", false, "write the pictures of docs/ anew")
)

func TestMain(m *testing.M) {
	os.Exit(testbinary.Run(m, func(folder string) { ramet = filepath.Join(folder, "ramet") }))
}

// node is a node that runs as a process.
type node struct {
	testing.TB
	data string
	log  testwait.Log
	stop func() // by a signal, as a machine does
	// signal is sent to its process.
	signal func(syscall.Signal)
}

func startNode(t testing.TB, more ...string) *node {
	t.Helper()
	n := &node{TB: t, data: t.TempDir()}
	n.serve(more...)
	return n
}

// serve begins a life of the node.
func (n *node) serve(more ...string) {
	n.Helper()
	cmd := exec.Command(ramet, append([]string{"serve", "--data", n.data, "--name", "node-a", "--listen", "127.0.0.1:0", "--grace", "1ms"}, more...)...)
	cmd.Stderr = io.MultiWriter(n.Output(), &n.log)
	if err := leash.Start(cmd, syscall.SIGKILL); err != nil {
		n.Fatal(err)
	}
	n.signal = func(s syscall.Signal) { _ = cmd.Process.Signal(s) } // it may have ended
	n.stop = func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
	}
	n.Cleanup(n.stop)
}

// run runs a command line at the node, and returns what it prints.
func (n *node) run(args ...string) string {
	n.Helper()
	ctx, cancel := context.WithTimeout(n.Context(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, ramet, append(args, "--data", n.data)...)
	cmd.Dir = filepath.Join("..", "..", "examples")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		n.Fatalf("ramet %s: %v: %s", strings.Join(args, " "), err, said.String())
	}
	return strings.TrimSpace(out.String())
}

// file writes a blueprint, and returns where.
func (n *node) file(text string) string {
	n.Helper()
	path := filepath.Join(n.TempDir(), "b.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		n.Fatal(err)
	}
	return path
}

// signIn brings a browser into the console as the operator.
func (n *node) signIn(b *chromiumtest.Browser) (base string) {
	n.Helper()
	n.Cleanup(b.Away) // the node stops before the browser does
	link := n.run("console")
	b.Do(chromedp.Navigate(link), chromedp.Click("main button.primary"), chromedp.WaitVisible("nav.rail"))
	base, _, _ = strings.Cut(link, "enter?")
	return base
}

// base is where the console begins.
func (n *node) base() string {
	n.Helper()
	base, _, _ := strings.Cut(n.run("console"), "enter?")
	return base
}

const release = `name: release
steps:
  - {name: build, script: "print(\"built\");", script_type: rhai}
  - {name: look, kind: approval, needs: build}
  - {name: deploy, needs: look, script: "print(\"deployed\");", script_type: rhai}
`

func TestAFlowChangesWhileOneLooksAtIt(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(release), "--trigger", "1.4.0")
	base := n.signIn(b)
	b.See(1440, 900, "light")
	b.Do(chromedp.Navigate(base + "c/1/flows/1"))
	b.Until(`document.querySelector(".sentence").innerText.includes("Waits for somebody to approve or reject")`)
	mark := `document.querySelector("[data-step=build]").marked = true`
	chromiumtest.Eval[bool](b, mark)
	n.run("flow", "approve", "1", "look")
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("succeeded")`)
	if !chromiumtest.Eval[bool](b, `document.querySelector("[data-step=build]").marked === true`) {
		t.Error("what did not change was made anew")
	}
	if chromiumtest.Eval[bool](b, `!!document.querySelector(".sentence")`) {
		t.Error("a flow that ended well still has a sentence")
	}
}

func TestAFlowIsApprovedByKeysAlone(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file(release))
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/"))
	b.Until(`document.body.innerText.includes("needs approval")`)
	b.Press("j") // the first of what needs one
	b.Until(`document.activeElement.matches("tr a")`)
	b.Press("\r")
	b.Until(`!!document.querySelector(".sentence .sheet")`)
	chromiumtest.Eval[any](b, `document.querySelector(".sentence .sheet summary").focus()`)
	b.Press("\r\tfigures checked\r")
	b.Until(`document.body.innerText.includes("The step was approved.") || document.body.innerText.includes("noted durably")`)
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("succeeded")`)
}

func TestALogIsFollowedAndSearched(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", n.file("name: talk\nsteps:\n  - {name: wait, kind: approval}\n  - {name: say, needs: wait, script: \"for i in "+
		"0..300 { print(`line ${i} <b>bold</b>`); }\", script_type: rhai}\n"))
	n.run("flow", "approve", "1", "wait")
	n.run("flow", "watch", "1")
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/jobs/1/1"))
	b.Until(`document.querySelectorAll(".line").length >= 300`)
	if chromiumtest.Eval[bool](b, `!!document.querySelector(".line b")`) {
		t.Error("a log's markup became the page's")
	}
	b.Do(chromedp.SendKeys("[data-find]", "line 29"))
	b.Until(`document.querySelector(".found").innerText === "11 lines"`) // 29, and 290 to 299
	b.Do(chromedp.SendKeys("[data-find]", "\r"))
	b.Until(`document.querySelector(".found").innerText === "1 of 11 lines"`)
}

const order = `name: order
triggers: [{of: Order, types: [Placed, Shipped]}]
correlation: event.aggregate_id
initial: new
states:
  new: {on: {Placed: handle, "*": ignore}}
  open: {on: {Shipped: handle, "*": ignore}}
  shipped: {final: true}
script: |
  fn on_event(state, event) { #{next: if event.type == "Placed" { "open" } else { "shipped" }} }
`

// parcel is a saga whose picture the docs show.
const parcel = `name: parcel
triggers: [{of: Parcel, types: [HandedIn, OutForDelivery, Delivered, NobodyHome, Fetched, CameBack]}]
correlation: event.aggregate_id
initial: new
states:
  new: {on: {HandedIn: handle, "*": ignore}}
  sorted: {on: {OutForDelivery: handle, "*": ignore}}
  on-the-way: {on: {Delivered: handle, NobodyHome: handle, "*": ignore}}
  at-the-shop: {on: {Fetched: handle, CameBack: handle, "*": ignore}}
  delivered: {final: true}
  returned: {final: true}
script: |
  fn on_event(state, event) {
    switch event.type {
      "HandedIn" => #{next: "sorted"},
      "OutForDelivery" => #{next: "on-the-way"},
      "NobodyHome" => #{next: "at-the-shop"},
      "CameBack" => #{next: "returned"},
      "Delivered" => #{next: "delivered"},
      "Fetched" => #{next: "delivered"}
    }
  }
`

// TestEveryPageFitsAPhoneAndADesk looks at pages in each width and in both colours.
func TestEveryPageFitsAPhoneAndADesk(t *testing.T) {
	b := chromiumtest.Start(t)
	n := startNode(t)
	n.run("flow", "submit", "nightly/nightly.yaml", "--trigger", "2026-11-20", "--param", "closed=3")
	n.run("flow", "submit", "approval/release.yaml", "--trigger", "1.4.0")
	n.run("saga", "apply", n.file(order))
	n.run("event", "publish", "Placed", "--aggregate", "Order/ann")
	n.run("saga", "apply", n.file(parcel))
	for _, event := range []string{"HandedIn", "OutForDelivery", "NobodyHome"} {
		n.run("event", "publish", event, "--aggregate", "Parcel/ann")
	}
	base := n.signIn(b)
	b.Do(chromedp.Navigate(base + "c/1/flows/1"))
	b.Until(`document.querySelector("h1").parentElement.innerText.includes("failed")`)
	b.Do(chromedp.Navigate(base + "c/1/sagas/order"))
	b.Until(`document.querySelector("main").innerText.includes("ann")`)
	b.Do(chromedp.Navigate(base + "c/1/sagas/parcel"))
	b.Until(`document.querySelector("main").innerText.includes("at-the-shop")`)
	paths := []string{"c/1/", "c/1/flows", "c/1/flows/1", "c/1/flows/1?tab=gantt", "c/1/flows/1?tab=steps", "c/1/flows/1?tab=logs", "c/1/flows/1?tab=data",
		"c/1/flows/1?tab=history",
		"c/1/jobs", "c/1/jobs/1/1", "c/1/sagas", "c/1/sagas/order", "c/1/sagas/order?tab=states", "c/1/sagas/order?tab=lag",
		"c/1/sagas/order/instance?id=ann", "sessions"}
	for _, width := range []int64{390, 1440} {
		for _, colours := range []string{"light", "dark"} {
			b.See(width, 844, colours)
			for _, path := range paths {
				b.Do(chromedp.Navigate(base + path))
				if colours == "light" || path == paths[2] {
					n.accessible(b, path)
				}
				if wide := chromiumtest.Eval[int](b, `document.documentElement.scrollWidth`); wide > int(width) {
					t.Errorf("%s is %d wide in a window of %d", path, wide, width)
				}
			}
		}
	}
	n.pictures(b, base)
}

// axeFile is where scripts/install-test-servers puts axe-core.
const axeFile = "../../bin/axe.min.js"

// accessible has axe-core look at a page. It says nothing where that is not installed.
//
// Source: WCAG 2.2, levels A and AA, as far as a program can tell.
func (n *node) accessible(b *chromiumtest.Browser, path string) {
	n.Helper()
	axe, err := os.ReadFile(axeFile)
	if err != nil {
		n.Logf("NOT TESTED: whether %s is accessible: axe-core is not installed: %v", path, err)
		return
	}
	chromiumtest.Eval[any](b, string(axe)+"; 1")
	found := chromiumtest.Await[[]string](b, `axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]})
		.then((r) => r.violations.map((v) => v.id + ": " + v.help + ": " + v.nodes.map((n) => n.html.slice(0, 200)).slice(0, 3).join(" | ")))`)
	for _, fault := range found {
		n.Errorf("%s: %s", path, fault)
	}
}
