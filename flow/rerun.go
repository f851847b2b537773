package flow

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// This file makes a flow of one that has ended: what ended well is taken over, the rest
// is run anew.

// Rerun asks for a flow once more.
type Rerun struct {
	Caller domain.ActorID
	// From is the first step to run anew; "" is all of them.
	From string
	// Trigger names the new flow. Default: that of the old one, with the time.
	Trigger string
	// NoCache has no step take what is kept.
	NoCache bool
	// Ticket names the request; see [Request].
	Ticket string
}

// taken is what a flow takes over from another.
type taken struct {
	steps []StepState
	added map[string]string // params of jobs
	lists *keptLists
}

// maxTaken bounds the results that are taken over, in bytes, and maxTakenLists the lists of
// steps that were done for each element of one: both go into the commit that makes the flow.
const (
	maxTaken      = 256 << 10
	maxTakenLists = 512 << 10
)

// put adds to b what of it lies in records of its own.
func (t *taken) put(b *board.Batch, id domain.FlowID) {
	var fields []board.Field
	for _, name := range slices.Sorted(maps.Keys(t.added)) {
		fields = append(fields, board.Field{Name: name, Value: t.added[name]})
	}
	if len(fields) > 0 {
		b.Set(layout.FlowParams(id), fields...)
	}
	if t.lists == nil {
		return
	}
	_ = t.lists.restore(id, func(key string, fields ...board.Field) error { // which only the function here could end
		b.Set(key, fields...)
		return nil
	})
	b.Set(layout.FlowState(id), board.Field{Name: layout.FlowStateLists, Value: strconv.Itoa(len(t.lists.Items))})
}

// past is a flow that has ended, with what it ran by.
type past struct {
	domain.FlowView
	plan    *domain.Blueprint // nil: it was made of jobs
	steps   []StepState       // of a flow of steps
	lists   func() (*keptLists, error)
	onBoard bool
}

// Rerun makes a new flow of one that has ended, by the blueprint that this ran by and with
// its params, on the board or from the archive.
//
// Errors: [domain.ErrNotFound]; [domain.ErrConflict] where it has not ended, was made of
// jobs, or what is to be taken over is gone; [domain.ErrLimit] where that is too much;
// those of [Engine.Submit].
func (e *Engine) Rerun(ctx context.Context, tenant domain.TenantID, id domain.FlowID, r Rerun) (Receipt, error) {
	p := refOf(tenant, id)
	f, err := e.past(ctx, p)
	switch {
	case err != nil:
		return Receipt{}, err
	case !f.Flow.Final():
		return Receipt{}, domain.Conflictf("flow %d has not ended: wait until it has, or cancel it", id)
	case f.plan == nil:
		return Receipt{}, domain.Conflictf("flow %d was made of jobs, not by a blueprint: submit its jobs anew", id)
	}
	if f.BroughtPlan() { // which no message looks at any more
		if err := checkBrought(f.plan); err != nil {
			return Receipt{}, err
		}
	}
	q := Request{Caller: r.Caller, Plan: f.plan, Trigger: r.Trigger, Ticket: r.Ticket, AnyParams: true, OnError: f.OnError,
		NoCache: r.NoCache, rerunOf: id, sender: senderOf(&f.Flow)}
	if q.Trigger == "" {
		base := f.Trigger
		if base == "" {
			base = fmt.Sprintf("flow-%d", id)
		}
		q.Trigger = base + time.Now().UTC().Format("-rerun-20060102150405")
		if r.Ticket != "" { // another request within the second is another flow
			q.Trigger += "-" + strings.ToLower(r.Ticket[:min(len(r.Ticket), 8)])
		}
	}
	if r.From != "" {
		if q.takes, err = e.take(ctx, tenant, f, r.From); err != nil {
			return Receipt{}, err
		}
	}
	if f.onBoard {
		q.Also = func(b *board.Batch, made domain.FlowID) {
			b.Equal(f.Key(), layout.FlowCaller, strconv.FormatUint(uint64(f.CallerID), 10)) // it is still there
			b.Set(f.Key(), board.Field{Name: layout.FlowRerunBy, Value: strconv.FormatUint(uint64(made), 10)})
		}
	}
	receipts, err := e.Submit(ctx, tenant, []Request{q})
	if err != nil {
		return Receipt{}, err
	}
	return receipts[0], receipts[0].Err
}

// past reads a flow, from the board or from the archive.
func (e *Engine) past(ctx context.Context, p ref) (f past, err error) {
	f.FlowView, err = e.Show(ctx, domain.TenantID(p.space), p.id)
	if errors.Is(err, domain.ErrNotFound) {
		return e.pastArchived(ctx, p)
	} else if err != nil {
		return f, err
	}
	f.onBoard = true
	text, err := e.planText(ctx, p)
	if err != nil {
		return f, err
	}
	s, _, err := e.readState(ctx, p)
	if err != nil {
		return f, err
	}
	f.steps, f.lists = s.Steps, func() (*keptLists, error) {
		k, err := e.keepLists(ctx, p, s.lists, maxKeptLists)
		return &k, err
	}
	if text != "" {
		f.plan, err = decodePlan(text)
	}
	return f, err
}

func (e *Engine) pastArchived(ctx context.Context, p ref) (f past, err error) {
	r, err := e.archived(ctx, p)
	if err != nil {
		return f, err
	}
	var k kept
	if err := json.Unmarshal(r.Body, &k); err != nil {
		return f, domain.Invalidf("the record of flow %d in the archive cannot be read: %v", p.id, err)
	}
	f.FlowView, f.steps, f.lists = k.FlowView, k.State.Steps, func() (*keptLists, error) { return k.Lists, nil }
	if len(k.Plan) > 0 {
		f.plan, err = decodePlan(string(k.Plan))
	}
	return f, err
}

// take is what a flow takes over that begins with a step: all that ended well, but what
// follows from that step, or from what did not end well.
func (e *Engine) take(ctx context.Context, tenant domain.TenantID, f past, from string) (*taken, error) {
	plan := NewPlan(f.plan)
	first, known := plan.index[from]
	if !known {
		text := ""
		if near := domain.Nearest(from, slices.Sorted(maps.Keys(plan.index))); near != "" {
			text = fmt.Sprintf("; did you mean %q?", near)
		}
		return nil, domain.Invalidf("flow %d has no step %q%s", f.ID, domain.PlainText(from, 100), text)
	}
	was := make([]StepState, len(plan.Steps))
	jobs := make([]domain.JobKey, len(plan.Steps))
	for i := range f.Steps {
		k, known := plan.index[f.Steps[i].Name]
		if !known {
			continue
		}
		v := &f.Steps[i]
		was[k] = StepState{Status: v.Status, Text: v.Text, SinceMs: v.SinceMs, EndMs: v.EndMs}
		jobs[k], _ = domain.ParseJobKey(v.Job)
	}
	if len(f.steps) == len(was) {
		copy(was, f.steps)
	}
	anew := plan.after(first, was)
	t := &taken{steps: make([]StepState, len(was))}
	var steps []adder
	for _, i := range plan.order {
		steps = append(steps, adder{&plan.Steps[i], &was[i], jobs[i], anew[i]})
	}
	added, unsure, err := e.addedTo(ctx, tenant, f.Added, steps)
	if err != nil {
		return nil, err
	}
	t.added = added
	bytes, lists := 0, false
	for i := range was {
		if anew[i] {
			t.steps[i] = StepState{Status: domain.StepDormant, NoCache: i == first}
			continue
		}
		if len(plan.Steps[i].Artifacts) > 0 && slices.ContainsFunc(plan.followers[i], func(k int) bool { return anew[k] }) {
			return nil, domain.Conflictf("step %s has left files, which are not taken over; begin with it (--from %s), or with a step before it",
				plan.Steps[i].Name, plan.Steps[i].Name)
		}
		st, err := e.takeStep(ctx, tenant, &f, plan, i, &was[i], jobs[i])
		if err != nil {
			return nil, err
		}
		if unsure && (&adder{step: &plan.Steps[i], st: &st}).many() {
			st.Text = cut(st.Text + "; which params its jobs have added is not known: those that steps which are run anew have added, too, are not taken over")
		}
		lists = lists || st.Split != nil && (st.Split.Each || st.Split.Flows) && st.Split.Total > 0
		if bytes += mapBytes(st.Result); bytes > maxTaken {
			return nil, domain.Limitf("what flow %d has of results before step %s is more than %d bytes; begin with an earlier step", f.ID, from, maxTaken)
		}
		t.steps[i] = st
	}
	if lists {
		return t, e.takeLists(t, &f)
	}
	return t, nil
}

// takeStep is a step that ended well, as another flow takes it over.
func (e *Engine) takeStep(ctx context.Context, tenant domain.TenantID, f *past, plan *Plan, i int, was *StepState, job domain.JobKey) (StepState, error) {
	st := StepState{Status: was.Status, Text: cut(fmt.Sprintf("taken over from flow %d", f.ID)), Done: was.Done, Split: was.Split, List: was.List,
		Result: was.Result, SinceMs: was.SinceMs, EndMs: was.EndMs}
	if was.Text != "" {
		st.Text = cut(was.Text + "; " + st.Text)
	}
	if job.ID == 0 || st.Result != nil || !plan.Steps[i].KindOr().One() {
		return st, nil
	}
	j, err := e.pastJob(ctx, tenant, job)
	if errors.Is(err, domain.ErrNotFound) {
		return st, domain.Conflictf("the result of step %s of flow %d is gone with its job; begin with that step", plan.Steps[i].Name, f.ID)
	} else if err != nil {
		return st, err
	}
	if st.Result = j.Result; st.Result == nil {
		st.Result = map[string]string{}
	}
	return st, nil
}

// pastJob reads a job of the board, or of the archive.
func (e *Engine) pastJob(ctx context.Context, tenant domain.TenantID, key domain.JobKey) (*domain.Job, error) {
	j, err := e.work.Show(ctx, tenant, key)
	if !errors.Is(err, domain.ErrNotFound) || e.cfg.Records == nil {
		return j, err
	}
	r, err := e.cfg.Records.Get(ctx, tenant, key.String(), 0)
	if err != nil {
		return nil, err
	}
	return r.Job()
}

// takeLists takes the lists over that steps were done for, with what their jobs left.
func (e *Engine) takeLists(t *taken, f *past) (err error) {
	if t.lists, err = f.lists(); err != nil {
		return err
	}
	if t.lists == nil {
		return domain.Conflictf("the archive does not keep the lists of flow %d; begin with the step that is done for each of one", f.ID)
	}
	bytes := 0
	own := *t.lists
	own.Children, t.lists = nil, &own // they are those of the flow that made them, and go with it
	for _, records := range [][]map[string]string{t.lists.Items, t.lists.Results} {
		for _, r := range records {
			bytes += mapBytes(r)
		}
	}
	if t.lists.Cut || bytes > maxTakenLists {
		return domain.Limitf("the lists of flow %d and what was left for their elements are more than %d bytes; begin with the step that is done for each of one",
			f.ID, maxTakenLists)
	}
	return nil
}

// after are the steps that are run anew where one is: it, what did not end well, all that
// need one of these, and all of later phases.
func (p *Plan) after(first int, was []StepState) []bool {
	anew := make([]bool, len(p.Steps))
	least := len(p.phases)
	for _, i := range p.order { // each comes after all that it waits for
		anew[i] = anew[i] || i == first || classOf(was[i].Status) != well || p.phase[i] > least
		if !anew[i] {
			continue
		}
		least = min(least, p.phase[i])
		for _, k := range p.followers[i] {
			anew[k] = true
		}
	}
	return anew
}
