package worker

import (
	"errors"
	"time"
)

// The causes with which the context of a function ends before its own end: see
// [context.Cause]. Whatever it returns then, the job is stopped; what it returns nil or
// a result for has succeeded all the same, but for [ErrLost].
var (
	ErrCancelled = errors.New("the job was cancelled")
	ErrTimeout   = errors.New("the job has had its time")
	ErrLost      = errors.New("the lease was lost: another worker may have the job")
	ErrStopping  = errors.New("the worker is stopping")
)

// said is an error with what it means for the job.
type said struct {
	err   error
	final bool
	after time.Duration
}

func (e *said) Error() string { return e.err.Error() }
func (e *said) Unwrap() error { return e.err }

// Fail says that the job has failed for good: another attempt would end the same, so it
// is not tried again whatever retries it has left.
func Fail(err error) error { return &said{err: err, final: true} }

// RetryAfter says that the attempt has failed, and that the next may begin after at least
// that time, if the job has retries left.
func RetryAfter(after time.Duration, err error) error { return &said{err: err, after: after} }
