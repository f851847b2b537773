package flow

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/template"
)

// draft is a flow that is asked for, checked and ready to be written.
type draft struct {
	flow  domain.Flow
	plan  *Plan          // nil where there are only jobs
	text  string         // the plan's, as it is kept
	parts []string       // of the text, where it is too long for one field
	jobs  []*domain.Job  // of a plain flow, each after those it depends on
	names []domain.JobID // what the caller called them, in the order of jobs
	state State
	also  Request
	late  *domain.Hook // that is called when it takes too long
	skip  int          // how many ids its jobs passed over the last time, for they were taken
	// waiting are the entries of those that wait for each job.
	waiting map[domain.JobID][]string
}

// draft checks a request.
//
// Errors: [domain.ErrInvalid], [domain.ErrNotFound], [domain.ErrConflict].
func (e *Engine) draft(ctx context.Context, tenant domain.TenantID, r Request) (*draft, error) {
	d, err := e.drafted(ctx, tenant, r)
	if err == nil {
		d.late, err = e.hook(ctx, tenant, d.plan, domain.HookLate)
	}
	return d, err
}

func (e *Engine) drafted(ctx context.Context, tenant domain.TenantID, r Request) (*draft, error) {
	d := &draft{also: r, flow: domain.Flow{CallerID: r.Caller, ContextID: tenant, Trigger: r.Trigger, Schedule: r.Schedule, Backfill: r.Backfill,
		Message: r.Message, Parent: r.Parent, CalledBy: r.CalledBy, OnError: r.OnError, TraceID: r.TraceID, RerunOf: r.rerunOf, Sender: r.sender}}
	if r.TraceID == "" && r.Schedule != "" {
		d.flow.TraceID = e.cfg.Tracer.Begin()
	}
	given := 0
	for _, is := range []bool{r.Blueprint != "", r.Plan != nil, len(r.Jobs) > 0} {
		if is {
			given++
		}
	}
	if given != 1 {
		return nil, domain.Invalidf("a flow is made of one of: the name of a blueprint, a blueprint, or jobs; got %d of them", given)
	}
	if r.Trigger != "" {
		if err := domain.ValidateTrigger(r.Trigger); err != nil {
			return nil, err
		}
	}
	if r.OnError != "" && r.OnError != domain.OnErrorAbort && r.OnError != domain.OnErrorContinue {
		return nil, domain.Invalidf("on_error %q: want abort or continue", r.OnError)
	}
	if err := checkMessage(&r); err != nil {
		return nil, err
	}
	if err := errors.Join(domain.ValidateParams(r.Params), domain.ValidateEnv(r.Env)); err != nil {
		return nil, err
	}
	if len(r.Jobs) > 0 {
		if err := e.draftJobs(ctx, d, r); err != nil {
			return nil, err
		}
		return d, errors.Join(e.banned(d), e.placed(ctx, d), e.announce(ctx, d))
	}
	if err := e.draftPlan(ctx, tenant, d, r); err != nil {
		return nil, err
	}
	return d, errors.Join(e.banned(d), e.placed(ctx, d), e.announce(ctx, d))
}

// placed asks whether the caller's jobs can be sent where they are to run.
func (e *Engine) placed(ctx context.Context, d *draft) error {
	places := map[string]bool{}
	if d.plan != nil {
		for i := range d.plan.Steps {
			places[d.plan.Steps[i].At] = true
		}
	}
	for _, j := range d.jobs {
		places[j.At] = true
	}
	for at := range places {
		if err := e.work.CheckPlace(ctx, d.flow.ContextID, d.flow.CallerID, at); err != nil {
			return err
		}
	}
	return nil
}

// banned asks whether a flow, or jobs of its script types, may be submitted.
func (e *Engine) banned(d *draft) error {
	if e.cfg.Bans == nil {
		return nil
	}
	types := map[domain.ScriptType]bool{}
	if d.plan != nil {
		for i := range d.plan.Steps {
			types[d.plan.Steps[i].ScriptType] = true
		}
	}
	for _, j := range d.jobs {
		types[j.ScriptType] = true
	}
	for typ := range types {
		if err := e.cfg.Bans.Submit(d.flow.ContextID, d.flow.Blueprint, typ); err != nil {
			return err
		}
	}
	return nil
}

// draftJobs checks a plain flow.
func (e *Engine) draftJobs(ctx context.Context, d *draft, r Request) error {
	if len(r.Skip) > 0 || len(r.Steps) > 0 {
		return domain.Invalidf("a flow of jobs has no steps to skip or to change")
	}
	if len(r.Jobs) > domain.MaxFlowSteps {
		return domain.Invalidf("%d jobs in one flow, the limit is %d; use a step with shards or packs for more", len(r.Jobs), domain.MaxFlowSteps)
	}
	d.flow.OnError = cmp.Or(r.OnError, domain.OnErrorAbort)
	d.flow.EnvVars, d.flow.Params, d.flow.Priority, d.flow.AfterMs = r.Env, r.Params, r.Priority, int64(r.After)
	byName := make(map[domain.JobID]bool, len(r.Jobs))
	for _, j := range r.Jobs {
		j.CallerID = r.Caller
		if j.ID == 0 && len(r.Jobs) > 1 {
			return domain.Invalidf("jobs of a flow need ids, by which they name each other in dependends; give each one, from 1 on")
		}
		j.ID = max(j.ID, 1)
		if byName[j.ID] {
			return domain.Invalidf("two jobs of the flow have the id %d", j.ID)
		}
		byName[j.ID] = true
	}
	for _, j := range r.Jobs {
		if err := e.work.CheckFlowJob(ctx, d.flow.ContextID, j); err != nil {
			return err
		}
		for _, on := range j.Dependends {
			if !byName[on] {
				return domain.Invalidf("job %d depends on job %d, which is not in the flow", j.ID, on)
			}
		}
	}
	ordered, err := domain.OrderJobs(r.Jobs)
	if err != nil {
		return err
	}
	d.take(ordered)
	return nil
}

// take keeps copies of jobs, those that depend on none first.
func (d *draft) take(jobs []*domain.Job) {
	d.jobs, d.names = make([]*domain.Job, 0, len(jobs)), make([]domain.JobID, 0, len(jobs))
	for _, roots := range []bool{true, false} {
		for _, j := range jobs {
			if (len(j.Dependends) == 0) == roots {
				own := *j
				d.jobs, d.names = append(d.jobs, &own), append(d.names, j.ID)
			}
		}
	}
}

// draftPlan checks a flow of a blueprint.
func (e *Engine) draftPlan(ctx context.Context, tenant domain.TenantID, d *draft, r Request) error {
	p, err := e.prepare(ctx, tenant, r)
	if err != nil {
		return err
	}
	b := p.plan.Blueprint
	d.plan, d.text, d.parts = p.plan, p.text, p.parts
	d.flow.Blueprint, d.flow.Version, d.flow.Hash = b.Name, b.Version, p.hash
	if d.flow.Trigger, err = ownTrigger(&d.flow); err != nil {
		return err
	}
	d.flow.EnvVars, d.flow.Params, d.flow.Priority, d.flow.OnError = b.Env, b.Params, b.Priority, b.OnError
	d.flow.AfterMs, d.flow.Duration, d.flow.Retention = int64(b.After), uint32(b.Duration), uint32(b.Retention)
	d.state.NoCache = r.NoCache
	if r.takes != nil {
		d.flow.Stepped, d.state.Steps = true, r.takes.steps
		return nil
	}
	if d.plan.plain() {
		d.planJobs()
		return nil
	}
	d.flow.Stepped = true
	d.state.Steps = make([]StepState, len(b.Steps))
	for i := range b.Steps {
		d.state.Steps[i] = StepState{Status: domain.StepDormant, Skip: slices.Contains(r.Skip, b.Steps[i].Name)}
	}
	return nil
}

// prepared is a blueprint that flows can be made of, with what a request
// changes of it. It does not change.
type prepared struct {
	plan *Plan
	text string // as each flow keeps it
	// parts is the text as it is kept where it is too long for one field.
	parts []string
	hash  string // of the text
}

// prepare finds the blueprint of a request, changes and checks it. One that is
// stored, and of which nothing is changed, is prepared once.
func (e *Engine) prepare(ctx context.Context, tenant domain.TenantID, r Request) (*prepared, error) {
	if r.Plan != nil {
		plan := *r.Plan
		if r.Message != "" || r.sender != 0 {
			plan.Version = 0 // that of a blueprint here is no sender's to take
		}
		return e.prepareAs(ctx, tenant, plan, r)
	}
	if e.cfg.Blueprints == nil {
		return nil, domain.NotFoundf("there is no blueprint %q", r.Blueprint)
	}
	b, hash, err := e.cfg.Blueprints.Get(ctx, tenant, r.Blueprint, r.Version)
	if err != nil {
		return nil, err
	}
	if r.changes() || len(blueprint.FlowCalls(&b)) > 0 { // which may be newer by now
		return e.prepareAs(ctx, tenant, b, r)
	}
	key := fmt.Sprintf("%d/%s/%d/%s", tenant, b.Name, b.Version, hash)
	e.mu.Lock()
	p := e.prepared[key]
	e.mu.Unlock()
	if p != nil {
		return p, nil
	}
	if p, err = e.prepareAs(ctx, tenant, b, r); err != nil {
		return nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.prepared) >= maxPlans {
		clear(e.prepared)
	}
	e.prepared[key] = p
	return p, nil
}

// changes reports whether the request changes anything of its blueprint.
func (r *Request) changes() bool {
	return len(r.Params)+len(r.Env)+len(r.Steps)+len(r.Skip) > 0 || r.Priority != 0 || r.After != 0 || r.OnError != ""
}

// prepareAs changes a blueprint as a request says, and checks it.
func (e *Engine) prepareAs(ctx context.Context, tenant domain.TenantID, b domain.Blueprint, r Request) (*prepared, error) {
	b.Steps = slices.Clone(b.Steps)
	if err := change(&b, r); err != nil {
		return nil, err
	}
	if err := blueprint.FillInputs(&b); err != nil {
		return nil, err
	}
	if err := blueprint.ValidateFields(&b); err != nil {
		return nil, err
	}
	if err := errors.Join(e.pinFlows(ctx, tenant, &b), e.checkSteps(ctx, tenant, &b)); err != nil {
		return nil, err
	}
	text, err := json.Marshal(&b)
	if err != nil {
		return nil, err
	}
	if len(text) > domain.MaxPlanBytes {
		return nil, domain.Invalidf("blueprint %q has %d bytes with what the request adds, the limit is %d", b.Name, len(text), domain.MaxPlanBytes)
	}
	sum := sha256.Sum256(text)
	return &prepared{NewPlan(&b), string(text), planParts(text), hex.EncodeToString(sum[:16])}, nil
}

// CheckHooks looks at what hooks cannot know: who runs what.
//
// Errors: [domain.ErrInvalid].
func (e *Engine) CheckHooks(ctx context.Context, tenant domain.TenantID, hooks *domain.Hooks) error {
	for _, on := range domain.HookOns {
		h := hooks.Of(on)
		if h == nil {
			continue
		}
		if h.Effect != nil && h.Effect.Payload != "" {
			if _, err := blueprint.CompileHook(h.Effect.Payload); err != nil {
				return domain.Invalidf("on.%s: effect.payload: %v", on, err)
			}
		}
		step := h.Step(on)
		j := stepJob(&domain.Blueprint{}, &step, 1)
		j.ID = 1
		if err := e.work.CheckFlowJob(ctx, tenant, j); err != nil {
			return fmt.Errorf("on.%s: %w", on, err)
		}
	}
	return nil
}

// checkSteps looks at what a blueprint cannot know: who runs what.
func (e *Engine) checkSteps(ctx context.Context, tenant domain.TenantID, b *domain.Blueprint) error {
	if err := e.CheckHooks(ctx, tenant, b.On); err != nil {
		return err
	}
	if b.Concurrency != nil {
		if _, err := blueprint.ConcurrencyKey(b.Concurrency, b.Params); err != nil {
			return err
		}
	}
	if b.Rate != nil {
		if _, err := blueprint.RateKey(b.Rate, b.Params); err != nil {
			return err
		}
	}
	for i := range b.Steps {
		s := &b.Steps[i]
		call := s.Call()
		if call != nil && call.Payload != "" {
			if _, err := blueprint.CompilePayload(call.Payload); err != nil {
				return domain.Invalidf("step %s: payload of %s: %v", s.Name, call.Target, err)
			}
		}
		if s.Each != "" {
			if _, err := blueprint.CompileEach(s.Each); err != nil {
				return domain.Invalidf("step %s: each: %v", s.Name, err)
			}
		}
		for _, axis := range s.Matrix.Axes() {
			if text, _ := s.Matrix.Axis(axis); text != "" {
				if _, err := blueprint.CompileEach(text); err != nil {
					return domain.Invalidf("step %s: matrix.%s: %v", s.Name, axis, err)
				}
			}
		}
		if s.Key != "" {
			if _, err := blueprint.CompileKey(s.Key); err != nil {
				return domain.Invalidf("step %s: key: %v", s.Name, err)
			}
		}
		if s.When != "" {
			if _, err := blueprint.CompileWhen(s.When); err != nil {
				return domain.Invalidf("step %s: when: %v", s.Name, err)
			}
		}
		if s.KindOr() == domain.StepFlow || s.KindOr() == domain.StepApproval && call == nil {
			continue // it has no job; the steps of a flow are looked at when that is made
		}
		j := stepJob(b, s, 1)
		j.ID = 1
		if err := e.work.CheckFlowJob(ctx, tenant, j); err != nil {
			return fmt.Errorf("step %s: %w", s.Name, err)
		}
	}
	return nil
}

// change applies what a request changes of a blueprint.
func change(b *domain.Blueprint, r Request) error {
	if !r.AnyParams {
		if err := blueprint.TakesParams(b, r.Params); err != nil {
			return err
		}
	}
	b.Params, b.Env = over(b.Params, r.Params), over(b.Env, literal(r.Env))
	b.Priority, b.OnError = cmp.Or(r.Priority, b.Priority), cmp.Or(r.OnError, b.OnError, domain.OnErrorAbort)
	b.After = max(b.After, r.After)
	index := make(map[string]int, len(b.Steps))
	for i := range b.Steps {
		index[b.Steps[i].Name] = i
	}
	for _, name := range r.Skip {
		i, known := index[name]
		if !known {
			return domain.Invalidf("skip: blueprint %q has no step %q%s", b.Name, name, nearStep(name, index))
		}
		if !b.Steps[i].MaySkip {
			return domain.Invalidf("skip: step %s does not allow it: the blueprint does not set may_skip", name)
		}
	}
	for name, c := range r.Steps {
		i, known := index[name]
		if !known {
			return domain.Invalidf("steps: blueprint %q has no step %q%s", b.Name, name, nearStep(name, index))
		}
		if err := changeStep(c, &b.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// literal are variables of a request, whose values are texts and no templates.
func literal(env map[string]string) map[string]string {
	if !template.In(env) {
		return env
	}
	escaped := make(map[string]string, len(env))
	for name, text := range env {
		escaped[name] = template.Escape(text)
	}
	return escaped
}

// nearStep suggests the step that may have been meant.
func nearStep(name string, index map[string]int) string {
	if near := domain.Nearest(name, slices.Sorted(maps.Keys(index))); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	return ""
}

// changeStep applies the change to a step, which must not share its parts.
func changeStep(c domain.StepChange, s *domain.Step) error {
	s.Params = over(s.Params, c.Params)
	s.After = max(s.After, c.After)
	s.Timeout = cmp.Or(c.Timeout, s.Timeout)
	if c.Retries != nil {
		s.Retries, s.Retry = *c.Retries, s.Retry.Rules()
	}
	if c.MayFail != nil {
		if s.KindOr() == domain.StepApproval && *c.MayFail && !s.MayFail {
			return domain.Invalidf("may_fail: step %s is an approval: whoever submits a flow may not have a rejection pass", s.Name)
		}
		s.MayFail = *c.MayFail
	}
	if s.Shard != nil {
		sh := *s.Shard
		sh.Count, sh.Window = cmp.Or(c.Count, sh.Count), cmp.Or(c.Window, sh.Window)
		if c.Start != nil {
			sh.Start = int(*c.Start)
		}
		s.Shard = &sh
	}
	if s.Pack != nil {
		pk := *s.Pack
		pk.Size, pk.Window = cmp.Or(c.Size, pk.Size), cmp.Or(c.Window, pk.Window)
		if c.Start != nil {
			pk.Start = *c.Start
		}
		if c.End != nil {
			pk.End, pk.Endless = c.End, false
		}
		if c.Endless != nil {
			if pk.Endless = *c.Endless; pk.Endless {
				pk.End = nil
			}
		}
		s.Pack = &pk
	}
	if s.Listed() {
		s.Window = cmp.Or(c.Window, s.Window)
		if c.Count != 0 || c.Size != 0 || c.Start != nil || c.End != nil || c.Endless != nil {
			return domain.Invalidf("steps: step %s is done for each element of a list; only its window can be changed", s.Name)
		}
		return nil
	}
	split := c.Count != 0 || c.Size != 0 || c.Start != nil || c.End != nil || c.Endless != nil || c.Window != 0
	if split && s.Shard == nil && s.Pack == nil {
		return domain.Invalidf("steps: step %s is of kind %s, which is not split", s.Name, s.KindOr())
	}
	return nil
}

// over is a map with another one over it.
func over(base, top map[string]string) map[string]string {
	if len(top) == 0 {
		return base
	}
	both := maps.Clone(base)
	if both == nil {
		both = make(map[string]string, len(top))
	}
	maps.Copy(both, top)
	return both
}

// planJobs makes the jobs of a blueprint that needs no keeper on the way.
func (d *draft) planJobs() {
	p := d.plan
	id := make([]domain.JobID, len(p.Steps))
	for n, i := range p.order {
		id[i] = domain.JobID(n + 1)
	}
	jobs := make([]*domain.Job, 0, len(p.Steps))
	for _, i := range p.order {
		j := stepJob(p.Blueprint, &p.Steps[i], d.flow.CallerID)
		j.TraceID = d.flow.TraceID
		j.ID = id[i]
		for _, on := range p.needs[i] {
			j.Dependends = append(j.Dependends, id[on])
		}
		jobs = append(jobs, j)
	}
	d.take(jobs)
}

// stepJob is a job of a step.
func stepJob(b *domain.Blueprint, s *domain.Step, caller domain.ActorID) *domain.Job {
	j := &domain.Job{
		CallerID: caller, Script: s.Script, ScriptType: s.ScriptType, Timeout: uint32(s.Timeout), Retries: uint8(s.MaxRetries()),
		Retry: s.Retry.Rules(), EnvVars: s.Env, Secrets: blueprint.SecretsOf(b, s), Params: over(b.Params, s.Params), Priority: cmp.Or(s.Priority, b.Priority),
		Affinity: s.Affinity,
		Step:     s.Name, At: s.At, Artifacts: s.Artifacts, EnvFill: template.In(b.Env) || template.In(s.Env),
	}
	if call := s.Call(); call != nil {
		j.ScriptType, j.Script = domain.ScriptEffect, callText(call)
		j.Affinity = over(s.Affinity, map[string]string{domain.LabelEffect: call.Target})
	}
	if s.KindOr() == domain.StepApproval {
		j.Retries = noticeRetries
	}
	return j
}

// Jobs are the jobs of a blueprint's steps and hooks, as far as they run in their flow's own context:
// who could take them is known before there is a flow. The step of a hook is called "on.failed".
func Jobs(b *domain.Blueprint) (jobs []*domain.Job) {
	for i := range b.Steps {
		if j := stepJob(b, &b.Steps[i], 0); j.ScriptType != "" && j.At == "" {
			jobs = append(jobs, j)
		}
	}
	for _, on := range domain.HookOns {
		if h := b.On.Of(on); h != nil {
			step := h.Step(on)
			j := stepJob(&domain.Blueprint{}, &step, 0)
			j.Step = "on." + j.Step
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// callText is the script of a job that calls an effect. Each job has a command
// id of its own: one that is computed from the job's number would come again on
// another board, and targets would take the call for one that they know.
func callText(call *domain.EffectCall) string {
	id, err := uuid.NewV7()
	if err != nil {
		panic("BUG: no random numbers: " + err.Error())
	}
	text, err := json.Marshal(domain.EffectScript{EffectCall: *call, CommandID: id.String()})
	if err != nil {
		panic("BUG: a call cannot be written as JSON: " + err.Error())
	}
	return string(text)
}

func decodePlan(text string) (*domain.Blueprint, error) {
	b := &domain.Blueprint{}
	if err := json.Unmarshal([]byte(text), b); err != nil {
		return nil, domain.Invalidf("the flow's blueprint cannot be read: %v", err)
	}
	return b, nil
}

// name is the flow's business name; ok is false where it has none.
func (d *draft) name() (n archive.Name, ok bool) {
	if d.flow.Trigger == "" || d.flow.Blueprint == "" {
		return n, false
	}
	return archive.Name{Context: d.flow.ContextID, Blueprint: d.flow.Blueprint, Trigger: d.flow.Trigger}, true
}
