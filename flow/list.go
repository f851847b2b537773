package flow

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Filter says which flows to list. Zero fields do not filter.
type Filter struct {
	Status    domain.FlowStatus
	Reason    domain.FlowReason
	Blueprint string
	Trigger   string
	Caller    domain.ActorID
}

func (f Filter) matches(fl *domain.Flow) bool {
	return (f.Status == "" || f.Status == fl.Status) && (f.Reason == "" || f.Reason == fl.Reason) && (f.Blueprint == "" || f.Blueprint == fl.Blueprint) &&
		(f.Trigger == "" || f.Trigger == fl.Trigger) && (f.Caller == 0 || f.Caller == fl.CallerID)
}

// listPage is how many records are looked at for one page of a list.
const listPage = 500

// List pages through a context's flows, in the board's own order, without
// their jobs, environments, params and results. Pass "" as cursor first, then
// what came back, until that is "". A page may be empty while more is to come.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID, f Filter, cursor string) ([]domain.Flow, string, error) {
	space := layout.SpaceOf(tenant)
	keys, next, err := e.board.Keys(ctx, space, layout.FlowPrefix, cursor, listPage)
	if err != nil {
		return nil, "", err
	}
	recs, err := board.Listed(ctx, e.board, space, layout.FlowLine, keys)
	if err != nil {
		return nil, "", err
	}
	var flows []domain.Flow
	var at []int // flows whose progress is counted by their jobs
	var waits []string
	for i, r := range recs {
		id, err := domain.ParseFlowKey(keys[i])
		if r == nil || err != nil {
			continue
		}
		fl, _ := layout.DecodeFlow(keys[i], r)
		fl.ID = id
		if f.matches(&fl) {
			if !fl.Stepped && !fl.Final() {
				at, waits = append(at, len(flows)), append(waits, layout.FlowWaits(id), layout.FlowState(id))
			}
			flows = append(flows, fl)
		}
	}
	return flows, next, e.countProgress(ctx, space, flows, at, waits)
}

// countProgress fills in the progress of plain flows: what has ended of all.
func (e *Engine) countProgress(ctx context.Context, space board.Space, flows []domain.Flow, at []int, keys []string) error {
	if len(at) == 0 {
		return nil
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.WaitsPlain, layout.FlowStateCount}, keys...))
	if err != nil {
		return err
	}
	for n, i := range at {
		left, err1 := strconv.Atoi(recs[2*n].Get(layout.WaitsPlain))
		count, err2 := strconv.Atoi(recs[2*n+1].Get(layout.FlowStateCount))
		if err1 == nil && err2 == nil && count > 0 {
			flows[i].Progress = progressText(float64(count-left) / float64(count))
		}
	}
	return nil
}
