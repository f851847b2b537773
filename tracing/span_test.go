package tracing_test

import (
	"math"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

const trace, span = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"

func TestTextsThatNameATrace(t *testing.T) {
	for _, tc := range []struct{ name, text, trace, parent string }{
		{"32 digits", trace, trace, ""},
		{"capitals", "4BF92F3577B34DA6A3CE929D0E0E4736", trace, ""},
		{"a header", "00-" + trace + "-" + span + "-01", trace, span},
		{"a header of a caller that records nothing", "00-" + trace + "-" + span + "-00", trace, span},
		{"a header with a span of zeros", "00-" + trace + "-0000000000000000-01", trace, ""},
		{"none", "", "", ""},
		{"zeros", "00000000000000000000000000000000", "", ""},
		{"too short", trace[1:], "", ""},
		{"something else", "order-7", "", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := tracing.Parse(tc.text); got != tc.trace {
				t.Errorf("trace %q, want %q", got, tc.trace)
			}
			if got := tracing.ParseParent(tc.text); got != tc.parent {
				t.Errorf("parent %q, want %q", got, tc.parent)
			}
		})
	}
}

// Of two nodes that share a trace both may have a job 1 of caller 1: their spans differ
// where one came from the other.
func TestSpansOfAJobThatCameFromElsewhereAreItsOwn(t *testing.T) {
	ours := &domain.Job{ID: 1, CallerID: 1}
	theirs := &domain.Job{ID: 1, CallerID: 1, Origin: "job:1:1@0011223344556677"}
	if a, b := tracing.Attempt(1, ours, 1), tracing.Attempt(1, theirs, 1); a == b {
		t.Errorf("both are %s", a)
	}
	if a, b := tracing.Attempt(1, ours, 1), tracing.Attempt(1, ours, 2); a == b {
		t.Errorf("two attempts are %s", a)
	}
}

func TestTheShareThatBeginsATrace(t *testing.T) {
	for _, tc := range []struct{ ratio, least, most float64 }{{0, 0, 0}, {1, 1, 1}, {0.5, 0.3, 0.7}} {
		tracer, begun := tracing.New(func(tracing.Span) {}, tc.ratio), 0
		const n = 2000
		for range n {
			if id := tracer.Begin(); id != "" {
				begun++
				if tracing.Parse(id) != id {
					t.Fatalf("%q is no trace", id)
				}
			}
		}
		if share := float64(begun) / n; share < tc.least || share > tc.most || math.IsNaN(share) {
			t.Errorf("ratio %v: %v began one", tc.ratio, share)
		}
	}
	var nobody *tracing.Tracer
	if nobody.Begin() != "" || nobody.Wants(trace) != "" {
		t.Error("a tracer that is not there wants spans")
	}
	nobody.Tell(tracing.Span{})
}
