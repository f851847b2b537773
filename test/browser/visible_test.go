package browser

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/cli"
	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// loadEach and loadEvery are the jobs that run beside: 100 a second.
const (
	loadEach  = 10
	loadEvery = 100 * time.Millisecond
)

// BenchmarkVisible is after how long a browser that looks at a page shows that a job, or the flow
// of it, has ended, in milliseconds: the median, the 95th percentile, and the longest. It is counted
// from the instant of the end as its record has it, which is before the commit, to the change of
// the text in the page, both by the clock of this machine; on an idle node, and beside 100 jobs a
// second.
//
//	go test -run XXX -bench Visible -benchtime 50x ./test/browser
func BenchmarkVisible(b *testing.B) {
	n := startNode(b)
	c, err := client.New(client.Config{Socket: cli.SocketPath(n.data), Cookie: cli.CookiePath(n.data)})
	if err != nil {
		b.Fatal(err)
	}
	browser := chromiumtest.Start(b)
	base := n.signIn(browser)
	browser.See(1440, 900, "light")
	w := &watched{TB: b, client: c, browser: browser, base: base}
	pages := []struct {
		name, path string
		flow       bool
	}{{"overview", "", true}, {"flow", "flows/%d", true}, {"job", "jobs/%d/%d", false}, {"flows", "flows", true},
		{"jobs", "jobs?status=started", false}}
	each := func(beside string) {
		for _, p := range pages {
			b.Run(p.name+beside, func(b *testing.B) {
				w.TB = b
				var took []float64
				for b.Loop() {
					took = append(took, w.once(p.path, p.flow))
				}
				slices.Sort(took)
				b.ReportMetric(took[len(took)/2], "ms-median")
				b.ReportMetric(took[len(took)*95/100], "ms-p95")
				b.ReportMetric(took[len(took)-1], "ms-most")
			})
		}
	}
	each("")
	ctx, cancel := context.WithCancel(b.Context())
	loaded := make(chan error, 1)
	go func() { loaded <- load(ctx, c) }()
	each(", beside 100 jobs a second")
	w.TB = b
	cancel()
	if err := <-loaded; err != nil {
		b.Error(err)
	}
}

// load submits 100 jobs a second until ctx ends.
func load(ctx context.Context, c *client.Client) error {
	list := make([]api.JobInput, loadEach)
	for i := range list {
		list[i].Job = domain.Job{Script: "1", ScriptType: "rhai"}
	}
	for tick := time.NewTicker(loadEvery); ; {
		select {
		case <-tick.C:
			if _, err := c.Submit(ctx, 1, list); err != nil && ctx.Err() == nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// waits ends once it has its signal.
const waits = `wait("go");`

// watched is a browser that looks at pages which change.
type watched struct {
	testing.TB
	client  *client.Client
	browser *chromiumtest.Browser
	base    string
}

// once has a job wait for a signal, by itself or in a flow, opens a page of it, lets it end, and
// returns after how many milliseconds that is seen.
func (w *watched) once(page string, flow bool) float64 {
	w.Helper()
	ctx := w.Context()
	var key domain.JobKey
	var id domain.FlowID
	text, seen := "", "" // what the page has before, and what holds once the end is seen
	if flow {
		trigger := "t" + strconv.FormatInt(time.Now().UnixNano(), 36)
		f, err := w.client.SubmitFlow(ctx, 1, api.FlowInput{Text: "name: waits\nsteps: [{name: wait, script: '" + waits + "', script_type: rhai}]\n", File: "b.yaml",
			Trigger: trigger})
		if err != nil {
			w.Fatal(err)
		}
		id = f.ID
		for key = w.jobOf(id); key.ID == 0; key = w.jobOf(id) {
			time.Sleep(5 * time.Millisecond)
		}
		text = trigger
	} else {
		var err error
		if key, err = w.client.SubmitJob(ctx, 1, domain.Job{Script: waits, ScriptType: "rhai"}); err != nil {
			w.Fatal(err)
		}
		text = key.String()
	}
	switch page {
	case "", "jobs?status=started": // where it stands no more
		seen = fmt.Sprintf(`!main.innerText.includes(%q)`, text)
	case "flows": // in the row of it
		seen = fmt.Sprintf(`[...main.querySelectorAll("tr")].some((r) => r.innerText.includes(%q) && r.innerText.includes("succeeded"))`, text)
	case "flows/%d":
		page = fmt.Sprintf(page, id)
		seen = `main.querySelector("h1").parentElement.innerText.includes("succeeded")`
	default:
		page = fmt.Sprintf(page, key.Caller, key.ID)
		seen = `main.querySelector("h1").parentElement.innerText.includes("succeeded")`
	}
	for {
		j, err := w.client.Job(ctx, 1, key)
		if err != nil {
			w.Fatal(err)
		}
		if j.Phase() == domain.PhaseSuspended {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.browser.Do(chromedp.Navigate(w.base + "c/1/" + page))
	shown := fmt.Sprintf(`document.readyState === "complete" && document.querySelector("main").innerText.includes(%q)`, text)
	w.browser.Until(shown)
	// It follows, and rests by then: what others have looked at meanwhile may be a moment older.
	time.Sleep(300 * time.Millisecond)
	w.browser.Until(shown)
	chromiumtest.Eval[any](w.browser, `(() => { const main = document.querySelector("main"), holds = () => `+seen+`;
		if (holds()) throw new Error("it is seen already");
		const look = new MutationObserver(() => { if (!window.seenAt && holds()) window.seenAt = Date.now(); });
		window.seenAt = 0;
		look.observe(main, {subtree: true, childList: true, characterData: true, attributes: true}); })()`)
	signal := api.SignalParams{JobParams: api.JobParams{Context: 1, Caller: key.Caller, ID: key.ID}, Name: "go"}
	if _, err := client.Call(ctx, w.client, api.JobSignal, signal); err != nil {
		w.Fatal(err)
	}
	w.browser.Until(`window.seenAt > 0`)
	at := chromiumtest.Eval[float64](w.browser, `window.seenAt`)
	j, err := w.client.Job(ctx, 1, key)
	if err != nil {
		w.Fatal(err)
	}
	return at - float64(j.FinishedMs)
}

// jobOf is the job of a flow of one step; zero where it has not been made yet.
func (w *watched) jobOf(id domain.FlowID) (none domain.JobKey) {
	w.Helper()
	list, err := client.Call(w.Context(), w.client, api.JobList, api.ListJobsParams{Context: 1, JobFilter: api.JobFilter{Flow: id}})
	if err != nil {
		w.Fatal(err)
	}
	if len(list.Jobs) == 0 {
		return none
	}
	return list.Jobs[0].Key()
}
