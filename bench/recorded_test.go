package main

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompare(t *testing.T) {
	last := recorded{Ratios: []finding{{Name: "submit", Ratio: 2}, {Name: "run", Ratio: 0.5}}}
	for _, test := range []struct {
		name  string
		found finding
		want  string // in the error; "" is none
	}{
		{"the recorded ratio is good", finding{Name: "submit", Ratio: 2}, ""},
		{"a better one is good", finding{Name: "submit", Ratio: 0.1}, ""},
		{"9 % worse is noise", finding{Name: "submit", Ratio: 2.18}, ""},
		{"11 % worse names the figure and both ratios", finding{Name: "submit", Ratio: 2.22}, "submit: found 2.220, recorded 2.000, 11 % worse"},
		{"a loose one may be worse", finding{Name: "submit", Ratio: 2.4, Slack: loose}, ""},
		{"and not much worse", finding{Name: "submit", Ratio: 2.6, Slack: loose}, "submit: found 2.600, recorded 2.000, 30 % worse"},
		{"each ratio has its own record", finding{Name: "run", Ratio: 2}, "run: found 2.000, recorded 0.500, 300 % worse"},
		{"what nobody recorded is no pass", finding{Name: "new", Ratio: 1}, "new: found 1.000, nothing is recorded"},
		{"what was not measured is no pass", finding{Name: "run", Ratio: math.NaN()}, "run: not measured, recorded 0.500"},
		{"a division by nothing is no pass", finding{Name: "run", Ratio: math.Inf(1)}, "run: not measured"},
		{"a cost of nothing is no pass", finding{Name: "run"}, "run: not measured"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := last.compare(test.found)
			if got := err == nil; got != (test.want == "") {
				t.Fatalf("got %v, want %q", err, test.want)
			}
			if err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %q, want %q in it", err, test.want)
			}
		})
	}
}

func TestLeast(t *testing.T) {
	r := ratios[0]
	l := least{}
	for _, us := range []float64{9, 6, 8} {
		l.take(r.ours.trial(), figures{r.ours.figure: us, "jobs": 1.0})
		l.take(r.other.trial(), figures{r.other.figure: us / 2})
	}
	got := l.of(r)
	if diff := cmp.Diff(finding{Name: r.name, Ratio: 2, Ours: 6, Other: 3, Slack: slack}, got); diff != "" {
		t.Errorf("the least of three rounds (-want +got):\n%s", diff)
	}
	if got := l.of(ratios[2]); !math.IsNaN(got.Ratio) {
		t.Errorf("a ratio that was not measured: got %v, want NaN", got)
	}
}

// What make bench-check compares with must be in the repository, for every
// ratio and no other.
func TestRecordedFileHasEveryRatio(t *testing.T) {
	last, err := readRecorded(filepath.Join("..", recordedPath))
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	for _, f := range last.Ratios {
		got = append(got, f.Name)
		if err := last.compare(f); err != nil {
			t.Errorf("a recorded ratio does not pass against itself: %v", err)
		}
	}
	for _, r := range ratios {
		want = append(want, r.name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestRatiosNameWhatThereIs(t *testing.T) {
	for _, r := range ratios {
		for _, c := range []cost{r.ours, r.other} {
			known := false
			for _, m := range measures {
				known = known || m.name == c.measure && (m.boards == nil || strings.Contains(strings.Join(m.boards, ","), c.board))
			}
			if !known {
				t.Errorf("%s: no measure %q on %s", r.name, c.measure, c.board)
			}
		}
	}
}
