package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBeside(t *testing.T) {
	for _, test := range []struct {
		name, commands string
		want           string // the last line
		wantErr        string
	}{
		{"a comment and an empty line are no program", "# fast ones\n\necho '{\"jobs_per_s\": 5, \"name\": \"x\"}'\n",
			"median of 3\techo '{\"jobs_per_s\": 5, \"name\": \"x\"}'\t{\"jobs_per_s\":5}", ""},
		{"a program that fails ends the comparison", "exit 3", "", "exit 3: exit status 3"},
		{"a program has to print JSON", "echo fast", "", "want one JSON object"},
	} {
		t.Run(test.name, func(t *testing.T) {
			sides, err := readSides(strings.NewReader(test.commands))
			if err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			if err := beside(sides, 3, &out); err != nil {
				if test.wantErr == "" || !strings.Contains(err.Error(), test.wantErr) {
					t.Fatalf("got %v, want %q in it", err, test.wantErr)
				}
				return
			}
			lines := strings.Split(strings.TrimSpace(out.String()), "\n")
			if diff := cmp.Diff(test.want, lines[len(lines)-1]); diff != "" || len(lines) != 4 {
				t.Errorf("%d lines, want 4; the last (-want +got):\n%s", len(lines), diff)
			}
		})
	}
}

func TestMiddles(t *testing.T) {
	got := middles(map[string][]float64{"a": {9, 1, 5}, "b": {2, 1}})
	if diff := cmp.Diff(figures{"a": 5.0, "b": 2.0}, got); diff != "" {
		t.Errorf("medians (-want +got):\n%s", diff)
	}
}
