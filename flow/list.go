package flow

import (
	"context"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/listing"
)

// Filter says which flows to list. Zero fields do not filter.
type Filter struct {
	Status    domain.FlowStatus
	Reason    domain.FlowReason
	Blueprint string
	Trigger   string
	Caller    domain.ActorID
	Awaits    domain.FlowAwaits
	// Live lists only what has not ended.
	Live bool
	// Way is how they are to be listed: one that [Filter.Ways] has. Default: the way
	// on which they are found soonest.
	Way listing.Way
	// Look is how many records a page looks at. Default: [listing.Look].
	Look int
}

// Matches reports whether a flow is one that f wants.
func (f Filter) Matches(fl *domain.Flow) bool {
	return (f.Status == "" || f.Status == fl.Status) && (f.Reason == "" || f.Reason == fl.Reason) && (f.Blueprint == "" || f.Blueprint == fl.Blueprint) &&
		(f.Trigger == "" || f.Trigger == fl.Trigger) && (f.Caller == 0 || f.Caller == fl.CallerID) &&
		(f.Awaits == "" || f.Awaits == fl.WaitsFor()) && (!f.Live || !fl.Final())
}

// may is Matches for a flow of which it is not known yet whether it has begun.
func (f Filter) may(fl *domain.Flow) bool {
	if f.Status == domain.FlowDispatched && mayWait(fl) {
		f.Status = fl.Status
	}
	return f.Matches(fl)
}

// unsuccessful reports whether f wants none but flows that ended in error.
func (f Filter) unsuccessful() bool {
	return f.Status == domain.FlowError || f.Reason != "" && f.Reason != domain.FlowSucceeded
}

// Ways are those that miss nothing of what f wants.
func (f Filter) Ways() []listing.Way {
	switch {
	case f.Live || f.Awaits != "" || f.Status == domain.FlowDispatched || f.Status == domain.FlowStarted:
		return []listing.Way{listing.WayLive, listing.WayNewest}
	case f.unsuccessful():
		return []listing.Way{listing.WayLogged, listing.WayNewest}
	}
	return []listing.Way{listing.WayNewest}
}

// listPage is how many records are looked at for one page of a list.
const listPage = listing.Look

// List pages through a context's flows, without their jobs, environments, params and
// results: those that have not ended in the order in which they began, those that ended
// in error the newest end first, others the newest first. The one that has a business
// name is found by it. Pass "" as cursor first, then what came back as Next, until that
// is "". A page may be empty while more is to come.
func (e *Engine) List(ctx context.Context, tenant domain.TenantID, f Filter, cursor string) ([]domain.Flow, listing.At, error) {
	space := layout.SpaceOf(tenant)
	p, err := e.listPage(ctx, space, f, cursor)
	if err != nil {
		return nil, p.At, err
	}
	var flows []domain.Flow
	var at []int // flows whose progress is counted by their jobs
	var waits []string
	for i, r := range p.Records {
		id, err := domain.ParseFlowKey(p.Keys[i])
		if r == nil || err != nil {
			continue
		}
		fl, _ := layout.DecodeFlow(p.Keys[i], r)
		fl.ID = id
		if f.may(&fl) {
			if !fl.Stepped && !fl.Final() {
				at, waits = append(at, len(flows)), append(waits, layout.FlowWaits(id), layout.FlowState(id))
			}
			flows = append(flows, fl)
		}
	}
	plain, err := e.countProgress(ctx, space, flows, at, waits)
	if err == nil {
		err = e.tellPage(ctx, space, flows, plain)
	}
	flows = slices.DeleteFunc(flows, func(fl domain.Flow) bool { return !f.Matches(&fl) })
	return flows, p.At, err
}

// listPage is a page of the records among which the flows are that f wants.
func (e *Engine) listPage(ctx context.Context, space board.Space, f Filter, cursor string) (p listing.Page, err error) {
	way, err := listing.WayOf(cursor)
	if err != nil {
		return p, err
	}
	recs := listing.Records{Board: e.board, Space: space, Prefix: layout.FlowPrefix, Fields: layout.FlowLine, Look: f.Look}
	switch {
	case way != listing.WayNone:
	case f.Blueprint != "" && f.Trigger != "":
		return e.named(ctx, recs, f)
	default:
		if way, err = e.work.WayOn(ctx, space, f.Ways(), f.Way); err != nil {
			return p, err
		}
	}
	switch way {
	case listing.WayLogged:
		return recs.Logged(ctx, layout.FailedFlows, layout.FlowFinishedMs, layout.ParseFailed, cursor)
	case listing.WayLive:
		return recs.Live(ctx, cursor)
	}
	return recs.Newest(ctx, []listing.Numbers{{Counter: layout.Seq("flow", 0)}}, "", cursor)
}

// named is the page with the flow that has a business name.
func (e *Engine) named(ctx context.Context, recs listing.Records, f Filter) (p listing.Page, err error) {
	name := layout.FlowName(f.Blueprint, f.Trigger)
	if len(name) > board.MaxKey {
		return p, nil // none has it
	}
	found, err := board.Readable(e.board.GetFields(ctx, recs.Space, []string{layout.FlowNameID}, name))
	if err != nil || found[0] == nil {
		return p, err
	}
	id, err := domain.ParseFlowKey(found[0].Get(layout.FlowNameID))
	if err != nil {
		return p, nil // another program wrote it
	}
	p.Keys = []string{domain.FlowKey(id)}
	p.Records, err = board.Listed(ctx, e.board, recs.Space, recs.Fields, p.Keys)
	if err == nil && p.Records[0] != nil { // it keeps its name for a while after it has gone to the archive
		p.Looked = 1
	}
	return p, err
}

// countProgress fills in the progress of plain flows: what has ended of all. It returns
// what their states say of their jobs, by the place of the flow.
func (e *Engine) countProgress(ctx context.Context, space board.Space, flows []domain.Flow, at []int, keys []string) (map[int]board.Record, error) {
	if len(at) == 0 {
		return nil, nil
	}
	recs, err := board.Readable(e.board.GetFields(ctx, space, []string{layout.WaitsPlain, layout.FlowStateFirst, layout.FlowStateCount}, keys...))
	if err != nil {
		return nil, err
	}
	states := make(map[int]board.Record, len(at))
	for n, i := range at {
		states[i] = recs[2*n+1]
		left, err1 := strconv.Atoi(recs[2*n].Get(layout.WaitsPlain))
		count, err2 := strconv.Atoi(recs[2*n+1].Get(layout.FlowStateCount))
		if err1 == nil && err2 == nil && count > 0 {
			flows[i].Progress = progressText(float64(count-left) / float64(count))
		}
	}
	return states, nil
}
