package work_test

import (
	"testing"

	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// A job that came with an error of the claim is not begun: its lease runs out.
func TestNothingIsBegunOfAClaimThatFailed(t *testing.T) {
	eachTaking(t, func(t *testing.T, by taking) {
		inner := memboard.Open()
		defer inner.Close()
		r := by.startRig(t, boardtest.Blurting(t, inner, 1), work.Config{}, work.RunnerConfig{ID: 1, Owner: "n1/a"}, newGoScript("go", 8))
		defer r.stop()
		r.submit(job(1, "ok"))
		if j := r.want(1, domain.JobFinished, ""); j.Attempt != 2 || j.Losses != 1 || r.script.count(j.Key()) != 1 {
			t.Errorf("it took %d attempts, lost %d leases and ran %d times, want 2, 1 and 1", j.Attempt, j.Losses, r.script.count(j.Key()))
		}
	})
}
