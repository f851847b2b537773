package domain

import (
	"fmt"
	"slices"
)

// RetryOn is a kind of end that a job may be tried again after.
type RetryOn string

// The kinds of ends.
const (
	// RetryErrored is what nobody said on purpose: a crash, a time-out, an exit
	// code of 125 and over, a result that cannot be used.
	RetryErrored RetryOn = "errored"
	// RetryFailed is what the script itself calls a failure: an exit code from 1
	// to 124, a thrown value.
	RetryFailed RetryOn = "failed"
)

// RetryOns are all of them.
var RetryOns = []RetryOn{RetryErrored, RetryFailed}

const (
	// MaxRetries is how often a job can be tried again.
	MaxRetries = 255
	// MaxFinalExitCodes bounds a list: there are no more of them.
	MaxFinalExitCodes = 255
)

// Retry says which ends of a job are tried again. A job without one is tried
// again after each end that is no success.
//
// Source: seed 004, where a task that FAILED is done, and only one that ended in ERROR is picked again.
type Retry struct {
	// Max is how often it is tried again: another spelling of retries.
	Max int `json:"max,omitzero"`
	// On are the ends that are tried again. Default: all.
	On []RetryOn `json:"on,omitzero"`
	// FinalExitCodes end the job whatever On says.
	FinalExitCodes []int `json:"final_exit_codes,omitzero"`
}

// MaxRetries is how often the job is tried again, by either spelling.
func (j *Job) MaxRetries() int { return j.Retry.max(int(j.Retries)) }

// MaxRetries is how often a job of the step is tried again, by either spelling.
func (s *Step) MaxRetries() int { return s.Retry.max(s.Retries) }

func (r *Retry) max(retries int) int {
	if r != nil && r.Max != 0 {
		return r.Max
	}
	return retries
}

// Rules is r without how often; nil where nothing else is said.
func (r *Retry) Rules() *Retry {
	if r == nil || len(r.On)+len(r.FinalExitCodes) == 0 {
		return nil
	}
	return &Retry{On: r.On, FinalExitCodes: r.FinalExitCodes}
}

// Equal reports whether both say the same.
func (r *Retry) Equal(o *Retry) bool {
	if r == nil || o == nil {
		return r == o
	}
	return r.Max == o.Max && slices.Equal(r.On, o.On) && slices.Equal(r.FinalExitCodes, o.FinalExitCodes)
}

// Final reports whether a job that ended so is not tried again. exitCode is 0
// where the script did not end by itself.
func (r *Retry) Final(end RetryOn, exitCode int) bool {
	return r != nil && (slices.Contains(r.FinalExitCodes, exitCode) || len(r.On) > 0 && !slices.Contains(r.On, end))
}

// Validate checks what somebody gave; retries is what the same place says by
// the other spelling.
//
// Errors: [ErrInvalid].
func (r *Retry) Validate(retries int) error {
	if f, wrong := r.fault(retries); wrong {
		return Invalidf("retry.%s: %s", f.Path, f.Text)
	}
	return nil
}

// fault is the first thing that is wrong.
func (r *Retry) fault(retries int) (f Fault, wrong bool) {
	if r == nil {
		return f, false
	}
	fault := func(path, format string, args ...any) (Fault, bool) {
		return Fault{Path: path, Text: fmt.Sprintf(format, args...)}, true
	}
	switch {
	case r.Max < 0 || r.Max > MaxRetries:
		return fault("max", "%d: want 0 to %d", r.Max, MaxRetries)
	case r.Max != 0 && retries != 0 && r.Max != retries:
		return fault("max", "%d, and retries is %d: they are two spellings of one thing; give one", r.Max, retries)
	case len(r.FinalExitCodes) > MaxFinalExitCodes:
		return fault("final_exit_codes", "%d codes, the limit is %d", len(r.FinalExitCodes), MaxFinalExitCodes)
	}
	for i, on := range r.On {
		at := fmt.Sprintf("on[%d]", i)
		if !slices.Contains(RetryOns, on) {
			return fault(at, "%q: want %s", on, meant(string(on), "errored or failed", []string{string(RetryErrored), string(RetryFailed)}))
		}
		if slices.Contains(r.On[:i], on) {
			return fault(at, "%q stands there twice", on)
		}
	}
	for i, code := range r.FinalExitCodes {
		at := fmt.Sprintf("final_exit_codes[%d]", i)
		if code < 1 || code > 255 {
			return fault(at, "%d: want an exit code from 1 to 255", code)
		}
		if slices.Contains(r.FinalExitCodes[:i], code) {
			return fault(at, "%d stands there twice", code)
		}
	}
	return f, false
}

// meant is what would be right, with the nearest of it.
func meant(name, want string, known []string) string {
	if near := Nearest(name, known); near != "" {
		return fmt.Sprintf("%s; did you mean %q?", want, near)
	}
	return want
}
