package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
)

// This file looks whether what webhooks, listeners and schedules of a context are to start could
// run now: nobody waits for a flow that was never made, so that no job tells of it.

const (
	// maxStartsLooked bounds the webhooks, listeners and schedules that are looked at where the
	// time is bounded, those that are paused too, and maxStartPlans the blueprints of each, with
	// those that its steps make flows of.
	maxStartsLooked = 1000
	maxStartPlans   = 50
)

// start is something that starts flows of a blueprint.
type start struct {
	kind, name string // of what kind of thing it is: "webhook"
	plan       plan
	held       string // for what its events wait; "": they do not
}

func (s start) key() string { return s.kind + " " + s.name } // as findings call it

// plan is a version of a blueprint; 0 is the newest.
type plan struct {
	blueprint string
	version   int
}

// lack is why flows of a plan would not run; a zero one: they would. What has the same reason is
// one finding. text says it of one plan, and ofMany where others have the reason for other steps.
// Where refused, no flow of the plan is made; where gone, none of those either whose steps make flows of it.
type lack struct {
	reason, text, ofMany string
	refused, gone        bool
}

// startLook is one look at what a context's starts lack.
type startLook struct {
	c      Caller
	tenant domain.TenantID
	lacks  func(*domain.Job) (why string, refused bool)
	until  time.Time // zero: there is no bound
	plans  map[plan]lookedPlan
	late   []string // schedules that nobody has dealt with in time
}

// lookedPlan is what a plan lacks in itself, and what its steps make flows of.
type lookedPlan struct {
	lack lack
	next []plan
}

func (l *startLook) over() bool { return !l.until.IsZero() && time.Now().After(l.until) }

// startsLacking finds what would start flows of which a step has nobody, or whose blueprint is
// gone or cannot be read. It is no part of what is stuck: a node may come. within bounds the time;
// 0: none. Where it was not enough for all, the report is partial.
func (c Caller) startsLacking(ctx context.Context, tenant domain.TenantID, within time.Duration) (r domain.Audit, err error) {
	if r.Lacking, err = c.listenersUnserved(ctx, tenant); err != nil {
		return r, err
	}
	unserved := len(r.Lacking) > 0
	l := &startLook{c: c, tenant: tenant, plans: map[plan]lookedPlan{}}
	if within > 0 {
		l.until = time.Now().Add(within)
	}
	starts, whole, err := l.starts(ctx)
	if r.Partial = !whole; err != nil || len(starts) == 0 {
		return r, err
	}
	if len(l.late) > 0 {
		lack, err := c.api.parts.Jobs.Absent(ctx, domain.RoleClockwork)
		if err != nil {
			return r, err
		}
		r.Lacking = append(r.Lacking, domain.Finding{Key: "schedule " + l.late[0], More: len(l.late) - 1,
			Text: "its time has come, and no node has dealt with it: " + cmp.Or(lack, "does the log of those on duty as clockwork say that handling fails?")})
	}
	if i := slices.IndexFunc(starts, func(s start) bool { return s.kind == "webhook" }); i >= 0 && c.api.parts.NoHTTP {
		r.Lacking = append(r.Lacking, domain.Finding{Key: starts[i].key(), Text: "this node has no address for programs outside (`listen: none`), so that " +
			"nobody can send to a webhook here: start it with --listen, or see that another node of this board has one"})
	}
	if l.lacks, err = c.api.parts.Jobs.Lacks(ctx, tenant); err != nil {
		return r, err
	}
	type told struct{ kind, reason string }
	at := map[told]int{}      // where in the list it is told
	text := map[told]string{} // what is told first
	for i, s := range starts {
		if i > 0 && l.over() {
			r.Partial = true
			return r, nil
		}
		is, err := l.lacking(ctx, s.plan)
		if err != nil {
			return r, err
		}
		if s.held != "" && !unserved && !l.refuses(s.plan, is) { // else that is why its events wait
			r.Lacking = append(r.Lacking, domain.Finding{Key: s.key(), Text: "its events wait: " + s.held})
		}
		if is.reason == "" {
			continue
		}
		of := told{s.kind, is.reason}
		where, again := at[of]
		if !again {
			at[of], text[of] = len(r.Lacking), is.text
			r.Lacking = append(r.Lacking, domain.Finding{Key: s.key(), Text: is.text})
			continue
		}
		f := &r.Lacking[where]
		if f.More++; is.text != text[of] {
			f.Text = is.ofMany
		}
	}
	return r, nil
}

// listenersUnserved finds the listeners whose events nobody reads.
func (c Caller) listenersUnserved(ctx context.Context, tenant domain.TenantID) (domain.List[domain.Finding], error) {
	if c.api.parts.ListenersUnserved == nil {
		return nil, nil
	}
	return c.api.parts.ListenersUnserved(ctx, tenant)
}

// refuses reports whether no flow of a plan that lacks something is made.
func (l *startLook) refuses(p plan, is lack) bool { return is.gone || l.plans[p].lack.refused }

// lacksOf returns what says why flows of a blueprint are not made now, as an audit does; "" where they
// are, though a step may have to wait, and where that cannot be found out.
func (c Caller) lacksOf(ctx context.Context, tenant domain.TenantID) func(blueprint string, version int) string {
	l := &startLook{c: c, tenant: tenant, plans: map[plan]lookedPlan{}}
	return func(blueprint string, version int) string {
		if l.lacks == nil { // there may be nothing that starts flows
			lacks, err := c.api.parts.Jobs.Lacks(ctx, tenant)
			if err != nil {
				return ""
			}
			l.lacks = lacks
		}
		p := plan{blueprint, version}
		is, err := l.lacking(ctx, p)
		if err != nil || !l.refuses(p, is) {
			return ""
		}
		return is.text
	}
}

// starts are those of a context that are not paused, and start something still. whole is false
// where the time or the number was not enough for all.
func (l *startLook) starts(ctx context.Context) (list []start, whole bool, err error) {
	p := &l.c.api.parts
	if p.Webhooks != nil {
		hooks, err := p.Webhooks.List(ctx, l.tenant)
		if err != nil {
			return nil, false, err
		}
		for _, w := range hooks {
			if !w.Paused {
				list = append(list, start{"webhook", w.Name, plan{w.Blueprint, w.Version}, ""})
			}
		}
	}
	if p.Listeners != nil {
		all, err := p.Listeners.List(ctx, l.tenant)
		if err != nil {
			return nil, false, err
		}
		for _, h := range all {
			if !h.Paused {
				s := start{"listener", h.Name, plan{h.Blueprint, h.Version}, ""}
				if h.State.HeldMs != 0 {
					s.held = cmp.Or(h.State.HeldWhy, "their flow cannot be made now")
				}
				list = append(list, s)
			}
		}
	}
	looked, now := 0, l.c.api.parts.Records.Now()
	for cursor := ""; ; {
		page, next, err := p.Schedules.List(ctx, l.tenant, cursor)
		if err != nil {
			return nil, false, err
		}
		for _, s := range page {
			if !s.Paused && s.State.NextMs != 0 {
				list = append(list, start{"schedule", s.Name, plan{s.Blueprint, s.Version}, ""})
			}
			if s.Late(now) {
				l.late = append(l.late, s.Name)
			}
		}
		looked += len(page)
		if cursor = next; cursor == "" {
			return list, true, nil
		}
		if l.over() || !l.until.IsZero() && looked >= maxStartsLooked {
			return list, false, nil
		}
	}
}

// lacking says what is missing for a flow of a plan, with those that its steps make.
func (l *startLook) lacking(ctx context.Context, first plan) (lack, error) {
	plans, seen := []plan{first}, map[plan]bool{first: true}
	for i := 0; i < len(plans) && i < maxStartPlans; i++ {
		is, known := l.plans[plans[i]]
		if !known {
			var err error
			if is, err = l.read(ctx, plans[i]); err != nil {
				return lack{}, err
			}
			l.plans[plans[i]] = is
		}
		if is.lack.reason != "" {
			return is.lack, nil
		}
		for _, next := range is.next {
			if !seen[next] {
				seen[next] = true
				plans = append(plans, next)
			}
		}
	}
	return lack{}, nil
}

// read looks at one plan. One that cannot be read is a finding of those that start it, and of
// nothing else: only a board that is away is an error.
func (l *startLook) read(ctx context.Context, p plan) (is lookedPlan, err error) {
	stored, err := l.c.api.parts.Blueprints.Get(ctx, l.tenant, p.blueprint, p.version)
	switch {
	case err == nil:
	case errors.Is(err, domain.ErrNotFound):
		return lookedPlan{lack: ofPlan(fmt.Sprintf("its flows are made of blueprint %q, which is gone: apply it again, or delete this", p.blueprint))}, nil
	case errors.Is(err, domain.ErrUnavailable) || ctx.Err() != nil:
		return is, err
	default:
		return lookedPlan{lack: ofPlan(fmt.Sprintf("its flows are made of blueprint %q, which cannot be read: %s; apply it again under a greater version, "+
			"or delete it and apply it again", p.blueprint, domain.PlainText(err.Error(), maxLackText)))}, nil
	}
	jobs := flow.Jobs(&stored.Blueprint)
	whys := make([]string, len(jobs))
	for i, j := range jobs {
		why, refused := l.lacks(j)
		if refused {
			one := fmt.Sprintf("no flow of blueprint %q is made: step %q: %s", p.blueprint, j.Step, why)
			return lookedPlan{lack: lack{why, one, "no flow of their blueprints is made: " + why, true, false}}, nil
		}
		whys[i] = why
	}
	for i, why := range whys { // only now: where one is refused, none waits
		if why != "" {
			one := fmt.Sprintf("step %q of its flows, of blueprint %q, would wait: %s", jobs[i].Step, p.blueprint, why)
			return lookedPlan{lack: lack{why, one, "a step of their flows would wait: " + why, false, false}}, nil
		}
	}
	for _, s := range stored.Blueprint.Steps {
		if s.Flow != nil {
			is.next = append(is.next, plan{s.Flow.Blueprint, s.Flow.Version})
		}
	}
	return is, nil
}

// ofPlan is a lack of a plan itself.
func ofPlan(text string) lack { return lack{text, text, text, true, true} }

// maxLackText bounds what is told of why a blueprint cannot be read, in bytes.
const maxLackText = 300
