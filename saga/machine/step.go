package machine

import (
	"maps"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// part says what an event is the result of.
type part uint8

const (
	noPart   part = iota // of nothing that the instance has under a name
	stepPart             // of a step
	undoPart             // of the command that undoes one
)

// part finds what an event is the result of, and the step; -1 for none.
func (t *turn) part(ev *domain.Event) (part, int) {
	if ev.Source != domain.SourceResult {
		return noPart, -1
	}
	return findPart(t.out, ev.CommandID)
}

// awaited reports whether the result is not there yet.
func (t *turn) awaited(p part, i int) bool {
	s := t.out.Steps[i].State
	return p == stepPart && s == domain.StepAsked || p == undoPart && s == domain.StepUndoing
}

// stray reports whether an event is a result for which nobody waits any more: it
// was deferred twice, or is of an attempt to undo a step that is over.
func (t *turn) stray(ev *domain.Event) bool {
	if ev.Source != domain.SourceResult || askedFor(t.out, ev.CommandID) >= 0 {
		return false
	}
	if t.m.ours(ev) && t.out.Life != "" {
		return true
	}
	effect, _, _ := domain.ParseResultEvent(ev.Type)
	return !t.m.effects[effect] && t.m.undo[effect] && !t.m.Takes(ev)
}

// record writes down the result of a step, or of the command that undoes one.
func (t *turn) record(p part, i int, ev *domain.Event) error {
	s := &t.out.Steps[i]
	_, result, ok := domain.ParseResultEvent(ev.Type)
	if !ok {
		return failf("event %q is no result of effect %q", domain.PlainText(ev.Type, domain.MaxEventType), s.Effect)
	}
	if p == undoPart {
		return t.undone(s, result)
	}
	s.State = domain.StepFailedEffect
	if result == domain.ResultSucceeded {
		s.State = domain.StepCompleted
		for k := range t.out.Steps {
			s.Order = max(s.Order, t.out.Steps[k].Order+1)
		}
	}
	var err error
	if s.Result, err = storable(ev.Payload); err != nil {
		return err
	}
	return t.room()
}

// room checks that the steps together are not too large.
func (t *turn) room() error {
	total := 0
	for i := range t.out.Steps {
		total += len(t.out.Steps[i].Payload) + len(t.out.Steps[i].Result)
	}
	if total > domain.MaxSagaStepBytes {
		return failf("the steps' payloads and results have %d bytes, the limit is %d", total, domain.MaxSagaStepBytes)
	}
	return nil
}

// pass writes down what an event means for steps and timers, where the program
// is not asked. It reports whether that was something.
func (t *turn) pass(ev *domain.Event) bool {
	dropped := t.dropTimer(ev)
	p, i := t.part(ev)
	switch {
	case t.out.Status == domain.SagaEnded:
		return dropped
	case p == noPart:
		return t.answered(ev) || dropped
	case !t.awaited(p, i):
		return dropped
	}
	// How a step ended is kept in any case: what completed must be undone.
	if err := t.record(p, i, ev); err != nil {
		s := &t.out.Steps[i]
		t.note("the step's result is not kept: " + err.Error())
		s.Result = nil
		switch s.State {
		case domain.StepAsked:
			s.State = domain.StepFailedEffect
		case domain.StepUndoing:
			s.State = domain.StepNotUndone
		}
	}
	return true
}

// ask adds an item of work.
func (t *turn) ask(w *domain.WorkItem) error {
	steps := w.Step != "" && w.Kind == domain.WorkEffect // that of a command is a name alone: it has no result to wait for
	total := len(w.Payload)
	for i := range t.work {
		total += len(t.work[i].Payload)
	}
	switch {
	case len(t.work) >= domain.MaxWork:
		return errTooMuch
	case total > domain.MaxWorkTotal:
		return errTooMuch
	case steps && len(t.out.Steps) >= domain.MaxSagaSteps:
		return failf("the instance has %d steps, the most there can be", len(t.out.Steps))
	}
	t.out.Work++
	w.ID = t.newID()
	w.N, w.MadeMs = t.out.Work, t.now
	w.Tenant, w.Saga, w.Correlation = t.in.Tenant, t.in.Saga, t.in.Correlation
	if w.Step != "" && w.Kind == domain.WorkCommand {
		w.Life = t.out.Life
	}
	if w.Kind == domain.WorkCommand {
		w.Gateway = t.m.def.Gateway
	}
	t.work = append(t.work, *w)
	switch {
	case w.Kind == domain.WorkEffect && w.Step == "" && w.Compensates == "":
		return t.await(w)
	case !steps:
		return nil
	}
	t.out.Steps = append(t.out.Steps, domain.SagaStep{
		Name: w.Step, Effect: w.Effect, CommandID: w.ID, State: domain.StepAsked, Payload: w.Payload,
	})
	return t.room()
}

// newID is the id of the next item of work; none that is known already.
func (t *turn) newID() string {
	for again := 0; ; again++ {
		id := workID(t.in, &t.origin, len(t.work)-t.origin.first, again)
		if askedFor(t.out, id) < 0 && !slices.ContainsFunc(t.out.Steps, func(s domain.SagaStep) bool { return s.CommandID == id || s.Undo == id }) &&
			!slices.ContainsFunc(t.work, func(w domain.WorkItem) bool { return w.ID == id }) {
			return id
		}
	}
}

// errTooMuch is a transition that asks for more than one may.
var errTooMuch = failf("the transition asks for more than %d items of work, or %d bytes of payloads", domain.MaxWork, domain.MaxWorkTotal)

// label gives the items of work from first on the metadata that all have.
func (t *turn) label(ev *domain.Event, first int) {
	for i := first; i < len(t.work); i++ {
		w := &t.work[i]
		all := make(map[string]string, len(w.Metadata)+len(reserved))
		maps.Copy(all, w.Metadata)
		all[domain.MetaCorrelation], all[domain.MetaSaga] = t.in.Correlation, t.in.Saga
		if ev.ID != "" {
			all[domain.MetaCausation] = ev.ID
		}
		if trace := ev.Metadata[domain.MetaTrace]; trace != "" {
			all[domain.MetaTrace] = trace
		}
		if step := w.Step + w.Compensates; step != "" {
			all[domain.MetaStep] = step
		}
		w.Metadata = all
	}
}

// Describe is an item of work in a line of history.
func Describe(w *domain.WorkItem) string {
	switch w.Kind {
	case domain.WorkEffect:
		return "effect " + w.Effect + " " + w.ID
	case domain.WorkCommand:
		return "command " + w.AggregateType + "/" + w.AggregateID + " " + w.ID
	case domain.WorkInternal:
		return "workflow " + w.ToSaga + "/" + w.ToID + " " + w.Type + " " + w.ID
	}
	return "fact " + w.Type + " " + w.ID
}

// completed finds the step that is undone next: the last one that completed, of
// those that can be; -1 for none.
func (t *turn) completed() int {
	best := -1
	for i := range t.out.Steps {
		s := &t.out.Steps[i]
		if s.State == domain.StepCompleted && t.m.steps[s.Name] && (best < 0 || s.Order > t.out.Steps[best].Order) {
			best = i
		}
	}
	return best
}

// waiting reports whether a step is in one of these states.
func (t *turn) waiting(states ...domain.StepState) bool {
	return slices.ContainsFunc(t.out.Steps, func(s domain.SagaStep) bool { return slices.Contains(states, s.State) })
}
