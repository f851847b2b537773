package definition_test

import (
	"os"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/saga/definition"
)

// TestTheDocsAreRight: the YAML of docs/sagas.md is read, parts of definitions
// put into one.
func TestTheDocsAreRight(t *testing.T) {
	text, err := os.ReadFile("../../docs/sagas.md")
	if err != nil {
		t.Fatal(err)
	}
	const head = "name: n\ntriggers: [{of: Order, types: [Go]}]\ninitial: new\n" +
		"states: {new: {on: {'*': handle}}, waiting: {on: {'*': ignore}}, done: {final: true}, cancelled: {final: true}, stuck: {final: true}}\n"
	found := 0
	for i, part := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ := strings.Cut(part, "```")
		switch {
		case strings.Contains(block, "\ncases:"): // sagatest reads such
			continue
		case strings.HasPrefix(block, "# node.yaml"): // the config of a node
			continue
		case strings.HasPrefix(block, "compensation:"):
			block = head + block + "script: fn on_event(s, e) { } fn compensate(s, w) { }\n"
		case strings.HasPrefix(block, "nodes:"):
			block = head + block
		case strings.HasPrefix(block, "events:"):
			block = head + block + "nodes: {next: '\"done\"'}\n"
		}
		found++
		if _, warnings, err := definition.Lint("", []byte(block)); err != nil || len(warnings) > 0 {
			t.Errorf("block %d: %v %v", i+1, err, warnings)
		}
	}
	if found != 4 {
		t.Errorf("%d blocks were found", found)
	}
}
