package flow

import (
	"cmp"
	"fmt"

	"github.com/ramet-run/ramet/domain"
)

// This file has the steps that a person did, or takes to be done.

// done marks a step as succeeded that has not begun, or ended badly, with a result that
// a person gives.
func (a *advancer) done(i int, st *StepState, o Order) error {
	s := &a.p.Steps[i]
	switch {
	case s.KindOr() == domain.StepApproval:
		return domain.Conflictf("step %s is an approval: approve or reject it; after its end a retry asks anew", s.Name)
	case st.Status.Begun():
		return domain.Conflictf("step %s is %s; only one that has not begun, or ended badly, can be marked as done", s.Name, st.Status)
	case st.Status != domain.StepDormant && classOf(st.Status) == well:
		return domain.Conflictf("step %s is %s already", s.Name, st.Status)
	case len(o.Answers) > 0 && !s.KindOr().One():
		return domain.Conflictf("step %s is of kind %s; only a step of one job can be given a result", s.Name, s.KindOr())
	}
	if err := cmp.Or(a.cancelling(), rivalled(a.f.Rival)); err != nil {
		return err
	}
	again := st.Status != domain.StepDormant
	st = a.change(i)
	if s.KindOr().One() {
		st.Result = map[string]string{}
		for name, value := range o.Answers {
			st.Result[name] = value
		}
	}
	text := fmt.Sprintf("marked as done by actor %d", o.By)
	if o.Text != "" {
		text += ": " + o.Text
	}
	a.end(i, domain.StepSucceeded, text)
	if again {
		a.resume()
	}
	return nil
}
