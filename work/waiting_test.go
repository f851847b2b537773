package work_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// TestAContextHasNoMoreWaitingThanItMay: by what all nodes let in, and until some of it
// has ended.
func TestAContextHasNoMoreWaitingThanItMay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memboard.Open()
		defer b.Close()
		const most = 40
		nodes := []*work.Engine{work.New(b, work.Config{WaitingJobs: most}), work.New(b, work.Config{WaitingJobs: most})}
		fill := func(tenant domain.TenantID) (n int) {
			t.Helper()
			for i := 0; ; i++ {
				e := nodes[i%len(nodes)]
				if err := e.Room(t.Context(), tenant); errors.Is(err, domain.ErrExhausted) {
					return n
				} else if err != nil || n > 10*most {
					t.Fatalf("after %d jobs: %v", n, err)
				}
				r, err := e.Submit(t.Context(), tenant, []*domain.Job{{CallerID: 1, Script: "x", ScriptType: "shell"}})
				if err != nil || r[0].Err != nil {
					t.Fatal(r, err)
				}
				n++
			}
		}
		if n := fill(1); n < most || n > most+most/2 {
			t.Errorf("two nodes let %d jobs in, want about %d", n, most)
		}
		if err := nodes[0].Room(t.Context(), 2); err != nil {
			t.Errorf("another context: %v", err)
		}
		if err := work.New(b, work.Config{WaitingJobs: -1}).Room(t.Context(), 1); err != nil {
			t.Errorf("without a bound: %v", err)
		}
		for id := domain.JobID(1); id <= most/2; id++ {
			if _, err := nodes[0].Cancel(t.Context(), 1, domain.JobKey{Caller: 1, ID: id}, 1); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(time.Minute)
		if n := fill(1); n < most/4 || n > most/2 {
			t.Errorf("%d jobs came in after %d had ended", n, most/2)
		}
	})
}
