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

// Standing is the one reason for which an instance is as it is.
type Standing string

// The standings.
const (
	StandingEnded  Standing = "ended"
	StandingHeld   Standing = "held"   // by a dead letter
	StandingPaused Standing = "paused" // by a person
	StandingBanned Standing = "banned" // its saga is
	StandingOutbox Standing = "outbox" // its work is being sent
	StandingEffect Standing = "effect" // for the results of effects
	StandingTimer  Standing = "timer"  // or for an event
	StandingEvents Standing = "events" // for the next event
	StandingStuck  Standing = "stuck"  // nothing that is known here would move it
)

// Explanation answers for an instance: what it waits for, since when, and what
// will wake it.
type Explanation struct {
	Key      string            `json:"key"`
	Status   domain.SagaStatus `json:"status"`
	State    string            `json:"state"`
	Standing Standing          `json:"standing"`
	// Text is the answer in one sentence.
	Text string `json:"text"`
	// SinceMs is since when it stands like this.
	SinceMs int64 `json:"since_ms,omitzero"`
	// Holder is the worker that has its partition.
	Holder string `json:"holder,omitzero"`
	// NextMs is when a timer will wake it.
	NextMs int64 `json:"next_ms,omitzero"`
	// Letter is the dead letter that holds it, Steps are the effects whose
	// results are awaited, Events the types of event that it would handle.
	Letter string              `json:"letter,omitzero"`
	Steps  domain.List[string] `json:"steps,omitzero"`
	Events domain.List[string] `json:"events,omitzero"`
	// Deferred are the types of the events that wait in it, in order.
	Deferred domain.List[string] `json:"deferred,omitzero"`
	// Effects are the commands of Steps, and those without a step that have no result
	// yet; Unsent is its work that waits in the outbox.
	Effects domain.List[Awaited] `json:"effects,omitzero"`
	Unsent  domain.List[Unsent]  `json:"unsent,omitzero"`
}

// Awaited is an effect whose result an instance waits for.
type Awaited struct {
	Step      string `json:"step,omitzero"`
	Effect    string `json:"effect_name"`
	CommandID string `json:"command_id"`
	// Attempts is how many the board was told of, the one that is being made
	// included; Error how the last that failed did, and NextMs when the next is due.
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitzero"`
	NextMs   int64  `json:"next_ms,omitzero"`
	// Decided is set when its result is known, and on its way to the instance.
	Decided bool `json:"decided,omitzero"`
	// Breaker is the target whose breaker is open on the node that was asked.
	Breaker string `json:"open_breaker,omitzero"`
}

// String says how it stands.
func (a *Awaited) String() string {
	text := a.Effect
	if a.Step != "" {
		text = a.Step + " (" + a.Effect + ")"
	}
	text += ": " + attempts(a.Attempts, a.Error)
	if a.Decided {
		text += "; its result is known, and on its way"
	}
	if a.Breaker != "" {
		text += "; the breaker of " + a.Breaker + " is open"
	}
	return text
}

// Unsent is a work item that waits in the outbox.
type Unsent struct {
	What      string `json:"what"`
	CommandID string `json:"command_id"`
	// Attempts is how often the gateway did not take it (an outage, 5xx), and Error
	// what it answered last.
	Attempts int    `json:"attempts,omitzero"`
	Error    string `json:"error,omitzero"`
}

// String says how it stands.
func (u *Unsent) String() string { return u.What + ": " + attempts(u.Attempts, u.Error) }

func attempts(n int, last string) string {
	text := strconv.Itoa(n) + " attempts"
	switch n {
	case 0:
		return "no attempt has failed"
	case 1:
		text = "1 attempt"
	}
	if last == "" {
		return text
	}
	return text + ", the last error: " + last
}

// Explain answers for one instance.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Explain(ctx context.Context, tenant domain.TenantID, saga, correlation string) (Explanation, error) {
	in, err := e.Instance(ctx, tenant, saga, correlation)
	if err != nil {
		return Explanation{}, err
	}
	keys := layout.SagaKeys{Tenant: in.Tenant}
	x := Explanation{Key: keys.Instance(saga, correlation), Status: in.Status, State: in.State, SinceMs: in.UpdatedMs}
	if in.Status == domain.SagaEnded {
		x.Standing, x.Text = StandingEnded, "it has ended: "+string(in.Outcome)
		return x, nil
	}
	def, err := e.store.Get(ctx, tenant, saga, in.Definition) // it need not compile any more
	if err != nil {
		return x, err
	}
	for _, s := range in.Steps {
		if s.State == domain.StepAsked || s.State == domain.StepUndoing {
			x.Steps = append(x.Steps, s.Name)
			a := Awaited{Step: s.Name, Effect: s.Effect, CommandID: s.CommandID}
			if s.State == domain.StepUndoing {
				a.Effect, a.CommandID = s.UndoEffect, s.Undo
			}
			x.Effects = append(x.Effects, a)
		}
	}
	for _, asked := range in.Asked {
		x.Effects = append(x.Effects, Awaited{Effect: asked.Effect, CommandID: asked.CommandID})
	}
	for i := range in.Deferred {
		x.Deferred = append(x.Deferred, in.Deferred[i].Type)
	}
	for _, t := range in.Timers {
		if x.NextMs == 0 || t.DueMs < x.NextMs {
			x.NextMs = t.DueMs
		}
	}
	x.Events = handled(def.Definition, in.State)
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
	return e.say(ctx, tenant, keys, in, x)
}

func (e *Engine) say(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, in *domain.SagaInstance, x Explanation) (Explanation, error) {
	banned, _ := e.cfg.Banned(tenant, in.Saga)
	switch {
	case in.Held != "":
		x.Letter = keys.Dead(domain.DeadSaga, HeldBy(in))
		x.Standing, x.Text = StandingHeld, "its program failed on an event: replay or drop the dead letter saga "+HeldBy(in)
		recs, err := e.board.Get(ctx, layout.SpaceOf(tenant), x.Letter)
		if err != nil {
			return x, err
		}
		if recs[0] == nil {
			x.Standing, x.Text = StandingStuck, "it is held by the dead letter "+HeldBy(in)+", which is gone: rebuild it"
		}
	case in.Paused:
		x.Standing, x.Text = StandingPaused, fmt.Sprintf("it is paused; %d events wait", len(in.Deferred))
	case banned:
		x.Standing, x.Text = StandingBanned, "its saga is paused by a ban: its events wait in their streams"
	case len(x.Unsent) > 0:
		x.Standing, x.Text = StandingOutbox, fmt.Sprintf("%d work items wait in the outbox to be sent", len(x.Unsent))
	case len(x.Steps) > 0:
		x.Standing, x.Text = StandingEffect, "it waits for the results of "+strings.Join(x.Steps, ", ")
	case x.NextMs > 0:
		x.Standing, x.Text = StandingTimer, "it waits for a timer at "+time.UnixMilli(x.NextMs).UTC().Format(time.RFC3339)
	case len(x.Events) > 0:
		x.Standing, x.Text = StandingEvents, "it waits for an event"
	default:
		x.Standing, x.Text = StandingStuck, "its state handles no event, and no timer is set"
	}
	if len(x.Events) > 0 && (x.Standing == StandingTimer || x.Standing == StandingEvents) {
		x.Text += ", or for " + strings.Join(x.Events, ", ")
		x.Text = strings.Replace(x.Text, "for an event, or for", "for one of", 1)
	}
	if x.Holder == "" && x.Standing != StandingHeld && x.Standing != StandingStuck {
		x.Text += "; no worker serves its partition at the moment"
	}
	return x, nil
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
	if err != nil || !held || !lease.Until.After(time.Now()) {
		return "", err
	}
	return lease.Owner, nil
}

// tried looks what the marks of effects know of their attempts.
func (e *Engine) tried(ctx context.Context, tenant domain.TenantID, keys layout.SagaKeys, list []Awaited) error {
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

// unsent are the work items of an instance that wait in the outbox.
func (e *Engine) unsent(ctx context.Context, tenant domain.TenantID, indexes []string, correlation string) (list []Unsent, err error) {
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
					list = append(list, Unsent{What: machine.Describe(&w), CommandID: w.ID, Attempts: triesOf(rec), Error: rec.Get(layout.OutboxError)})
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
