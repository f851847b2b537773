package service

import "github.com/ramet-run/ramet/domain"

// This file shows large flows in pages.

// wholeSteps is up to how many steps a flow is shown whole. Of a larger one an answer has
// pageSteps of them.
const (
	wholeSteps = domain.MaxSteps
	pageSteps  = 1_000
)

// pageOf leaves of a large flow the steps from one on, as many as an answer has, and their
// jobs; of any other, which from must be in as well, all.
//
// Errors: [domain.ErrInvalid] for a step that there is not.
func pageOf(v domain.FlowView, from int) (domain.FlowView, error) {
	n := len(v.Steps)
	if from < 0 || from > 0 && from >= n {
		return v, domain.Invalidf("steps_from %d: flow %d has %d steps, counted from 0", from, v.ID, n)
	}
	if n <= wholeSteps {
		return v, nil
	}
	v.Steps, v.StepsFrom, v.StepsTotal = v.Steps[from:min(n, from+pageSteps)], from, n
	v.Jobs = nil
	for i := range v.Steps {
		if key, err := domain.ParseJobKey(v.Steps[i].Job); err == nil {
			v.Jobs = append(v.Jobs, key.ID)
		}
	}
	return v, nil
}
