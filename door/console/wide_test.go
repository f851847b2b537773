package console_test

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/watched"
)

// wide is a blueprint of 10,000 steps in a grid of 100 by 100, of which one goes wrong.
func wide(bad int) string {
	var text strings.Builder
	text.WriteString("name: wide\nsteps:\n")
	for i := range 10_000 {
		script := "say a"
		if i == bad {
			script = "err no shop\\nfail"
		}
		needs := ""
		if i >= 100 {
			needs = fmt.Sprintf(", needs: [s%d, s%d]", i-100, i-100+(i%2)*(1-2*(i%100/99)))
			if i%2 == 0 {
				needs = fmt.Sprintf(", needs: s%d", i-100)
			}
		}
		fmt.Fprintf(&text, "  - {name: s%d, script: \"%s\", script_type: words%s}\n", i, script, needs)
	}
	return text.String()
}

// TestAFlowOfTenThousandStepsIsShownInParts holds that no tab of it grows with it, that each leads to all of it, and that
// the part comes first in which something went wrong.
func TestAFlowOfTenThousandStepsIsShownInParts(t *testing.T) {
	watched.Large(t)
	r := newRig(t)
	id := r.flow(wide(7350))
	r.ended(id)
	b := r.as(reader)
	at := path("flows/%d", id)
	most := 1 << 20 // bytes
	for q, wants := range map[string][]string{
		"": {"Step s7350 failed: no shop", "Steps 7,001 to 7,500 of 10,000.", `data-step="s7350"`,
			"steps_from=6500", "steps_from=7500", "further steps"},
		"?step=s9999":                   {"Steps 9,501 to 10,000 of 10,000.", `aria-label="Step s9999"`},
		"?unfold=yes&steps_from=0":      {"Steps 1 to 500 of 10,000."},
		"?tab=gantt":                    {">s7350<", "steps before", "Steps 7,001 to 7,500 of 10,000."},
		"?tab=gantt&steps_from=9900":    {">s9900<", ">s9999<"},
		"?tab=steps":                    {"Steps 10,000", ">s7350<", "Steps 7,001 to 7,500 of 10,000."},
		"?tab=logs":                     {"no shop", "that have begun here", "by=time"},
		"?tab=logs&by=time":             {"These are the last 1000 lines."},
		"?tab=data":                     {"Params"},
		"?tab=files":                    {},
		"?tab=history":                  {"submitted the flow", "lines_from=500", "further lines"},
		"?tab=history&lines_from=20000": {"the flow", "lines before"},
	} {
		a := b.get(200, at+q)
		b.has(a, wants...)
		if len(a.text) > most {
			t.Errorf("%q has %d kB", q, len(a.text)>>10)
		}
	}
	for _, tab := range []string{"data", "files"} { // they are of the whole flow
		b.hasNot(b.get(200, at+"?tab="+tab), "further steps", "steps before")
	}
	// What is alike is in one box, and all of it is drawn.
	fan := r.flow("name: fan\nsteps:\n" + strings.Join(slices.Collect(fanned(1500)), ""))
	a := b.get(200, path("flows/%d?steps_from=0", fan))
	b.has(a, "/1500", "stand in one box")
	b.hasNot(a, "further steps")
}

// TestLogsOfWhatWentWrongStandFirst where not all are shown: the last of 81 steps is behind all others.
func TestLogsOfWhatWentWrongStandFirst(t *testing.T) {
	r := newRig(t)
	var steps, all []string
	for i := range 80 {
		all = append(all, fmt.Sprint("s", i))
		steps = append(steps, fmt.Sprintf("  - {name: s%d, script: say a, script_type: words}\n", i))
	}
	id := r.flow("name: late\nsteps:\n" + strings.Join(steps, "") +
		"  - {name: last, script: \"err no shop\\nfail\", script_type: words, needs: [" + strings.Join(all, ", ") + "]}\n")
	r.ended(id)
	a := r.as(reader).get(200, path("flows/%d?tab=logs", id))
	r.as(reader).has(a, "60 steps of the 81 that have begun here", "stand first", "no shop")
	if bad, good := strings.Index(a.text, "<b>last</b>"), strings.Index(a.text, "<b>s0</b>"); bad < 0 || good < bad {
		t.Errorf("the log of what went wrong stands at %d, that of the first step at %d", bad, good)
	}
}

// fanned are so many steps that need nothing.
func fanned(n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range n {
			if !yield(fmt.Sprintf("  - {name: w%d, script: say a, script_type: words}\n", i)) {
				return
			}
		}
	}
}
