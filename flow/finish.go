package flow

import (
	"cmp"

	"github.com/ramet-run/ramet/domain"
)

// This file ends a flow whose steps have all ended.

// finish ends the flow when all its steps have ended.
func (a *advancer) finish() {
	sums := a.s.Sums
	switch {
	case a.d.asks():
		return
	case sums.Undone == 0:
		a.finishWell()
	case sums.Begun == 0 && a.d.WakeAt.IsZero() && !a.f.Banned && !a.d.More:
		a.d.End, a.d.Why = domain.FlowStuck, "no step can begin, and none runs"
	default:
		return
	}
	a.d.Remove = a.s.Delete
}

// finishWell says how a flow ended all of whose steps have.
func (a *advancer) finishWell() {
	worst := well
	why := map[domain.StepStatus]string{} // of each kind of bad end what came first
	if !a.known(a.p.order) {
		return
	}
	for _, i := range a.p.order {
		st, _ := a.at(i)
		worst = max(worst, classOf(st.Status))
		name := a.p.Steps[i].Name
		if (st.Status == domain.StepFailed || st.Status == domain.StepErrored) && (why[st.Status] == "" || name == a.s.Aborted) {
			why[st.Status] = "step " + name + ": " + st.Text
		}
	}
	a.d.Why = cmp.Or(why[domain.StepFailed], why[domain.StepErrored])
	switch {
	case worst == well: // also where a cancel came too late
		a.d.End = domain.FlowSucceeded
	case a.s.Cancelled != "":
		a.d.End, a.d.Why = domain.FlowCancelled, a.s.cancelledText()
	case worst == fault:
		// Not what failed before: it is not what made this an error.
		a.d.End, a.d.Why = domain.FlowErrored, cmp.Or(why[domain.StepErrored], why[domain.StepFailed])
	default:
		a.d.End = domain.FlowFailed
	}
}
