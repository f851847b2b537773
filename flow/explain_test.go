package flow_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/queue"
	"github.com/ramet-run/ramet/work"
)

// A keeper that died decides nothing, and where nobody takes its flow back explain
// says so.
func TestExplainTellsAKeepersLeaseThatRanOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		jobs := work.New(b, work.Config{})
		r := &rig{T: t, board: b, work: jobs, flows: flow.New(b, jobs, flow.Config{}), ctx: t.Context()}
		id := r.steps(step("a", "set x 1"), step("b", "set y 1", phase(1)))
		ask := board.Ask{Queues: []board.Queue{{Lists: []string{queue.Keeper}}}, Max: 1, Owner: "dead/x", Lease: 30 * time.Second}
		if got, err := b.Claim(t.Context(), ask); err != nil || len(got) != 1 {
			t.Fatalf("claim: got %v, %v", got, err)
		}
		for _, want := range []string{"dead/x decides what follows", "dead/x was to decide what follows and is gone, paused or cut off: its lease ran out at 2"} {
			x, err := r.flows.Explain(t.Context(), tenant, id)
			if err != nil || x.Standing != domain.StandingKept || !strings.HasPrefix(x.Text, want) {
				t.Errorf("got %+v, %v, want %q", x, err, want)
			}
			time.Sleep(31 * time.Second)
		}
	})
}
