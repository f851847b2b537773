package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryTargetHasItsScript(t *testing.T) {
	for name := range targets {
		if _, err := os.Stat(filepath.Join("speed", name+".rhai")); err != nil {
			t.Errorf("target %s: %v", name, err)
		}
	}
}

func TestSpeedCountsMissedTargets(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"fibonacci", "something_else"} {
		if err := os.WriteFile(filepath.Join(folder, name+".rhai"), []byte("1"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// says is a command that answers every --bench with one line.
	says := func(line string) []string { return []string{"sh", "-c", "echo '" + line + "'", "sh"} }
	measured := func(ms float64, result string) []string {
		return says(fmt.Sprintf(`{"file":"f","rounds":3,"compile_ms":1,"run_ms":%v,"result":%q}`, ms, result))
	}
	for _, test := range []struct {
		name string
		ours []string
		want int
		says string
	}{
		{name: "fast enough", ours: measured(10, "5"), want: 0, says: "10.0"},
		{name: "too slow where there is a target", ours: measured(50, "5"), want: 1, says: "missed"},
		{name: "other results are missed everywhere", ours: measured(1, "6"), want: 2, says: `ours "6"`},
		{name: "so are failures", ours: says(`{"file":"f","rounds":3,"error":"Stack overflow"}`), want: 2, says: "Stack overflow"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			got, err := speed(&out, folder, measured(100, "5"), test.ours)
			if err != nil || got != test.want || !strings.Contains(out.String(), test.says) {
				t.Errorf("got %d missed, error %v, want %d and %q in:\n%s", got, err, test.want, test.says, &out)
			}
		})
	}
}

func TestTheBigScriptHasCopiesWithTheirOwnNames(t *testing.T) {
	big, err := bigScript(filepath.Join("speed", "parse.rhai"), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(big)
	if err != nil {
		t.Fatal(err)
	}
	for i := range parseCopies {
		if n := strings.Count(string(text), fmt.Sprintf("fn hash_%d(", i)); n != 1 {
			t.Errorf("function hash_%d stands there %d times, want once", i, n)
		}
	}
}
