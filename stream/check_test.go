package stream_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

func TestMatch(t *testing.T) {
	for _, c := range []struct {
		filter, subject string
		want            bool
	}{
		{"a.b.c", "a.b.c", true},
		{"a.b.c", "a.b", false},
		{"a.b", "a.b.c", false},
		{"a.*.c", "a.b.c", true},
		{"a.*.c", "a.b.d", false},
		{"*", "a", true},
		{"*", "a.b", false},
		{"a.*", "a", false},
		{">", "a", true},
		{">", "a.b.c", true},
		{"a.>", "a", false},
		{"a.>", "a.b", true},
		{"a.>", "a.b.c", true},
		{"a.>", "b.b", false},
		{"*.>", "a.b", true},
		{"*.>", "a", false},
		{"a.>.c", "a.>.c", true}, // only at the end it is more than itself
		{"a.>.c", "a.b.c", false},
	} {
		if got := stream.Match(c.filter, c.subject); got != c.want {
			t.Errorf("%q and %q: got %t, want %t", c.filter, c.subject, got, c.want)
		}
	}
}

// TestStreamsShareNoSubject wants each subject to be of one stream, or brokers
// would store it twice.
func TestStreamsShareNoSubject(t *testing.T) {
	for _, subject := range []string{
		"tenant.t.aggregate.a.b", "aggregate.a.b", "tenant.t.effect.a.b", "effect.a.b", "tenant.t.workflow.a.b", "workflow.a.b",
		"tenant.t.effect_result.a.b", "effect_result.a.b", "tenant.t.workflow_event.a.b", "workflow_event.a.b", "tenant.tenant.effect.effect.x",
	} {
		n := 0
		for _, name := range domain.StreamNames {
			if subjects := name.Subjects(); len(subjects) > 0 && stream.Matches(subjects, subject) {
				n++
			}
		}
		if n != 1 {
			t.Errorf("subject %s is of %d streams, want one", subject, n)
		}
	}
}

func TestTokensAndFilters(t *testing.T) {
	for _, token := range []string{"", "a.b", "a b", "*", ">", "a*", "ü", "a\n", strings.Repeat("x", 129)} {
		if err := stream.ValidateToken("saga", token); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("token %q: got error %v, want invalid", token, err)
		}
	}
	for _, filter := range []string{"", ".", "a.", ".a", "a..b", "a.>.b", "a b", "a*", ">.a", "a.b>", strings.Repeat("x.", 200) + "x"} {
		if err := stream.ValidateFilters([]string{filter}); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("filter %q: got error %v, want invalid", filter, err)
		}
	}
	for _, filter := range []string{">", "*", "a", "a.>", "*.>", "tenant.t-1_$.aggregate.*.*"} {
		if err := stream.ValidateFilters([]string{filter}); err != nil {
			t.Errorf("filter %q: got error %v", filter, err)
		}
	}
}

func TestConsumersAreFilled(t *testing.T) {
	c, err := stream.Consumer{Durable: "d", Stream: domain.WorkflowEvents}.Filled()
	if err != nil || c.MaxInFlight != stream.DefaultInFlight {
		t.Errorf("got %+v and %v", c, err)
	}
	s, err := stream.Shared{Durable: "d", Stream: domain.WorkflowEvents}.Filled()
	if err != nil || s.MaxInFlight != stream.DefaultInFlight || s.AckWait != stream.DefaultAckWait || s.MaxDeliver != stream.DefaultMaxDeliver {
		t.Errorf("got %+v and %v", s, err)
	}
}

// FuzzMatch compares Match with what a filter means.
func FuzzMatch(f *testing.F) {
	for _, s := range []string{"a.b", "a.*", "a.>", ">", "", "..", "*.*"} {
		f.Add(s, "a.b")
	}
	f.Fuzz(func(t *testing.T, filter, subject string) {
		if stream.ValidateFilters([]string{filter}) != nil {
			return
		}
		fs, ss := strings.Split(filter, "."), strings.Split(subject, ".")
		want := len(fs) == len(ss)
		if rest := fs[len(fs)-1] == ">"; rest {
			want = len(ss) >= len(fs)
			fs = fs[:len(fs)-1]
		}
		for i := range fs {
			want = want && (fs[i] == "*" || fs[i] == ss[i])
		}
		if got := stream.Match(filter, subject); got != want {
			t.Errorf("%q and %q: got %t, want %t", filter, subject, got, want)
		}
	})
}
