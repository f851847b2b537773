package effect_test

import (
	"testing"

	"github.com/ramet-run/ramet/effect"
)

func TestTraceParent(t *testing.T) {
	const id, trace = "018f5b1e-0000-7000-8000-000000000001", "4bf92f3577b34da6a3ce929d0e0e4736"
	const want = "00-" + trace + "-9d6d66a6fb80a4b3-01"
	for _, tc := range []struct{ name, trace, want string }{
		{"a trace", trace, want},
		{"in capitals", "4BF92F3577B34DA6A3CE929D0E0E4736", want},
		{"as a header of its own", "00-" + trace + "-00f067aa0ba902b7-01", want},
		{"none", "", ""},
		{"zeros are none", "00000000000000000000000000000000", ""},
		{"too short", trace[1:], ""},
		{"a header within", trace[:30] + "\r\n", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			call := effect.Call{CommandID: id, Metadata: map[string]string{"trace_id": tc.trace}}
			if got := call.TraceParent(); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
