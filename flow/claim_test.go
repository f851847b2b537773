package flow_test

import (
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/board/boardtest"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// Claims of keepers and runners that failed, but say what they have taken, are
// not acted on; the flow ends all the same.
func TestNothingIsBegunOfAClaimThatFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigOn(t, boardtest.Blurting(t, memboard.Open(), 4), flow.Config{})
		id := r.steps(step("a", "set k v"), step("b", "", needs("a")))
		r.want(id, domain.FlowSucceeded)
	})
}
