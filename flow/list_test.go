package flow_test

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

func TestFlowsAreFoundWithoutTheRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if err := r.work.KeepFailed(r.ctx, tenant, false); err != nil {
			t.Fatal(err)
		}
		for n := range 40 {
			text := "ok"
			switch {
			case n%10 == 3:
				text = "fail"
			case n%10 == 7:
				text = "sleep 10h"
			}
			r.submit(flow.Request{Plan: blueprint(step("s", text)), Trigger: strconv.Itoa(n + 1)})
		}
		time.Sleep(time.Minute)
		for _, tc := range []struct {
			name   string
			filter flow.Filter
			first  []domain.FlowID
			looked int
		}{
			{"the newest", flow.Filter{Look: 3}, []domain.FlowID{40, 39, 38}, 3},
			{"those in error", flow.Filter{Status: domain.FlowError}, []domain.FlowID{4, 14, 24, 34}, 4},
			{"those that failed", flow.Filter{Reason: domain.FlowFailed}, []domain.FlowID{4, 14, 24, 34}, 4},
			{"those that were cancelled", flow.Filter{Reason: domain.FlowCancelled}, nil, 4},
			// Their jobs are alive, too.
			{"those that run", flow.Filter{Status: domain.FlowStarted}, []domain.FlowID{8, 18, 28, 38}, 8},
			{"one by its name", flow.Filter{Blueprint: "test", Trigger: "17"}, []domain.FlowID{17}, 1},
			{"one by its name that is otherwise", flow.Filter{Blueprint: "test", Trigger: "17", Status: domain.FlowError}, nil, 1},
			{"a name that none has", flow.Filter{Blueprint: "test", Trigger: "x"}, nil, 0},
			{"a name that is too long", flow.Filter{Blueprint: "test", Trigger: string(make([]byte, 300))}, nil, 0},
		} {
			flows, at, err := r.flows.List(r.ctx, tenant, tc.filter, "")
			var ids []domain.FlowID
			for i := range flows {
				ids = append(ids, flows[i].ID)
			}
			if tc.looked == 4 || tc.looked == 8 { // they ended, or began, at one time
				slices.Sort(ids)
			}
			if err != nil || !slices.Equal(ids, tc.first) || at.Looked != tc.looked {
				t.Errorf("%s: got %v, looked at %d, %v; want %v and %d", tc.name, ids, at.Looked, err, tc.first, tc.looked)
			}
		}
		// One that has gone keeps its name for a while: it is to be looked for in the archive.
		if err := r.board.Commit(r.ctx, *(&board.Batch{Space: 1}).Delete("flow:17")); err != nil {
			t.Fatal(err)
		}
		if flows, at, err := r.flows.List(r.ctx, tenant, flow.Filter{Blueprint: "test", Trigger: "17"}, ""); err != nil || len(flows) > 0 || at.Looked != 0 {
			t.Errorf("a name without its flow: got %v, %+v, %v", flows, at, err)
		}
	})
}
