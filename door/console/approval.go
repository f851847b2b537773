package console

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// This file has the forms by which a person decides a step.

// answerPrefix begins the names of answers in a form: beside them are names of our own.
const answerPrefix = "answer."

// decideActions are how a step that waits for a person can be decided by who looks.
func (v *visit) decideActions(f *domain.FlowView, s *domain.StepView, add func(*api.Operation, string, action)) {
	a := s.Approval
	if a == nil { // of a node that does not say
		a = &domain.ApprovalView{}
	}
	if identity.MayDecide(v.tenant, v.who.Actor, f.CallerID, a.Approvers, a.NotSubmitter) != nil {
		return
	}
	id := strconv.Itoa(int(f.ID))
	var inputs []formField
	words := []string{"flow", "approve", id, s.Name}
	for i := range a.Answers {
		inputs = append(inputs, typedField(answerPrefix, &a.Answers[i]))
		// What is asked for and not typed yet stands in capitals.
		value := cmp.Or(v.typedIn(answerPrefix+a.Answers[i].Name), a.Answers[i].DefaultOr())
		if value == "" && a.Answers[i].Required {
			value = strings.ToUpper(a.Answers[i].Name)
		}
		if value != "" {
			words = append(words, "--answer", a.Answers[i].Name+"="+value)
		}
	}
	add(api.FlowApprove.Operation, "approve", action{Name: "Approve " + s.Name, Verb: "Approve", Fields: stepField(s.Name), Inputs: inputs, Comment: true,
		Primary: true, Will: "Step " + s.Name + " succeeds, and what waits for it begins.", Command: v.command(words...)})
	add(api.FlowReject.Operation, "reject", action{Name: "Reject", Verb: "Reject", Fields: stepField(s.Name), Comment: true,
		Will: "Step " + s.Name + " fails, and what needs it is skipped.", Command: v.command("flow", "reject", id, s.Name)})
}

// decision is what there is to know before one decides a step, or what somebody has decided.
type decision struct {
	Step, Link, Summary string
	Facts               []fact
	Answers             []pair
}

// decisions are those that a flow waits for.
func (v *visit) decisions(f *domain.FlowView) (list []decision) {
	for i := range f.Steps {
		s := &f.Steps[i]
		if s.Kind != domain.StepApproval || !s.Status.Begun() {
			continue
		}
		d := decision{Step: s.Name, Link: v.path("flows/%d", f.ID) + query("step", s.Name), Summary: s.Summary, Facts: v.decisionFacts(s.Approval)}
		if a := s.Approval; a != nil {
			for i := range a.Answers {
				d.Answers = append(d.Answers, pair{a.Answers[i].Name, answerText(&a.Answers[i])})
			}
		}
		list = append(list, d)
	}
	return list
}

// decisionFacts say who may decide, until when, and what then.
func (v *visit) decisionFacts(a *domain.ApprovalView) (facts []fact) {
	if a == nil { // of a node that does not say
		return nil
	}
	who := "whoever may start flows"
	if len(a.Approvers) > 0 {
		names := make([]string, len(a.Approvers))
		for i, name := range a.Approvers {
			names[i] = name
			if id, role, err := domain.ParseApprover(name); err == nil && role == "" {
				names[i] = actorText(id)
			}
		}
		who = strings.Join(names, ", ")
	}
	if a.NotSubmitter {
		who += ", but not who submitted the flow"
	}
	facts = append(facts, fact{Name: "decided by", Text: who})
	if a.DueMs != 0 {
		facts = append(facts, fact{Name: "due", At: v.at(a.DueMs)}, fact{Name: "and then", Text: deadlineText(a.OnDeadline)})
	}
	return facts
}

// deadlineText says what becomes of a step that nobody has decided in time.
func deadlineText(on domain.OnDeadline) string {
	switch on {
	case domain.DeadlineApprove:
		return "it counts as approved"
	case domain.DeadlineFail:
		return "it ends in error"
	}
	return "it counts as rejected"
}

// answerText says what an answer is for, and what it has to be.
func answerText(f *domain.TypedField) string {
	text := blueprint.FieldWants(f)
	if f.Description != "" {
		text = strings.TrimSuffix(f.Description, ".") + "; " + text
	}
	if f.Required {
		return text + "; required"
	}
	if f.DefaultOr() != "" {
		text += "; " + f.DefaultOr() + " if nothing is said"
	}
	return text
}

// typedField is what a person fills in for a typed field.
func typedField(prefix string, f *domain.TypedField) formField {
	out := formField{Name: prefix + f.Name, Label: f.Name, Value: f.DefaultOr(), Needed: f.Required, Help: f.Description, Options: f.Enum}
	out.wrong = func(value string) string { return faultOf(f, value) }
	switch typ := f.TypeOr(); {
	case len(f.Enum) > 0:
		if !f.Required {
			out.Options = append([]string{""}, f.Enum...)
		}
	case typ == domain.TypeFlag && (f.DefaultOr() != "" || f.Required):
		out.Flag, out.Needed = true, false // one that is not ticked is answered, too
	case typ == domain.TypeFlag:
		out.Options = []string{"", "false", "true"}
	case typ == domain.TypeInstant:
		out.Hint = "2026-01-31T02:00:00Z"
	case typ == domain.TypeSpan:
		out.Hint = "1h30m"
	case typ != domain.TypeText:
		out.Hint = "a " + string(typ)
		if typ == domain.TypeInteger {
			out.Hint = "a whole number"
		}
	}
	var bounds []string
	if f.Min != "" {
		bounds = append(bounds, "from "+f.Min)
	}
	if f.Max != "" {
		bounds = append(bounds, "up to "+f.Max)
	}
	if len(bounds) > 0 && f.TypeOr() != domain.TypeText && out.Hint != "" {
		out.Hint += ", " + strings.Join(bounds, " ")
	}
	return out
}

// faultOf says what is wrong with an answer; "" is nothing.
func faultOf(f *domain.TypedField, value string) string {
	if value == "" && !f.Required {
		return ""
	}
	if value == "" {
		return "It is required."
	}
	if _, err := blueprint.FieldValue(f, value); err != nil {
		return err.Error()
	}
	return ""
}

// answers are those of a form.
func (v *visit) answers() map[string]string {
	_ = v.r.ParseForm() // what cannot be read is not there
	var answers map[string]string
	for name, values := range v.r.PostForm {
		if name, ok := strings.CutPrefix(name, answerPrefix); ok && len(values) > 0 {
			if answers == nil {
				answers = map[string]string{}
			}
			answers[name] = values[len(values)-1] // of a box that is ticked there are two
		}
	}
	return answers
}
