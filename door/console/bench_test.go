package console_test

import (
	"fmt"
	"strings"
	"testing"
)

// BenchmarkPages is the node's time for pages, over a connection of HTTP, on a memory
// board: of a flow with five steps that failed, of a list, and of the graph of a flow with
// a thousand steps.
func BenchmarkPages(b *testing.B) {
	r := newRig(b)
	small := r.flow(nightly)
	r.ended(small)
	var text strings.Builder
	text.WriteString("name: wide\nsteps:\n")
	for i := range 1000 {
		needs := ""
		if i >= 20 {
			needs = fmt.Sprintf(", needs: [s%d, s%d]", i-20, i-20-(i%2)*(i%20))
			if i%2 == 0 || i%20 == 0 {
				needs = fmt.Sprintf(", needs: s%d", i-20)
			}
		}
		fmt.Fprintf(&text, "  - {name: s%d, script: say a, script_type: words%s}\n", i, needs)
	}
	wide := r.flow(text.String())
	r.ended(wide)
	who := r.as(reader)
	for _, page := range []struct{ name, path string }{{"flow", path("flows/%d", small)}, {"flows", path("flows")}, {"jobs", path("jobs")},
		{"overview", path("")}, {"graph of 1000 steps", path("flows/%d", wide)}} {
		b.Run(page.name, func(b *testing.B) {
			for b.Loop() {
				who.get(200, page.path)
			}
		})
	}
}
