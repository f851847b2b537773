package console

import (
	"cmp"

	"github.com/ramet-run/ramet/domain"
)

// state is how something stands: a word for people, and the class by which it gets its
// shape and colour, which is one of the tokens in styles/base.css.
type state struct{ Word, Class string }

// The classes.
const (
	waiting   = "waiting"
	running   = "running"
	succeeded = "succeeded"
	failed    = "failed"
	errored   = "errored"
	skipped   = "skipped"
	held      = "held"
)

// flowState is how a flow stands; deciding says that a person has to approve or reject.
func flowState(f *domain.Flow, deciding bool) state {
	switch {
	case f.Final():
		return flowEnd(f)
	case f.Cancel != "":
		return state{"being cancelled", held}
	case f.Paused:
		return state{"paused", held}
	case deciding || f.Awaits == domain.AwaitsDecision:
		return state{"needs approval", held}
	case f.Awaits == domain.AwaitsOthers:
		return state{"waiting", waiting}
	case f.Status == domain.FlowStarted:
		return state{"running", running}
	}
	return state{"waiting", waiting}
}

func flowEnd(f *domain.Flow) state {
	if f.Status == domain.FlowFinished {
		return state{"succeeded", succeeded}
	}
	switch f.Reason {
	case domain.FlowFailed:
		return state{"failed", failed}
	case domain.FlowCancelled:
		return state{"cancelled", skipped}
	}
	return state{string(cmp.Or(f.Reason, domain.FlowErrored)), errored}
}

// stepStates are those of steps by their status.
var stepStates = map[domain.StepStatus]state{
	"": {"waiting", waiting}, domain.StepDormant: {"waiting", waiting}, domain.StepOpen: {"running", running}, domain.StepRunning: {"running", running},
	domain.StepSucceeded: {"succeeded", succeeded}, domain.StepFailed: {"failed", failed}, domain.StepErrored: {"errored", errored},
	domain.StepSkipped: {"skipped", skipped}, domain.StepSkippedByFailure: {"skipped, after a failure", skipped},
	domain.StepSkippedByError: {"skipped, after an error", skipped}, domain.StepFailedAccepted: {"failed, accepted", failed},
}

// stepState is how a step stands.
func stepState(s *domain.StepView) state {
	if s.Kind == domain.StepApproval && s.Status.Begun() {
		return state{"needs approval", held}
	}
	if st, known := stepStates[s.Status]; known {
		return st
	}
	return state{string(s.Status), waiting}
}

// jobState is how a job stands.
func jobState(j *domain.Job) state {
	switch {
	case j.Status == domain.JobFinished:
		return state{"succeeded", succeeded}
	case j.Status == domain.JobError:
		return jobEnd(j)
	case j.Cancel != "":
		return state{"being cancelled", held}
	case j.Parked != "":
		return state{"held by a ban", held}
	}
	switch j.Phase() {
	case domain.PhaseSuspended:
		return state{"suspended", waiting}
	case domain.PhaseRetrying:
		return state{"waits to retry", waiting}
	case domain.PhaseRunning:
		return state{"running", running}
	case domain.PhaseBlocked:
		if j.Status == domain.JobDispatched && j.NotBefore != 0 {
			return state{"delayed", waiting}
		}
		return state{"waits for others", waiting}
	}
	return state{"waiting", waiting}
}

// jobEnds are those that are neither a script's own failure nor a surprise.
var jobEnds = map[domain.Reason]state{
	domain.ReasonScriptFailed: {"failed", failed}, domain.ReasonCancelled: {"cancelled", skipped}, domain.ReasonFlowAborted: {"flow aborted", skipped},
	domain.ReasonDependencyFailed: {"skipped", skipped}, domain.ReasonTimeout: {"timed out", errored}, domain.ReasonRunnerLost: {"runner lost", errored},
}

func jobEnd(j *domain.Job) state {
	if st, known := jobEnds[j.Reason]; known {
		return st
	}
	return state{"errored", errored}
}
