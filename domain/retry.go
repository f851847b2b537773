package domain

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
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
	// MaxExitCodes bounds a list: there are no more of them.
	MaxExitCodes = 255
	// MaxRetryDelay bounds the pause before an attempt, whoever asks for it.
	MaxRetryDelay = 24 * 3600 // seconds
	// DefaultMaxDelay bounds pauses that grow from a delay of the job's own.
	DefaultMaxDelay = 3600 // seconds
	// MaxRetryFactor is by what a pause may be longer than the one before.
	MaxRetryFactor = 100
	// DefaultJitter keeps apart what failed together.
	DefaultJitter = 0.25
)

// Retry says which ends of a job are tried again, and when. A job without one is tried
// again after each end that is no success, after pauses of the node's.
//
// Source: seed 004, where a task that FAILED is done, and only one that ended in ERROR is picked again.
type Retry struct {
	// Max is how often it is tried again: another spelling of retries.
	Max int `json:"max,omitzero"`
	// Delay is the least pause before the second attempt, in seconds. Default: the node's.
	Delay Span `json:"delay,omitzero"`
	// Factor is by what each pause is longer than the one before, 1..[MaxRetryFactor].
	// Default: 2.
	Factor float64 `json:"factor,omitzero"`
	// MaxDelay bounds the pauses. Default: [DefaultMaxDelay], or Delay where that is longer;
	// the node's where neither Delay nor Factor is given.
	MaxDelay Span `json:"max_delay,omitzero"`
	// Jitter is which part of a pause chance may take off it, 0..1. Default:
	// [DefaultJitter].
	Jitter *float64 `json:"jitter,omitzero"`
	// On are the ends that are tried again, besides those of ExitCodes. Default: all, where
	// that is not given either.
	On []RetryOn `json:"on,omitzero"`
	// ExitCodes are those that are tried again whatever On says.
	ExitCodes []int `json:"exit_codes,omitzero"`
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
	if r == nil {
		return nil
	}
	rules := *r
	rules.Max = 0
	if rules.Equal(&Retry{}) {
		return nil
	}
	return &rules
}

// Equal reports whether both say the same.
func (r *Retry) Equal(o *Retry) bool {
	if r == nil || o == nil {
		return r == o
	}
	jitter := (r.Jitter == nil) == (o.Jitter == nil) && (r.Jitter == nil || *r.Jitter == *o.Jitter)
	return r.Max == o.Max && r.Delay == o.Delay && r.Factor == o.Factor && r.MaxDelay == o.MaxDelay && jitter &&
		slices.Equal(r.On, o.On) && slices.Equal(r.ExitCodes, o.ExitCodes) && slices.Equal(r.FinalExitCodes, o.FinalExitCodes)
}

// Final reports whether a job that ended so is not tried again. exitCode is 0
// where the script did not end by itself.
func (r *Retry) Final(end RetryOn, exitCode int) bool {
	switch {
	case r == nil:
		return false
	case slices.Contains(r.FinalExitCodes, exitCode):
		return true
	case len(r.On)+len(r.ExitCodes) == 0:
		return false
	}
	return !slices.Contains(r.On, end) && !slices.Contains(r.ExitCodes, exitCode)
}

// Pause is how long a job waits after failures failed attempts, where the node's own
// pauses are from first to most. part is which part of it chance may take off.
func (r *Retry) Pause(failures int, first, most time.Duration) (d time.Duration, part float64) {
	factor, part := 2.0, DefaultJitter
	if r != nil {
		if r.Delay != 0 || r.Factor != 0 {
			most = DefaultMaxDelay * time.Second
		}
		first = cmp.Or(r.Delay.Time(), first)
		factor = cmp.Or(r.Factor, factor)
		most = cmp.Or(r.MaxDelay.Time(), max(most, first))
		if r.Jitter != nil {
			part = *r.Jitter
		}
	}
	d = most
	if grown := float64(first) * math.Pow(factor, float64(failures-1)); grown < float64(most) {
		d = time.Duration(grown)
	}
	return d, part
}

// PauseText says for people what r has of its own about pauses; "" where it is nothing.
func (r *Retry) PauseText() string {
	var parts []string
	if r == nil {
		return ""
	}
	if r.Delay != 0 {
		parts = append(parts, "delay "+r.Delay.Time().String())
	}
	if r.Factor != 0 {
		parts = append(parts, fmt.Sprintf("factor %v", r.Factor))
	}
	if r.MaxDelay != 0 {
		parts = append(parts, "max_delay "+r.MaxDelay.Time().String())
	}
	if r.Jitter != nil {
		parts = append(parts, fmt.Sprintf("jitter %v", *r.Jitter))
	}
	return strings.Join(parts, ", ")
}

// Validate checks what somebody gave; retries is what the same place says by
// the other spelling.
//
// Errors: [ErrInvalid].
func (r *Retry) Validate(retries int) error {
	if f, wrong := r.Fault(retries); wrong {
		return Invalidf("retry.%s: %s", f.Path, f.Text)
	}
	return nil
}

// Fault is the first thing that is wrong.
func (r *Retry) Fault(retries int) (f Fault, wrong bool) {
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
	case r.Delay > MaxRetryDelay:
		return fault("delay", "%d s, the limit is %d (a day)", r.Delay, MaxRetryDelay)
	case !(r.Factor == 0 || r.Factor >= 1 && r.Factor <= MaxRetryFactor):
		return fault("factor", "%v: want 1 to %d; 1 is a pause that stays as it is", r.Factor, MaxRetryFactor)
	case r.MaxDelay > MaxRetryDelay:
		return fault("max_delay", "%d s, the limit is %d (a day)", r.MaxDelay, MaxRetryDelay)
	case r.MaxDelay != 0 && r.MaxDelay < r.Delay:
		return fault("max_delay", "%d s is less than the delay of %d s", r.MaxDelay, r.Delay)
	case r.Jitter != nil && !(*r.Jitter >= 0 && *r.Jitter <= 1):
		return fault("jitter", "%v: want 0 to 1, the part of a pause that chance may take off it", *r.Jitter)
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
	for _, list := range []struct {
		name  string
		codes []int
	}{{"exit_codes", r.ExitCodes}, {"final_exit_codes", r.FinalExitCodes}} {
		if len(list.codes) > MaxExitCodes {
			return fault(list.name, "%d codes, the limit is %d", len(list.codes), MaxExitCodes)
		}
		for i, code := range list.codes {
			at := fmt.Sprintf("%s[%d]", list.name, i)
			switch {
			case code < 1 || code > 255:
				return fault(at, "%d: want an exit code from 1 to 255", code)
			case slices.Contains(list.codes[:i], code):
				return fault(at, "%d stands there twice", code)
			}
		}
	}
	for i, code := range r.ExitCodes {
		if slices.Contains(r.FinalExitCodes, code) {
			return fault(fmt.Sprintf("exit_codes[%d]", i), "%d is one of final_exit_codes too: want one of them", code)
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
