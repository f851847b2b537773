package flow_test

import (
	"testing"
	"testing/synctest"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/board/memboard"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/layout"
)

func TestTmpStepped(t *testing.T) {
	for _, n := range []int{100, 1000, 7000} {
		synctest.Test(t, func(t *testing.T) {
			c := &counted{Board: memboard.Open()}
			r := newRigOn(t, c, flow.Config{})
			b := blueprint()
			for i := range n {
				b.Steps = append(b.Steps, step(fmt.Sprintf("s%d", i), "", func(s *domain.Step) { s.MaySkip = true; if i >= 50 { s.Needs = []string{fmt.Sprintf("s%d", i-50)} } }))
			}
			begun := time.Now()
			_ = begun
			id := r.submit(flow.Request{Plan: b})
			v := r.wait(id)
			recs, _ := c.Board.Get(r.ctx, 1, layout.FlowState(id))
			t.Logf("%d: %s %s %+v state %d", n, v.Reason, v.Error, c.per(n), len(recs[0].Get("state")))
			r.stop()
		})
	}
}
