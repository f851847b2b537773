package telemetry_test

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/telemetry"
)

var update = flag.Bool("update", false, "write docs/metrics.md anew")

// TestTheReferencePage is what is registered. -update writes it.
func TestTheReferencePage(t *testing.T) {
	const file = "../docs/metrics.md"
	const begin = "<!-- made by go test ./telemetry -update -->\n"
	old, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	by, _, found := strings.Cut(string(old), begin)
	if !found {
		t.Fatalf("%s has no line %q", file, strings.TrimSpace(begin))
	}
	want := by + begin + page(telemetry.NewMetrics().All())
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if string(old) != want {
		t.Errorf("%s is not what is registered: go test ./telemetry -update", file)
	}
}

// page is the generated part of the page.
func page(all []telemetry.Metric) string {
	var b strings.Builder
	for _, m := range all {
		fmt.Fprintf(&b, "\n### %s\n\n%s", m.Name, strings.ToUpper(string(m.Kind[:1]))+string(m.Kind[1:]))
		if len(m.Labels) > 0 {
			fmt.Fprintf(&b, " by `%s`", strings.Join(m.Labels, "`, `"))
		}
		if m.Board {
			b.WriteString("; of the whole board: each node shows the same")
		}
		fmt.Fprintf(&b, ".\n%s\n\n*What to do.* %s\n", m.Help, m.Do)
	}
	return b.String()
}
