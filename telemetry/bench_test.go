package telemetry_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/telemetry"
)

// BenchmarkJob is what one job of a drain costs to count: its begin and its end. Claims and
// commits are told of many at once.
func BenchmarkJob(b *testing.B) {
	m := telemetry.NewMetrics()
	for i := 0; b.Loop(); i++ {
		m.AttemptBegun(1, "shell", false, time.Second)
		m.AttemptEnded(1, "shell", domain.JobFinished, "", time.Millisecond)
		if i%64 == 0 {
			m.JobsClaimed("shell", 64)
			m.Committed("ok", 64, 10_000, time.Millisecond)
		}
	}
}
