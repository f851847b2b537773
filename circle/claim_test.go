package circle_test

import (
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/circle"
)

// A task that came with an error of the claim is not begun: its lease runs out.
func TestNothingIsBegunOfAClaimThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := memboard.Open()
		defer inner.Close()
		b := boardtest.Blurting(t, inner, 1)
		r := &rig{T: t, board: b, engine: circle.New(b, circle.Config{})}
		r.recoverer()
		r.worker()
		r.submit("t1", "ATTEMPT")
		if got := r.wait("t1"); got.Output != "2" || got.Losses != 1 {
			t.Errorf("got %+v, want the second attempt after one loss", got)
		}
	})
}
