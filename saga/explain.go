package saga

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga/machine"
)

// Explain answers for one instance.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, saga, correlation string) (domain.SagaExplanation, error) {
	in, err := e.Instance(ctx, tenant, saga, correlation)
	if err != nil {
		return domain.SagaExplanation{}, err
	}
	keys := layout.SagaKeys{Tenant: in.Tenant}
	x := domain.SagaExplanation{Key: keys.Instance(saga, correlation), Status: in.Status, State: in.State, SinceMs: in.UpdatedMs}
	if in.Status == domain.SagaEnded {
		x.Standing, x.Text = domain.StandingEnded, "it has ended: "+string(in.Outcome)
		return x, nil
	}
	def, err := e.store.Get(ctx, tenant, saga, in.Definition) // it need not compile any more
	if err != nil {
		return x, err
	}
	for _, s := range in.Steps {
		if s.State == domain.StepAsked || s.State == domain.StepUndoing {
			x.Steps = append(x.Steps, s.Name)
			a := domain.AwaitedEffect{Step: s.Name, Effect: s.Effect, CommandID: s.CommandID}
			if s.State == domain.StepUndoing {
				a.Effect, a.CommandID, a.Undoes = s.UndoEffect, s.Undo, true
			}
			x.Effects = append(x.Effects, a)
		}
	}
	for _, asked := range in.Asked {
		x.Effects = append(x.Effects, domain.AwaitedEffect{Effect: asked.Effect, CommandID: asked.CommandID})
	}
	for i := range in.Deferred {
		x.Deferred = append(x.Deferred, in.Deferred[i].Type)
	}
	for _, t := range in.Timers {
		if x.NextMs == 0 || t.DueMs < x.NextMs {
			x.NextMs = t.DueMs
		}
	}
	vain := inVain(def.Definition, in)
	x.Events = slices.DeleteFunc(handled(def.Definition, in.State), func(typ string) bool { return slices.Contains(vain, typ) })
	at, err := e.positions(ctx, tenant, in.Tenant, saga)
	if err != nil {
		return x, err
	}
	if x.Holder, err = e.holder(ctx, tenant, keys, at, saga, correlation); err != nil {
		return x, err
	}
	if x.Unsent, err = e.unsent(ctx, tenant, at.indexes(keys, saga), correlation); err != nil {
		return x, err
	}
	if err := e.tried(ctx, tenant, keys, x.Effects); err != nil {
		return x, err
	}
	if err := e.deadLetters(ctx, tenant, keys, x.Effects); err != nil {
		return x, err
	}
	if x.Ended, err = e.ended(ctx, tenant, keys, in, vain); err != nil {
		return x, err
	}
	return e.say(ctx, tenant, keys, in, def.Definition, x)
}

func (e *Engine) say(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, in *domain.SagaInstance,
	def *domain.SagaDefinition, x domain.SagaExplanation) (domain.SagaExplanation, error) {
	banned, _ := e.cfg.Banned(tenant, in.Saga)
	switch {
	case in.Held != "":
		x.DeadLetter = keys.Dead(domain.DeadSaga, HeldBy(in))
		x.Standing, x.Text = domain.StandingHeld, "its program failed on an event: replay or drop the dead letter saga "+HeldBy(in)
		recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), x.DeadLetter)
		if err != nil {
			return x, err
		}
		if recs[0] == nil {
			x.Standing, x.Text = domain.StandingStuck, "it is held by the dead letter "+HeldBy(in)+", which is gone: rebuild it"
		}
	case in.Paused:
		x.Standing, x.Text = domain.StandingPaused, fmt.Sprintf("it is paused; %d events wait", len(in.Deferred))
	case banned:
		x.Standing, x.Text = domain.StandingBanned, "its saga is paused by a ban: its events wait in their streams"
	case len(x.Unsent) > 0:
		x.Standing, x.Text = domain.StandingOutbox, outboxText(x.Unsent)
	case slices.ContainsFunc(x.Effects, func(a domain.AwaitedEffect) bool { return a.DeadLetter != "" }):
		a := x.Effects[slices.IndexFunc(x.Effects, func(a domain.AwaitedEffect) bool { return a.DeadLetter != "" })]
		x.DeadLetter = a.DeadLetter
		x.Standing, x.Text = domain.StandingHeld, fmt.Sprintf("it waits for effect %s, whose command is a dead letter (%s): replay the dead letter effect %s, "+
			"or drop it, which gives the saga %s", a.Effect, a.Error, a.CommandID, domain.ResultEvent(a.Effect, domain.ResultFailed))
	case len(x.Steps) > 0:
		x.Standing, x.Text = domain.StandingEffect, "it waits for the results of "+strings.Join(awaited(x.Effects), ", ")
	case x.NextMs > 0:
		x.Standing, x.Text = domain.StandingTimer, "it waits for a timer at "+time.UnixMilli(x.NextMs).UTC().Format(time.RFC3339)
	case len(x.Events) > 0:
		x.Standing, x.Text = domain.StandingEvents, "it waits for an event"
	default:
		why, err := e.immovable(ctx, tenant, def, in)
		if err != nil {
			return x, err
		}
		if x.Standing, x.Text = domain.StandingStuck, why; why == "" {
			x.Standing, x.Text = domain.StandingEvents, "it waits for an event that is on its way"
			if len(in.Asked) > 0 {
				x.Standing, x.Text = domain.StandingEffect, "it waits for results of effects, with which its state does nothing"
			}
		}
	}
	if err := e.sayLost(ctx, tenant, keys, in, &x); err != nil {
		return x, err
	}
	if len(x.Events) > 0 && (x.Standing == domain.StandingTimer || x.Standing == domain.StandingEvents) {
		x.Text += ", or for " + strings.Join(x.Events, ", ")
		these := "for "
		if len(x.Events) > 1 {
			these = "for one of "
		}
		x.Text = strings.Replace(x.Text, "for an event, or for ", these, 1)
	}
	switch x.Standing {
	case domain.StandingTimer, domain.StandingEvents, domain.StandingStuck:
		x.Text = strings.Join(append([]string{x.Text}, x.Ended...), "; ")
	default: // while work of it is under way, results that it has taken are no longer waited for
		x.Ended = nil
	}
	if x.Holder == "" && x.Standing != domain.StandingHeld && x.Standing != domain.StandingStuck {
		x.Text += "; no worker serves its partition at the moment"
	}
	return x, nil
}

// sayLost says of timers that will not come that the next audit sets them again. One that waits for no more than
// these is stuck until then.
func (e *Engine) sayLost(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, in *domain.SagaInstance, x *domain.SagaExplanation) error {
	now, lost := e.board.Now(), 0
	for i := range in.Timers {
		is, err := e.lost(ctx, layout.SpaceOf(tenant), tenant, keys, in, &in.Timers[i], now)
		if err != nil {
			return err
		}
		if is {
			lost++
		}
	}
	if lost == 0 {
		return nil
	}
	if x.Standing == domain.StandingTimer && lost == len(in.Timers) {
		x.Standing = domain.StandingStuck
	}
	x.Text += fmt.Sprintf("; the alarms of %d of its timers are gone: the next audit sets them again", lost)
	if from := time.UnixMilli(in.UpdatedMs).Add(auditAge); from.After(now) {
		x.Text += ", from " + from.UTC().Format(time.RFC3339) + " on"
	}
	return nil
}

// awaited names the steps whose results are: of one that is being undone, what undoes it.
func awaited(list []domain.AwaitedEffect) (names []string) {
	for i := range list {
		switch a := &list[i]; {
		case a.Undoes:
			names = append(names, a.Effect+" (which undoes "+a.Step+")")
		case a.Step != "":
			names = append(names, a.Step)
		}
	}
	return names
}

// handled are the types of event that a state does something with.
func handled(def *domain.SagaDefinition, state string) []string {
	i := slices.IndexFunc(def.States, func(s domain.SagaState) bool { return s.Name == state })
	if i < 0 {
		return nil
	}
	var list []string
	for typ, r := range def.States[i].On {
		if r == domain.Handle {
			list = append(list, typ)
		}
	}
	slices.Sort(list)
	return list
}

// holder is the worker that has the partition of an instance; "": none.
func (e *Engine) holder(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, p *positions, saga, correlation string) (string, error) {
	if len(p.list) == 0 {
		return "", nil
	}
	of := p.now().Of
	lease, held, err := e.board.LeaseOf(ctx, layout.SpaceOf(tenant), shardKey(keys, saga, partitionOf(correlation, of), of))
	if err != nil || !held || lease.Over() {
		return "", err
	}
	return lease.Owner, nil
}

// tried looks what the marks of effects know of their attempts.
func (e *Engine) tried(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, list []domain.AwaitedEffect) error {
	if len(list) == 0 {
		return nil
	}
	names := make([]string, len(list))
	for i := range list {
		names[i] = keys.Done(list[i].CommandID)
	}
	recs, _, err := board.PerKey(e.board.Get(ctx, layout.SpaceOf(tenant), names...))
	if err != nil {
		return err
	}
	for i, rec := range recs {
		list[i].Decided = rec != nil && rec.Get(layout.DoneStatus) != layout.DoneTrying
		list[i].Attempts, _ = strconv.Atoi(rec.Get(layout.DoneAttempts))
		list[i].NextMs, _ = strconv.ParseInt(rec.Get(layout.DoneNext), 10, 64)
		list[i].Error = rec.Get(layout.DoneError)
	}
	return nil
}

// outboxText says what work items wait for: the reason is that of the one that was tried most often.
func outboxText(list []domain.UnsentWork) string {
	text := "1 work item waits in the outbox to be sent"
	if len(list) > 1 {
		text = fmt.Sprintf("%d work items wait in the outbox to be sent", len(list))
	}
	worst := slices.MaxFunc(list, func(a, b domain.UnsentWork) int { return a.Attempts - b.Attempts })
	switch {
	case worst.Error == "":
		return text
	case worst.Attempts == 1:
		return text + ": " + worst.Error + " (1 attempt)"
	}
	return fmt.Sprintf("%s: %s (%d attempts)", text, worst.Error, worst.Attempts)
}

// unsent are the work items of an instance that wait in the outbox.
func (e *Engine) unsent(ctx context.Context, tenant domain.TenantID, indexes []string, correlation string) (list []domain.UnsentWork, err error) {
	for _, index := range indexes {
		for after := ""; ; {
			page, err := e.board.Members(ctx, layout.SpaceOf(tenant), index, after, 500)
			if err != nil {
				return list, err
			}
			if len(page) == 0 {
				break
			}
			recs, _, err := board.PerKey(e.board.Get(ctx, layout.SpaceOf(tenant), page...))
			if err != nil {
				return list, err
			}
			for _, rec := range recs {
				if w, ok := decodeWork(rec); ok && w.Correlation == correlation {
					one := domain.UnsentWork{What: machine.Describe(&w), CommandID: w.ID, Attempts: triesOf(rec), Error: rec.Get(layout.OutboxError)}
					if since := sinceOf(rec); w.Kind == domain.WorkCommand && !since.IsZero() {
						policy := w.Gateway.Filled()
						if now := e.board.Now(); since.After(now) {
							since = now // as whoever tries it next takes it
						}
						one.GiveUpMs, one.MostAttempts = since.Add(policy.GiveUp.Time()).UnixMilli(), policy.Attempts
					}
					list = append(list, one)
				}
			}
			after = page[len(page)-1]
		}
	}
	return list, nil
}

// decodeWork reads a record of an outbox.
func decodeWork(rec board.Record) (w domain.WorkItem, ok bool) {
	err := json.Unmarshal([]byte(rec.Get(layout.OutboxItem)), &w)
	return w, err == nil && w.ID != ""
}
