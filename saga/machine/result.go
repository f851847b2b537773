package machine

import (
	"fmt"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// This file matches results and refusals with the commands that an instance has
// asked for.

// ResultError is a result for which an instance does not wait. It is a
// [domain.ErrInvalid].
type ResultError struct{ Text string }

func (e *ResultError) Error() string { return e.Text }
func (e *ResultError) Unwrap() error { return domain.ErrInvalid }

func refusedf(format string, args ...any) error {
	return &ResultError{domain.CutText(fmt.Sprintf(format, args...), maxErrorText)}
}

// Refuses says why an instance takes no notice of what says that it is a result
// of one of its effects, or that a command of it was refused. A result is taken where
// it is of the command and effect that this life of the instance has asked for and
// waits for; the answer that was given already does no harm. A refusal is Ramet's own
// word, to the life that sent the command. What a trigger takes of others is none of these,
// and an instance that was begun when commands without a step were not noted
// believes those of any.
//
// Errors: *[ResultError].
func (m *Machine) Refuses(in *domain.SagaInstance, ev *domain.Event) error {
	effect, result, ok := domain.ParseResultEvent(ev.Type)
	switch {
	case ev.Life != "" && ev.Life != in.Life:
		return refusedf("the command was sent by an earlier life of the instance")
	case ev.Life == "" && ev.Timer == 0 && m.refusals[ev.Type] && !m.Takes(ev):
		return refusedf("the type %q is that of a refused command, and the event is none", domain.PlainText(ev.Type, domain.MaxEventType))
	}
	if ev.Source != domain.SourceResult {
		if ok && ev.Timer == 0 && (m.effects[effect] || m.undo[effect]) && !m.Takes(ev) {
			return refusedf("the type %q is that of a result, and the event is none", domain.PlainText(ev.Type, domain.MaxEventType))
		}
		return nil
	}
	command := domain.PlainText(ev.CommandID, domain.MaxEventID)
	part, i := findPart(in, ev.CommandID)
	asked := askedFor(in, ev.CommandID)
	var of string
	switch {
	case part == stepPart:
		of = in.Steps[i].Effect
	case part == undoPart:
		of = in.Steps[i].UndoEffect
	case asked >= 0:
		of = in.Asked[asked].Effect
	case !m.ours(ev) || in.Life == "":
		return nil
	default:
		return refusedf("the instance has not asked for command %q of effect %q, or has had its answer", command, effect)
	}
	if of != "" && of != effect {
		return refusedf("command %q is of effect %q, and the result of effect %q", command, of, effect)
	}
	if s := part.answer(in, i); s != "" && (s == domain.ResultSucceeded) != (result == domain.ResultSucceeded) {
		return refusedf("command %q of effect %q has had another answer than %s", command, effect, result)
	}
	return nil
}

// ours reports whether a result says that it is of an effect which an instance
// of this saga has asked for.
func (m *Machine) ours(ev *domain.Event) bool {
	return ev.Source == domain.SourceResult && ev.Saga == m.def.Name
}

// answer is what a command of a step was answered; "" for what is awaited.
func (p part) answer(in *domain.SagaInstance, i int) domain.ResultType {
	if p == noPart {
		return ""
	}
	switch s := in.Steps[i].State; {
	case s == domain.StepAsked, p == undoPart && s == domain.StepUndoing:
		return ""
	case s == domain.StepFailedEffect, p == undoPart && s != domain.StepUndone:
		return domain.ResultFailed
	}
	return domain.ResultSucceeded
}

// findPart finds what a command is for, and the step; -1 for none.
func findPart(in *domain.SagaInstance, command string) (part, int) {
	if command == "" {
		return noPart, -1
	}
	for i := range in.Steps {
		switch command {
		case in.Steps[i].CommandID:
			return stepPart, i
		case in.Steps[i].Undo:
			return undoPart, i
		}
	}
	return noPart, -1
}

// Knows reports whether a step of an instance has a command.
func Knows(in *domain.SagaInstance, command string) bool {
	p, _ := findPart(in, command)
	return p != noPart
}

// askedFor finds a command that was asked for without a step; -1 for none.
func askedFor(in *domain.SagaInstance, command string) int {
	return slices.IndexFunc(in.Asked, func(a domain.SagaAsked) bool { return a.CommandID == command })
}

// answered strikes out the command that a result is of.
func (t *turn) answered(ev *domain.Event) (found bool) {
	if ev.Source != domain.SourceResult {
		return false
	}
	i := askedFor(t.out, ev.CommandID)
	if i < 0 {
		return false
	}
	if t.out.Asked = slices.Delete(t.out.Asked, i, i+1); len(t.out.Asked) == 0 {
		t.out.Asked = nil // as one that never asked
	}
	return true
}

// await writes down that an effect was asked for without a step.
func (t *turn) await(w *domain.WorkItem) error {
	if len(t.out.Asked) >= domain.MaxSagaAsked {
		return failf("the instance waits for the results of %d effects, the most there can be", len(t.out.Asked))
	}
	t.out.Asked = append(t.out.Asked, domain.SagaAsked{Effect: w.Effect, CommandID: w.ID})
	return nil
}
