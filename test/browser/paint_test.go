package browser

import (
	"fmt"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/ramet-run/ramet/internal/chromiumtest"
)

// BenchmarkFirstPaint is after how long a browser that comes for the first time shows a page
// of a node, from the request on, in milliseconds: the median, and the 95th percentile. Style
// sheet and script are loaded each time.
//
//	go test -run XXX -bench FirstPaint -benchtime 50x ./test/browser
func BenchmarkFirstPaint(b *testing.B) {
	n := startNode(b)
	n.run("flow", "submit", "nightly/nightly.yaml", "--trigger", "2026-11-20", "--param", "closed=3")
	for i := range 60 {
		n.run("flow", "submit", n.file(stuck), "--trigger", fmt.Sprint("t", i))
	}
	browser := chromiumtest.Start(b)
	base := n.signIn(browser)
	browser.See(1440, 900, "light")
	browser.Forgetful()
	for _, page := range []struct{ name, path string }{{"overview", ""}, {"flows", "flows"}, {"flow", "flows/1"}, {"job", "jobs/1/1"},
		{"archive", "archive"}, {"health", "operate"}} {
		b.Run(page.name, func(b *testing.B) {
			var took []float64
			for b.Loop() {
				browser.Do(chromedp.Navigate(base + "c/1/" + page.path))
				took = append(took, browser.FirstPaint())
			}
			slices.Sort(took)
			b.ReportMetric(took[len(took)/2], "ms-median")
			b.ReportMetric(took[len(took)*95/100], "ms-p95")
		})
	}
}
