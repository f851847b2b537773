package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/internal/hide"
	"github.com/ramet-run/ramet/listing"
)

// Flows is what the operations need of the flow engine.
type Flows interface {
	Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error)
	Show(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (domain.FlowView, error)
	List(ctx context.Context, tenant domain.TenantID, f flow.Filter, cursor string) ([]domain.Flow, listing.At, error)
	Wait(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(domain.FlowView) error) (domain.FlowView, error)
	Await(ctx context.Context, tenant domain.TenantID, id domain.FlowID) error
	Act(ctx context.Context, tenant domain.TenantID, id domain.FlowID, o flow.Order) (done bool, err error)
	Rerun(ctx context.Context, tenant domain.TenantID, id domain.FlowID, r flow.Rerun) (flow.Receipt, error)
	Approval(ctx context.Context, tenant domain.TenantID, id domain.FlowID, step string) (a *domain.Approval, submitter domain.ActorID, err error)
	Pause(ctx context.Context, tenant domain.TenantID, id domain.FlowID, paused bool) error
	Explain(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (domain.FlowExplanation, error)
	AuditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error)
	LookWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error)
}

// flowRequest is what is asked for, in the caller's name.
func flowRequest(in *api.FlowInput, caller domain.ActorID, tenant domain.TenantID) (flow.Request, error) {
	r := flow.Request{Caller: caller, Blueprint: in.Blueprint, Version: in.Version, Plan: in.Plan, Trigger: in.Trigger, Params: in.Params,
		Env: in.EnvVars, Priority: in.Priority, After: in.After, OnError: in.OnError, Skip: in.Skip, NoCache: in.NoCache,
		Steps: in.Steps}
	if in.Text != "" {
		if r.Plan != nil {
			return r, domain.Invalidf("the flow has plan and text; give either")
		}
		var err error
		if r.Plan, err = blueprint.ParsePlan(in.File, []byte(in.Text)); err != nil {
			return r, err
		}
	}
	envs := []map[string]string{r.Env}
	if r.Plan != nil {
		envs = append(envs, blueprint.EnvironmentsOf(r.Plan)...)
	}
	if err := hide.Refuse(envs...); err != nil {
		return r, err
	}
	for i := range in.Jobs {
		j, err := jobOf(&in.Jobs[i], caller, tenant)
		if err != nil {
			return r, err
		}
		r.Jobs = append(r.Jobs, j)
	}
	return r, nil
}

// SubmitFlows submits in the caller's own name. Of a list each flow gets its
// own answer; a single flow that is refused is an error.
func (c Caller) SubmitFlows(ctx context.Context, p api.SubmitFlowParams) (api.FlowSubmitted, error) {
	if err := c.maySubmit(ctx, p.Context, "flow"); err != nil {
		return api.FlowSubmitted{}, err
	}
	single := p.Flows == nil
	if single {
		p.Flows = []api.FlowInput{p.FlowInput}
	}
	out := api.FlowSubmitted{Flows: make([]api.SubmittedFlow, len(p.Flows)), Durability: c.api.parts.Durability()}
	var reqs []flow.Request
	var of []int
	for i := range p.Flows {
		r, err := flowRequest(&p.Flows[i], c.who.Actor, p.Context)
		if err == nil {
			err = c.mayMake(ctx, p.Context, r)
		}
		if err != nil && single {
			return api.FlowSubmitted{}, err
		} else if err != nil {
			problem := c.api.itemProblem(ctx, err)
			out.Flows[i].Error = &problem
			continue
		}
		traced(ctx, r.Jobs)
		r.TraceID = TraceID(ctx)
		r.Ticket = c.once.name(i)
		reqs, of = append(reqs, r), append(of, i)
	}
	began := time.Now()
	receipts, err := c.api.parts.Flows.Submit(ctx, p.Context, reqs)
	if err != nil {
		return api.FlowSubmitted{}, err
	}
	for n, r := range receipts {
		if r.Err != nil && single {
			return api.FlowSubmitted{}, r.Err
		}
		if r.Err == nil && !r.Existing {
			c.asked(ctx, p.Context, began, domain.FlowKey(r.ID))
		}
		out.Flows[of[n]] = c.flowReceipt(ctx, r)
	}
	return out, nil
}

func (c Caller) flowReceipt(ctx context.Context, r flow.Receipt) api.SubmittedFlow {
	if r.Err != nil {
		problem := c.api.itemProblem(ctx, r.Err)
		return api.SubmittedFlow{Error: &problem}
	}
	return api.SubmittedFlow{ID: r.ID, Key: domain.FlowKey(r.ID), Existing: r.Existing, Archived: r.Archived}
}

func (c Caller) mayFlow(ctx context.Context, verb domain.Verb, p api.FlowParams) (domain.Tenant, error) {
	return c.may(ctx, verb, p.Context, domain.FlowKey(p.Flow))
}

// flowView is a flow as the caller may see it.
func (c Caller) flowView(t domain.Tenant, v domain.FlowView) domain.FlowView {
	if len(v.EnvVars) == 0 || c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		return v
	}
	hidden := make(map[string]string, len(v.EnvVars))
	for name := range v.EnvVars {
		hidden[name] = api.Redacted
	}
	v.EnvVars = hidden
	return v
}

// ShowFlow reads one flow with its steps: from the archive, once the board has
// let it go.
func (c Caller) ShowFlow(ctx context.Context, p api.ShowFlowParams) (domain.FlowView, error) {
	v, err := c.wholeFlow(ctx, p.FlowParams)
	if err != nil {
		return domain.FlowView{}, err
	}
	return pageOf(v, p.StepsFrom)
}

// wholeFlow reads one flow with all its steps.
func (c Caller) wholeFlow(ctx context.Context, p api.FlowParams) (domain.FlowView, error) {
	t, err := c.mayFlow(ctx, domain.VerbRead, p)
	if err != nil {
		return domain.FlowView{}, err
	}
	v, err := c.api.parts.Flows.Show(ctx, p.Context, p.Flow)
	if errors.Is(err, domain.ErrNotFound) {
		v, err = c.archivedFlow(ctx, p, err)
	}
	if err != nil {
		return domain.FlowView{}, err
	}
	return c.flowView(t, v), nil
}

// archivedFlow reads a flow that the board no longer has. Where the archive
// does not have it either, missing is what the board said.
func (c Caller) archivedFlow(ctx context.Context, p api.FlowParams, missing error) (domain.FlowView, error) {
	r, err := c.inArchive(ctx, p.Context, domain.FlowKey(p.Flow), missing)
	if err != nil {
		return domain.FlowView{}, err
	}
	return flow.Archived(&r)
}

// ListFlows lists a page, without jobs, environments, params and results: flows that
// have not ended in the order in which they began, those that ended in error the
// newest end first, others the newest first. It looks on where nothing matches, but
// not for ever. One that is named by its blueprint and trigger is found wherever it
// is, in the archive, too.
func (c Caller) ListFlows(ctx context.Context, p api.ListFlowsParams) (api.FlowPage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "flows"); err != nil {
		return api.FlowPage{}, err
	}
	f, err := c.findFlows(ctx, p, wanted[domain.Flow]{cursor: p.Cursor, limit: p.Limit, count: p.Count}, false)
	if err == nil && f.looked == 0 && p.Cursor == "" && !p.Count && p.Blueprint != "" && p.Trigger != "" {
		return c.archivedName(ctx, p, flowFilter(p, false))
	}
	return api.FlowPage{Flows: f.list, Next: f.next, Looked: f.looked, Count: f.count}, err
}

// RunBefore is the last flow that was made of the blueprint of another, before it; 0 is that
// none was found. It looks at about as many flows as look says; further is that there are more.
// A flow.list would look through all that were made after that one first.
//
// Errors: those of flow.list.
func (c Caller) RunBefore(ctx context.Context, tenant domain.TenantID, f *domain.Flow, look int) (id domain.FlowID, further bool, err error) {
	if _, err := c.may(ctx, domain.VerbRead, tenant, "flows"); err != nil || f.Blueprint == "" {
		return 0, false, err
	}
	filter := flow.Filter{Blueprint: f.Blueprint, Way: listing.WayNewest, Look: min(look, listing.Look)}
	cursor := listing.Below(int64(f.ID))
	for looked := 0; looked < look; {
		list, at, err := c.api.parts.Flows.List(ctx, tenant, filter, cursor)
		if err != nil {
			return 0, false, err
		}
		// What has no number that was looked at comes in no order.
		for _, found := range list {
			if found.ID < f.ID {
				id = max(id, found.ID)
			}
		}
		if cursor, looked = at.Next, looked+max(at.Looked, 1); id != 0 || cursor == "" {
			return id, false, nil
		}
	}
	return 0, true, nil
}

func flowFilter(p api.ListFlowsParams, live bool) flow.Filter {
	return flow.Filter{Status: p.Status, Reason: p.Reason, Blueprint: p.Blueprint, Trigger: p.Trigger, Caller: p.Caller, Awaits: p.Awaits, Live: live}
}

// findFlows finds what of flows is wanted that a filter fits; live: only what has not ended.
func (c Caller) findFlows(ctx context.Context, p api.ListFlowsParams, w wanted[domain.Flow], live bool) (none found[domain.Flow], err error) {
	if p.Status != "" && !p.Status.Known() {
		return none, domain.Invalidf("status %q: want dispatched, started, error or finished%s", p.Status, didYouMean(string(p.Status),
			[]string{string(domain.FlowDispatched), string(domain.FlowStarted), string(domain.FlowError), string(domain.FlowFinished)}))
	}
	if p.Reason != "" && !p.Reason.Known() {
		return none, domain.Invalidf("reason %q: want succeeded, failed, errored, cancelled or stuck", p.Reason)
	}
	if p.Awaits != "" && !p.Awaits.Known() {
		return none, domain.Invalidf("awaits %q: want jobs, decision or others%s", p.Awaits, didYouMean(string(p.Awaits),
			[]string{string(domain.AwaitsJobs), string(domain.AwaitsDecision), string(domain.AwaitsOthers)}))
	}
	filter := flowFilter(p, live)
	if filter.Way, err = wayOf(p.Sort, filter.Ways()); err != nil {
		return none, err
	}
	filter.Look = w.look()
	if (p.FlowFilter == api.FlowFilter{} || p.FlowFilter == api.FlowFilter{Status: domain.FlowError}) && w.limit > 0 && !w.count {
		filter.Look = w.limit // all that is looked at is listed
	}
	w.tenant, w.list = p.Context, listName("flows", p.FlowFilter, p.Sort)
	w.where, w.name, w.narrow = p.Where, "flow", p.Narrowing
	w.made, w.grain = func(fl domain.Flow) int64 { return fl.CreatedAt.Time().UnixMilli() }, aSecond
	w.page = func(cursor string) ([]domain.Flow, listing.At, error) {
		return c.api.parts.Flows.List(ctx, p.Context, filter, cursor)
	}
	w.key = func(fl domain.Flow) string { return fl.Key() }
	w.isKey = func(key string) bool { _, err := domain.ParseFlowKey(key); return err == nil }
	return find(ctx, c, w)
}

// archivedName is the list of a flow that is named by its blueprint and trigger, and
// that only the archive has; an empty one where that does not have it, either.
func (c Caller) archivedName(ctx context.Context, p api.ListFlowsParams, filter flow.Filter) (api.FlowPage, error) {
	heads, err := c.api.parts.Archive.Search(ctx, archive.Query{Context: p.Context, Kind: domain.ArchiveFlow, Blueprint: p.Blueprint, Trigger: p.Trigger,
		Limit: 1})
	if errors.Is(err, domain.ErrNotFound) || err == nil && len(heads.Records) == 0 {
		return api.FlowPage{}, nil
	} else if err != nil {
		return api.FlowPage{}, err
	}
	r, err := c.api.parts.Archive.Get(ctx, p.Context, heads.Records[0].Key, heads.Records[0].EndMs)
	if err != nil {
		return api.FlowPage{}, err
	}
	v, err := flow.Archived(&r)
	if err != nil {
		return api.FlowPage{}, err
	}
	v.Jobs, v.EnvVars, v.Params, v.Result = nil, nil, nil, nil
	list := api.FlowPage{Looked: 1, Archived: true}
	if filter.Matches(&v.Flow) {
		list.Flows, err = where(ctx, c, p.Context, p.Where, "flow", []domain.Flow{v.Flow})
	}
	return list, err
}

// WaitFlow waits for a flow's end for a while, and returns it as it stands then.
func (c Caller) WaitFlow(ctx context.Context, p api.WaitFlowParams) (domain.FlowView, error) {
	if _, err := c.mayFlow(ctx, domain.VerbRead, p.FlowParams); err != nil {
		return domain.FlowView{}, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return domain.FlowView{}, domain.Invalidf("timeout_ms %d: want 0 to %d; ask for a stream to wait longer", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := c.api.parts.Flows.Await(waiting, p.Context, p.Flow)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	if err != nil && !errors.Is(err, domain.ErrNotFound) { // it may have ended long ago
		return domain.FlowView{}, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return domain.FlowView{}, err
	}
	return c.ShowFlow(ctx, api.ShowFlowParams{FlowParams: p.FlowParams}) // asks again: the right may be gone
}

// WatchFlow is the stream of flow.wait: the flow whenever something has
// changed, and once it has ended. params are *[api.WaitFlowParams].
func (c Caller) WatchFlow(ctx context.Context, params any, emit func(api.Event) error) error {
	p := params.(*api.WaitFlowParams).FlowParams
	t, err := c.mayFlow(ctx, domain.VerbRead, p)
	if err != nil {
		return err
	}
	var last []byte
	v, err := c.api.parts.Flows.Wait(ctx, p.Context, p.Flow, func(v domain.FlowView) error {
		if v.Final() {
			return nil
		}
		v, _ = pageOf(v, 0)
		// What did not change is not sent again.
		now, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, last) {
			last = now
			return emit(api.Event{Name: api.EventFlow, Data: c.flowView(t, v)})
		}
		return nil
	})
	if errors.Is(err, domain.ErrNotFound) {
		v, err = c.archivedFlow(ctx, p, err)
	}
	if err != nil {
		return err
	}
	v, _ = pageOf(v, 0)
	return emit(api.Event{Name: api.EventEnd, Data: c.flowView(t, v)})
}

// GraphFlow draws a flow's steps with their states.
func (c Caller) GraphFlow(ctx context.Context, p api.GraphFlowParams) (api.Drawing, error) {
	v, err := c.wholeFlow(ctx, p.FlowParams)
	if err != nil {
		return api.Drawing{}, err
	}
	if n := len(v.Steps); n > wholeSteps {
		return api.Drawing{}, domain.Limitf("flow %d has %d steps: graphs are drawn of up to %d", v.ID, n, wholeSteps)
	}
	return DrawGraph(blueprint.FlowGraph(&v), p.Format)
}

// ExplainFlow says what a flow waits for.
func (c Caller) ExplainFlow(ctx context.Context, p api.FlowParams) (domain.FlowExplanation, error) {
	if _, err := c.mayFlow(ctx, domain.VerbRead, p); err != nil {
		return domain.FlowExplanation{}, err
	}
	x, err := c.api.parts.Flows.Explain(ctx, p.Context, p.Flow)
	if x.Standing == domain.StandingPaused {
		if ban, err := c.api.parts.Bans.Get(ctx, flowScope(p)); err == nil { // else it is not told since when
			x.SinceMs = ban.AtMs
		}
	}
	if !errors.Is(err, domain.ErrNotFound) {
		return x, err
	}
	v, err := c.archivedFlow(ctx, p, err)
	if err != nil {
		return domain.FlowExplanation{}, err
	}
	return domain.FlowExplanation{Key: v.Key(), Status: v.Status, Standing: domain.StandingEnded, SinceMs: v.FinishedMs,
		Text: fmt.Sprintf("it has ended: %s; only the archive still has it", v.Reason)}, nil
}
