package clockwork_test

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Whoever can write to the store can delete an alarm: the schedule would never come again.
func TestTheAuditSetsAlarmsOfSchedulesThatAreMissing(t *testing.T) {
	timers(t, func(r *timer) {
		time.Sleep(10 * time.Hour)
		r.apply(domain.Schedule{Every: 3600})
		r.backfill(2, 7, 2)
		repaired := func(want int) {
			t.Helper()
			if a, err := r.s.Audit(r.Context(), 1, 0); err != nil || len(a.Repaired) != want {
				t.Errorf("got %+v, %v, want %d repaired", a, err, want)
			}
		}
		repaired(0)
		was, _ := r.alarm()
		b := board.Batch{Space: 1}
		if err := r.b.Commit(r.Context(), *b.ClearAlarm("schedule:s").ClearAlarm("backfill:s")); err != nil {
			t.Fatal(err)
		}
		repaired(2)
		if at, set := r.alarm(); !set || !at.Equal(was) {
			t.Errorf("the alarm is at %v, %v, want %v as before", at, set, was)
		}
		r.wantsFill(r.filled(), domain.BackfillRunning, 2, 0, 0, 1, 2)
		repaired(0)
		if _, err := r.s.CancelBackfill(r.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		if _, err := r.s.Pause(r.Context(), 1, "s"); err != nil {
			t.Fatal(err)
		}
		repaired(0) // what is paused or has ended has none
	})
}
