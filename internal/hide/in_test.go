package hide_test

import (
	"testing"

	"github.com/ramet-run/ramet/internal/hide"
)

func TestMasksInEnvironments(t *testing.T) {
	for text, want := range map[string]bool{
		`***`:                      true,
		`{"env":{"A":"***"}}`:      true,
		`{"Env_Vars":{"A":"***"}}`: true,
		`{"env":{"A":"\u002a**"}}`: true, // the same by numbers of letters
		`{"\u0065nv":{"A":"\u002A\u002a\u002A"}}`:  true,
		`[{"steps":[{"env":{"A":"***"}}]}]`:        true,
		`{"steps":{"params":{"env":{"A":"***"}}}}`: true, // of a step that is called so
		`{"params":{"A":"***"}}`:                   false,
		`{"params":{"env":"***"}}`:                 false, // a param that is called so
		`{"params":{"env_vars":"\u002a**"}}`:       false,
		`{"env":{"A":"****"}}`:                     false,
		`{"env":{"A":"\\***"}}`:                    false,
		`{"Env_Vars":"***"}`:                       true, // of one that is no object
		`{"env":{"params":"***"}}`:                 true,
		`no JSON ***`:                              false,
		// Others to which people give names, too.
		`{"secrets":{"env":"***"}}`:                                false,
		`{"output":{"env":"***"}}`:                                 false,
		`{"Result":{"env_vars":"***"}}`:                            false,
		`{"steps":[{"affinity":{"env":"***"}}]}`:                   false,
		`{"steps":[{"matrix":{"env":["***","b"]}}]}`:               false,
		`{"steps":[{"matrix":{"include":[{"env":"***"}]}}]}`:       false,
		`{"steps":[{"each":[{"env":"***"}]}]}`:                     false,
		`{"steps":[{"affinity":{"env":"x"},"env":{"env":"***"}}]}`: true,
		`{"output":{"env":"***"},"steps":[{"env":{"A":"***"}}]}`:   true,
		`{"steps":{"matrix":{"env":{"A":"***"}}}}`:                 true, // of a step that is called so
		`{"matrix":{"env":{"A":"***"}},"env":{"params":"***"}}`:    true,
	} {
		if got := hide.In(text, false); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
	if !hide.In(`{"A":"\u002a**"}`, true) || hide.In(`{"A":"x"}`, true) {
		t.Error("of a whole environment it is not found, or found in another")
	}
}
