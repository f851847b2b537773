package flow

import (
	"strconv"

	"github.com/ramet-run/ramet/domain"
)

// progress is how much of the step is done, from 0 to 1. An endless one never
// gets anywhere, nor does one that is repeated before it has ended: nobody knows which
// round is its last.
func (s *StepState) progress() float64 {
	switch s.Status {
	case domain.StepSucceeded, domain.StepSkipped, domain.StepFailedAccepted:
		return 1
	case domain.StepDormant, domain.StepSkippedByError, domain.StepSkippedByFailure:
		return 0
	}
	if s.Split == nil || s.Split.Endless || s.Round > 0 {
		return 0
	}
	all := s.Split.End - s.Split.Start + 1
	return float64(s.Done.Count()) / float64(max(all, 1))
}

func progressText(p float64) string { return strconv.FormatFloat(p*100, 'f', 2, 64) }
