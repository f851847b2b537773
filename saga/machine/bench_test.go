package machine_test

import (
	"strconv"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

func itoa(n int) string { return strconv.Itoa(n) }

// BenchmarkAdvance is one transition of the examples' saga: it reads and writes
// the data, asks for an effect, sets two timers.
func BenchmarkAdvance(b *testing.B) {
	r := newRig(b, order(b))
	r.send(r.event("OrderPlaced", placed))
	ev := r.result("reserve", domain.ResultSucceeded, `{"reservation":"r-1"}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := r.m.Advance(r.in, ev); err != nil {
			b.Fatal(err)
		}
	}
}
