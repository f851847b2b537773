package domain

// StepStatus is where a step stands.
//
// Source: seed 004, "step states".
type StepStatus string

// The statuses of a step. The first three are not ends.
const (
	StepDormant          StepStatus = "dormant"
	StepOpen             StepStatus = "open"    // some of its jobs are made
	StepRunning          StepStatus = "running" // all are
	StepSucceeded        StepStatus = "succeeded"
	StepFailed           StepStatus = "failed"  // a script said so
	StepErrored          StepStatus = "errored" // something unexpected
	StepSkipped          StepStatus = "skipped" // asked for, or by `when`
	StepSkippedByFailure StepStatus = "skipped_by_failure"
	StepSkippedByError   StepStatus = "skipped_by_error"
	StepFailedAccepted   StepStatus = "failed_accepted" // may_fail
)

// Done reports whether the step has ended.
func (s StepStatus) Done() bool {
	return s != StepDormant && s != StepOpen && s != StepRunning && s != ""
}

// Begun reports whether the step has jobs that have not all ended, or waits
// for a person.
func (s StepStatus) Begun() bool { return s == StepOpen || s == StepRunning }
