package flow

import (
	"cmp"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/work"
)

// tally is what a plain flow came to.
type tally struct {
	result           *results
	failures, faults int
	others           int // that ended because of those, or of the flow
	unended          int
	// The first of each kind: a flow that errored names what erred, whatever
	// else failed before.
	failedWhy, faultWhy, othersWhy string
}

// add takes in a job that has ended.
func (y *tally) add(j *domain.Job) {
	switch o := work.OutcomeOf(j); o {
	case work.OutcomeSucceeded:
		y.result.add(stepName(j), j.Followers == 0, j.Result)
		return
	case work.OutcomeFailed:
		y.failures++
		y.failedWhy = cmp.Or(y.failedWhy, whyOf(j))
	case work.OutcomeErrored, work.OutcomeCancelled:
		y.fault(whyOf(j))
	default:
		y.others++
		y.othersWhy = cmp.Or(y.othersWhy, whyOf(j))
	}
}

// fault counts what is an error rather than a failure.
func (y *tally) fault(why string) {
	y.faults++
	y.faultWhy = cmp.Or(y.faultWhy, why)
}

// whyOf names a job and says what went wrong with it.
func whyOf(j *domain.Job) string {
	if j.Step != "" {
		return "step " + j.Step + ": " + j.Error
	}
	return j.Key().String() + ": " + j.Error
}

// stepName is the job's name in the flow: its step, or its id.
func stepName(j *domain.Job) string {
	if j.Step != "" {
		return j.Step
	}
	return strconv.FormatUint(uint64(j.ID), 10)
}

// reason is how the flow ended.
func (y *tally) reason(s *State) (domain.FlowReason, string) {
	switch {
	case s.Cancelled != "" && y.failures+y.faults+y.others > 0: // else it came too late
		return domain.FlowCancelled, s.cancelledText()
	case y.faults > 0:
		return domain.FlowErrored, y.faultWhy
	case y.failures > 0:
		return domain.FlowFailed, y.failedWhy
	case y.others > 0: // because of a job that is none of the flow's, say
		return domain.FlowErrored, y.othersWhy
	}
	return domain.FlowSucceeded, ""
}
