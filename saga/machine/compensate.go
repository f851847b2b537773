package machine

import (
	"cmp"
	"errors"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// This file undoes what an instance did:
//
//	waits until every step that was asked for has its result, then
//	┌─> the last completed step ── compensate() ──> effect ──> result
//	│     nothing to do: compensated                 Succeeded: compensated
//	│                                                else: asked again, up to Attempts,
//	└── until none is left                          then compensation_failed
//	none is left: the state Done, or Failed where one was not undone

// defaultAttempts is how often the effect that undoes a step is asked for.
const defaultAttempts = 3

// beginCompensation makes the instance undo its steps.
func (t *turn) beginCompensation() error {
	t.leave()
	t.out.Status = domain.SagaCompensating
	t.note("compensation begins")
	return t.compensate()
}

// compensate goes on as far as there is nothing to wait for.
func (t *turn) compensate() error {
	for {
		if t.waiting(domain.StepAsked, domain.StepUndoing) {
			return nil
		}
		i := t.completed()
		if i < 0 {
			return t.compensated()
		}
		if err := t.undo(&t.out.Steps[i]); err != nil {
			return err
		}
	}
}

// compensated ends a compensation.
func (t *turn) compensated() error {
	c := t.m.def.Compensation
	t.out.Status = domain.SagaRunning
	t.note("compensation ends")
	if t.waiting(domain.StepNotUndone) {
		return t.enter(c.Failed)
	}
	return t.enter(c.Done)
}

// undo asks for what undoes a step. A program that fails fails for the event
// that led here; an instance whose policy is to go on goes on without it.
func (t *turn) undo(s *domain.SagaStep) error {
	item, err := t.undoing(s)
	if err == nil && item != nil {
		err = t.ask(item)
	}
	switch {
	case err != nil && t.skips && !errors.Is(err, errTooMuch):
		s.State = domain.StepNotUndone
		t.note("step " + s.Name + " was not undone: " + err.Error())
	case err != nil:
		return err
	case item == nil:
		s.State = domain.StepUndone
		t.note("step " + s.Name + " has nothing to undo")
	default:
		s.State, s.Undo, s.UndoEffect = domain.StepUndoing, t.work[len(t.work)-1].ID, item.Effect
		s.Undos++
	}
	return nil
}

// undoing asks the program what undoes a step; nil is nothing.
func (t *turn) undoing(s *domain.SagaStep) (*domain.WorkItem, error) {
	data, err := t.dataValue()
	if err != nil {
		return nil, err
	}
	step, err := stepValue(s)
	if err != nil {
		return nil, err
	}
	v, err := t.m.program.undo.call(data, step)
	if err != nil {
		return nil, err
	}
	if v.Is(value.ArrayKind) {
		switch items := v.AsArray().Items; len(items) {
		case 0:
			v = value.Unit
		case 1:
			v = items[0].Flatten()
		default:
			return nil, failf("compensate gave %d items for step %q, want one", len(items), s.Name)
		}
	}
	if v.IsUnit() {
		return nil, nil
	}
	return output{m: t.m, now: t.now}.undoItem(v, s.Name)
}

// undone is the result of the command that undoes a step.
func (t *turn) undone(s *domain.SagaStep, result domain.ResultType) error {
	switch {
	case result == domain.ResultSucceeded:
		s.State = domain.StepUndone
		t.note("step " + s.Name + " is undone")
	case s.Undos < cmp.Or(t.m.def.Compensation.Attempts, defaultAttempts):
		t.note("step " + s.Name + " is tried to be undone again")
		return t.undo(s)
	default:
		s.State = domain.StepNotUndone
		t.note("step " + s.Name + " was not undone")
	}
	return nil
}
