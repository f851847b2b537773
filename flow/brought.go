package flow

import (
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// This file has the rule for flows that messages ask for. Who sends one may have scripts of
// his own run here, without secrets, and blueprints of the context, which name secrets, as they
// are: no variable of his reaches a job that has one, for whoever chooses PATH, LD_PRELOAD or
// http_proxy of a script has what it has. The hooks of a context hold to it,
// too: they have their own environment alone, whoever submitted the flow.

// checkMessage looks at what a message asks for.
//
// Errors: [domain.ErrForbidden].
func checkMessage(r *Request) error {
	switch {
	case r.Message == "":
		return nil
	case r.Plan != nil:
		return checkBrought(r.Plan)
	case len(r.Env) > 0:
		return domain.Forbiddenf("the message brings env for a blueprint of the context that it came to, whose environment is its own; give params")
	}
	return nil
}

// bringer is whose message has brought the plan of a flow; 0 where none has.
func bringer(f *domain.Flow) domain.ActorID {
	if !f.BroughtPlan() {
		return 0
	}
	key, _ := domain.ParseMessageKey(f.Message)
	return key.Caller
}

// ownAgain is a plan that a message has brought as a flow of the context runs it once more, which is
// nobody's message any more: what its steps come to is kept for no others, for it may have the name
// of a blueprint here, and another environment.
func ownAgain(plan *domain.Blueprint) *domain.Blueprint {
	again := *plan
	again.Steps = slices.Clone(plan.Steps)
	for i := range again.Steps {
		again.Steps[i].Cache = nil
	}
	return &again
}

// checkBrought looks at a plan that a message has brought.
//
// Errors: [domain.ErrForbidden].
func checkBrought(plan *domain.Blueprint) error {
	if plan.NamesSecrets() {
		return domain.Forbiddenf("the flow that the message brings names secrets of the context that it came to; " +
			"name a blueprint of that context instead, which says what its scripts find")
	}
	for i := range plan.Steps {
		if err := checkBroughtCall(&plan.Steps[i]); err != nil {
			return err
		}
	}
	return nil
}

// checkBroughtCall looks at a step of it that makes a flow.
//
// Errors: [domain.ErrForbidden].
func checkBroughtCall(s *domain.Step) error {
	if s.Flow != nil && len(s.Env) > 0 {
		return domain.Forbiddenf("step %s of the flow that the message brings has env for a blueprint of the context that it came to, "+
			"whose environment is its own; give params", s.Name)
	}
	return nil
}
