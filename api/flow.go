package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/work"
)

// Flows is what the operations need of the flow engine.
type Flows interface {
	Submit(ctx context.Context, tenant domain.TenantID, reqs []flow.Request) ([]flow.Receipt, error)
	Show(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (flow.View, error)
	List(ctx context.Context, tenant domain.TenantID, f flow.Filter, cursor string) ([]domain.Flow, string, error)
	Wait(ctx context.Context, tenant domain.TenantID, id domain.FlowID, each func(flow.View) error) (flow.View, error)
	Await(ctx context.Context, tenant domain.TenantID, id domain.FlowID) error
	Act(ctx context.Context, tenant domain.TenantID, id domain.FlowID, o flow.Order) (done bool, err error)
	Pause(ctx context.Context, tenant domain.TenantID, id domain.FlowID, paused bool) error
	Explain(ctx context.Context, tenant domain.TenantID, id domain.FlowID) (flow.Explanation, error)
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (work.Audit, error)
}

// FlowInput asks for one flow: of a stored blueprint by its name, of a
// blueprint that comes with it (as fields, or as a text), or of jobs.
//
//	POST /v1/contexts/{context}/flows   FlowInput, or {"flows": [FlowInput…]} -> FlowSubmitted
type FlowInput struct {
	// Blueprint is the name of a stored one, Version which; 0 is the newest.
	Blueprint string `json:"blueprint,omitzero"`
	Version   int    `json:"version,omitzero"`
	// Plan is a blueprint that is not stored; Text is one as YAML or JSON, File
	// its name, for errors.
	Plan *domain.Blueprint `json:"plan,omitzero"`
	Text string            `json:"text,omitzero"`
	File string            `json:"file,omitzero"`
	// Jobs make a plain flow. Their ids name them within it, for dependends;
	// the jobs get ids of their own.
	Jobs []JobInput `json:"jobs,omitzero"`

	// Trigger is the second half of the business name: one flow of a blueprint
	// and a trigger is made, ever.
	Trigger  string            `json:"trigger,omitzero"`
	Params   map[string]string `json:"params,omitzero"`
	EnvVars  map[string]string `json:"env_vars,omitzero"`
	Priority int               `json:"priority,omitzero"`
	// After is an instant, in Unix ms or RFC 3339, before which nothing begins.
	After   domain.Instant `json:"after,omitzero"`
	OnError domain.OnError `json:"on_error,omitzero"` // abort or continue
	// Skip names steps to skip, which must allow it.
	Skip []string `json:"skip,omitzero"`
	// Steps change steps of the blueprint, by name.
	Steps map[string]flow.StepChange `json:"steps,omitzero"`
}

// request is what is asked for, in the caller's name.
func (in *FlowInput) request(caller domain.ActorID, tenant domain.TenantID) (flow.Request, error) {
	r := flow.Request{Caller: caller, Blueprint: in.Blueprint, Version: in.Version, Plan: in.Plan, Trigger: in.Trigger, Params: in.Params,
		Env: in.EnvVars, Priority: in.Priority, After: in.After, OnError: in.OnError, Skip: in.Skip, Steps: in.Steps}
	if in.Text != "" {
		if r.Plan != nil {
			return r, domain.Invalidf("the flow has plan and text; give either")
		}
		var err error
		if r.Plan, err = blueprint.Parse(in.File, []byte(in.Text)); err != nil {
			return r, err
		}
	}
	for i := range in.Jobs {
		j, err := in.Jobs[i].job(caller, tenant)
		if err != nil {
			return r, err
		}
		r.Jobs = append(r.Jobs, j)
	}
	return r, nil
}

// FlowSubmitted answers for each flow in order.
type FlowSubmitted struct {
	Flows []SubmittedFlow `json:"flows"`
	// Durability is what the acknowledged flows survive: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// SubmittedFlow is the answer for one flow: its number, or why it was refused.
type SubmittedFlow struct {
	ID  domain.FlowID `json:"id,omitzero"`
	Key string        `json:"key,omitzero"` // flow:<id>
	// Existing is true when a flow of that name was there already; Archived when
	// only the archive still has it.
	Existing bool     `json:"existing,omitzero"`
	Archived bool     `json:"archived,omitzero"`
	Error    *Problem `json:"error,omitzero"`
}

// Other operations on flows:
//
//	GET    /v1/contexts/{context}/flows?status=&reason=&blueprint=&trigger=&caller=&where=&cursor=   FlowList
//	GET    /v1/{flow}            FlowView, where {flow} is contexts/{context}/flows/{flow}
//	GET    /v1/{flow}/wait       FlowView, once it has ended or after timeout_ms; as a stream: events "flow", then "end"
//	GET    /v1/{flow}/graph?format=     BlueprintGraph, with states
//	GET    /v1/{flow}/explain    flow.Explanation
//	POST   /v1/{flow}/cancel     FlowDone
//	POST   /v1/{flow}/retry      {"failed": true} -> FlowDone
//	POST   /v1/{flow}/skip       {"step": ""} -> FlowDone
//	POST   /v1/{flow}/approve    {"step": "", "comment": ""} -> FlowDone
//	POST   /v1/{flow}/reject     {"step": "", "comment": ""} -> FlowDone
//	POST   /v1/{flow}/update     {"steps": {name: StepChange}} -> FlowDone
//	POST   /v1/{flow}/pause, /resume    FlowDone
//	DELETE /v1/{flow}            FlowDone

// FlowView is a flow with its steps, StepChange what may be changed of a step,
// FlowExplanation what a flow waits for.
type (
	FlowView        = flow.View
	StepView        = flow.StepView
	UnitView        = flow.UnitView
	StepChange      = flow.StepChange
	FlowExplanation = flow.Explanation
)

// FlowList is a page of flows.
type FlowList struct {
	Flows domain.List[domain.Flow] `json:"flows"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// FlowDone answers what a person asked of a flow. It is durably noted in any
// case; Done is false while it has not been carried out yet.
type FlowDone struct {
	Key  string `json:"key"`
	Done bool   `json:"done"`
}

// SubmitFlowParams are those of flow.submit: the fields of one flow, or a list.
type SubmitFlowParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Flows   []FlowInput     `json:"flows"`
	FlowInput
}

// SubmitFlows submits in the caller's own name. Of a list each flow gets its
// own answer; a single flow that is refused is an error.
func (c Caller) SubmitFlows(ctx context.Context, p SubmitFlowParams) (FlowSubmitted, error) {
	if _, err := c.may(ctx, identity.Create, p.Context, "flow"); err != nil {
		return FlowSubmitted{}, err
	}
	single := p.Flows == nil
	if single {
		p.Flows = []FlowInput{p.FlowInput}
	}
	out := FlowSubmitted{Flows: make([]SubmittedFlow, len(p.Flows)), Durability: c.api.parts.Info().Durability}
	var reqs []flow.Request
	var of []int
	for i := range p.Flows {
		r, err := p.Flows[i].request(c.who.Actor, p.Context)
		if err == nil {
			err = c.mayMake(ctx, p.Context, r)
		}
		if err != nil && single {
			return FlowSubmitted{}, err
		} else if err != nil {
			problem := c.api.ProblemOf(ctx, err)
			out.Flows[i].Error = &problem
			continue
		}
		r.Ticket = c.once.name(i)
		reqs, of = append(reqs, r), append(of, i)
	}
	receipts, err := c.api.parts.Flows.Submit(ctx, p.Context, reqs)
	if err != nil {
		return FlowSubmitted{}, err
	}
	for n, r := range receipts {
		if r.Err != nil && single {
			return FlowSubmitted{}, r.Err
		}
		out.Flows[of[n]] = c.flowReceipt(ctx, r)
	}
	return out, nil
}

func (c Caller) flowReceipt(ctx context.Context, r flow.Receipt) SubmittedFlow {
	if r.Err != nil {
		problem := c.api.ProblemOf(ctx, r.Err)
		return SubmittedFlow{Error: &problem}
	}
	return SubmittedFlow{ID: r.ID, Key: domain.FlowKey(r.ID), Existing: r.Existing, Archived: r.Archived}
}

// FlowParams name a flow.
type FlowParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Flow    domain.FlowID   `json:"-" path:"flow"`
}

func (c Caller) mayFlow(ctx context.Context, verb identity.Verb, p FlowParams) (domain.Tenant, error) {
	return c.may(ctx, verb, p.Context, domain.FlowKey(p.Flow))
}

// flowView is a flow as the caller may see it.
func (c Caller) flowView(t domain.Tenant, v FlowView) FlowView {
	if len(v.EnvVars) == 0 || c.who.Permits(t, identity.ReadEnv, false, c.group) {
		return v
	}
	hidden := make(map[string]string, len(v.EnvVars))
	for name := range v.EnvVars {
		hidden[name] = Redacted
	}
	v.EnvVars = hidden
	return v
}

// ShowFlow reads one flow with its steps: from the archive, once the board has
// let it go.
func (c Caller) ShowFlow(ctx context.Context, p FlowParams) (FlowView, error) {
	t, err := c.mayFlow(ctx, identity.Read, p)
	if err != nil {
		return FlowView{}, err
	}
	v, err := c.api.parts.Flows.Show(ctx, p.Context, p.Flow)
	if errors.Is(err, domain.ErrNotFound) {
		v, err = c.archivedFlow(ctx, p, err)
	}
	if err != nil {
		return FlowView{}, err
	}
	return c.flowView(t, v), nil
}

// archivedFlow reads a flow that the board no longer has. Where the archive
// does not have it either, missing is what the board said.
func (c Caller) archivedFlow(ctx context.Context, p FlowParams, missing error) (FlowView, error) {
	r, err := c.api.parts.Archive.Get(ctx, p.Context, domain.FlowKey(p.Flow), 0)
	if errors.Is(err, domain.ErrNotFound) {
		return FlowView{}, missing
	} else if err != nil {
		return FlowView{}, err
	}
	return flow.Archived(&r)
}

// ListFlowsParams are those of flow.list. Empty filters do not filter.
type ListFlowsParams struct {
	Context   domain.TenantID   `json:"-" path:"context"`
	Status    domain.FlowStatus `json:"-" query:"status"`
	Reason    domain.FlowReason `json:"-" query:"reason"`
	Blueprint string            `json:"-" query:"blueprint"`
	Trigger   string            `json:"-" query:"trigger"`
	Caller    domain.ActorID    `json:"-" query:"caller"`
	// Where is a Rhai expression over `flow`, such as flow.retried > 0.
	Where string `json:"-" query:"where"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
}

// ListFlows lists a page, without jobs, environments, params and results. It
// looks on where nothing matches, but not for ever.
func (c Caller) ListFlows(ctx context.Context, p ListFlowsParams) (FlowList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "flows"); err != nil {
		return FlowList{}, err
	}
	if p.Status != "" && !p.Status.Known() {
		return FlowList{}, domain.Invalidf("status %q: want dispatched, started, error or finished", p.Status)
	}
	if p.Reason != "" && !p.Reason.Known() {
		return FlowList{}, domain.Invalidf("reason %q: want succeeded, failed, errored, cancelled or stuck", p.Reason)
	}
	filter := flow.Filter{Status: p.Status, Reason: p.Reason, Blueprint: p.Blueprint, Trigger: p.Trigger, Caller: p.Caller}
	list := FlowList{Next: p.Cursor}
	for range listRounds {
		flows, next, err := c.api.parts.Flows.List(ctx, p.Context, filter, list.Next)
		if err != nil {
			return FlowList{}, err
		}
		if list.Flows, err = where(ctx, c, p.Context, p.Where, "flow", flows); err != nil {
			return FlowList{}, err
		}
		list.Next = next
		if next == "" || len(list.Flows) > 0 {
			break
		}
	}
	return list, nil
}

// WaitFlowParams are those of flow.wait.
type WaitFlowParams struct {
	FlowParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that. A stream waits as
	// long as it takes.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// WaitFlow waits for a flow's end for a while, and returns it as it stands then.
func (c Caller) WaitFlow(ctx context.Context, p WaitFlowParams) (FlowView, error) {
	if _, err := c.mayFlow(ctx, identity.Read, p.FlowParams); err != nil {
		return FlowView{}, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return FlowView{}, domain.Invalidf("timeout_ms %d: want 0 to %d; ask for a stream to wait longer", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := c.api.parts.Flows.Await(waiting, p.Context, p.Flow)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	if err != nil && !errors.Is(err, domain.ErrNotFound) { // it may have ended long ago
		return FlowView{}, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return FlowView{}, err
	}
	return c.ShowFlow(ctx, p.FlowParams) // asks again: the right may be gone
}

// WatchFlow is the stream of flow.wait: the flow whenever something has
// changed, and once it has ended. params are *[WaitFlowParams].
func (c Caller) WatchFlow(ctx context.Context, params any, emit func(Event) error) error {
	p := params.(*WaitFlowParams).FlowParams
	t, err := c.mayFlow(ctx, identity.Read, p)
	if err != nil {
		return err
	}
	var last []byte
	v, err := c.api.parts.Flows.Wait(ctx, p.Context, p.Flow, func(v FlowView) error {
		if v.Final() {
			return nil
		}
		// What did not change is not sent again.
		now, err := json.Marshal(v)
		if err != nil {
			return err
		}
		if !bytes.Equal(now, last) {
			last = now
			return emit(Event{Name: EventFlow, Data: c.flowView(t, v)})
		}
		return nil
	})
	if errors.Is(err, domain.ErrNotFound) {
		v, err = c.archivedFlow(ctx, p, err)
	}
	if err != nil {
		return err
	}
	return emit(Event{Name: EventEnd, Data: c.flowView(t, v)})
}

// GraphFlowParams are those of flow.graph.
type GraphFlowParams struct {
	FlowParams
	// Format is mermaid, dot or svg. "": the nodes and edges themselves.
	Format string `json:"-" query:"format"`
}

// GraphFlow draws a flow's steps with their states.
func (c Caller) GraphFlow(ctx context.Context, p GraphFlowParams) (BlueprintGraph, error) {
	v, err := c.ShowFlow(ctx, p.FlowParams)
	if err != nil {
		return BlueprintGraph{}, err
	}
	return DrawGraph(FlowGraph(&v), p.Format)
}

// FlowGraph is the graph of a flow with the states of its steps.
func FlowGraph(v *FlowView) *blueprint.Graph {
	g := &blueprint.Graph{Title: cmp.Or(v.Blueprint, "flow") + " " + cmp.Or(v.Trigger, strconv.FormatUint(uint64(v.ID), 10)), Edges: []blueprint.Edge{}}
	index := make(map[string]int, len(v.Steps))
	for i := range v.Steps {
		s := &v.Steps[i]
		index[s.Name] = i
		g.Nodes = append(g.Nodes, blueprint.Node{Name: s.Name, Kind: s.Kind, Phase: s.Phase, State: string(s.Status), Note: stepNote(s)})
	}
	for i := range v.Steps {
		for _, need := range v.Steps[i].Needs {
			if from, known := index[need]; known {
				g.Edges = append(g.Edges, blueprint.Edge{From: from, To: i})
			}
		}
	}
	return g
}

// stepNote is how far a step of many jobs is.
func stepNote(s *flow.StepView) string {
	switch {
	case s.Kind.One() || s.Kind == domain.StepApproval || s.SinceMs == 0:
		return ""
	case s.Endless:
		return fmt.Sprintf("%s, %d done", s.Status, s.Done)
	}
	return fmt.Sprintf("%s, %d of %d", s.Status, s.Done, s.Total)
}

// ExplainFlow says what a flow waits for.
func (c Caller) ExplainFlow(ctx context.Context, p FlowParams) (flow.Explanation, error) {
	if _, err := c.mayFlow(ctx, identity.Read, p); err != nil {
		return flow.Explanation{}, err
	}
	x, err := c.api.parts.Flows.Explain(ctx, p.Context, p.Flow)
	if !errors.Is(err, domain.ErrNotFound) {
		return x, err
	}
	v, err := c.archivedFlow(ctx, p, err)
	if err != nil {
		return flow.Explanation{}, err
	}
	return flow.Explanation{Key: v.Key(), Status: v.Status, Standing: flow.StandingEnded, SinceMs: v.FinishedMs,
		Text: fmt.Sprintf("it has ended: %s; only the archive still has it", v.Reason)}, nil
}
