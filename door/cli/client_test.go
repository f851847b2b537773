package cli_test

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/door/cli"
)

// A program that can be no node shows no command that is one, and says so of one that is
// typed all the same.
func TestClientAlone(t *testing.T) {
	t.Setenv("RAMET_DATA", t.TempDir())
	hooks := cli.Hooks{Client: true}
	got := ramet(t, hooks, "", "--help")
	if strings.Contains(got.out, "\n  serve ") || strings.Contains(got.out, "\n  run ") || !strings.Contains(got.out, "\n  job ") {
		t.Errorf("it offers:\n%s", got.out)
	}
	if got := ramet(t, cli.Hooks{}, "", "--help"); !strings.Contains(got.out, "\n  serve ") {
		t.Errorf("a program that can be one offers:\n%s", got.out)
	}
	for line, want := range map[string]string{"serve": "cannot run a node", "circle serve c": "cannot run a node",
		"run " + write(t, "a.sh", "echo a\n"): "name one with --node", "config show": "cannot run a node", "info": "no node listens"} {
		if got := ramet(t, hooks, "", append(strings.Fields(line), "--start-wait", "0s")...); got.code == 0 || !strings.Contains(got.err, want) {
			t.Errorf("%s: got %+v, want %q", line, got, want)
		}
	}
}
