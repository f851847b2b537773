package flow

import (
	"strconv"
)

// progress is how much of the flow is done, from 0 to 1.
func progress(plan *Plan, s *State) float64 {
	done, all := 0.0, 0.0
	for i := range plan.Steps {
		w := float64(plan.Steps[i].WeightOr())
		all += w
		done += w * s.Steps[i].progress()
	}
	return done / all
}

// progress is how much of the step is done, from 0 to 1. An endless one never
// gets anywhere.
func (s *StepState) progress() float64 {
	switch s.Status {
	case Succeeded, Skipped, FailedAccepted:
		return 1
	case Dormant, SkippedByError, SkippedByFailure:
		return 0
	}
	if s.Split == nil || s.Split.Endless {
		return 0
	}
	all := s.Split.End - s.Split.Start + 1
	return float64(s.Done.Count()) / float64(max(all, 1))
}

func progressText(p float64) string { return strconv.FormatFloat(p*100, 'f', 2, 64) }
