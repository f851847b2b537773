package durable

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
)

// Limits of a job's history.
const (
	// MaxSteps bounds the events of a job's history.
	MaxSteps = 10_000
	// MaxAnswer bounds what one of them remembers, in bytes: 1 MiB, less what stands
	// around it in the event.
	MaxAnswer = 1<<20 - 16<<10
	// MaxHistory bounds the events of a job together, in bytes.
	MaxHistory = 64 << 20
	// MaxName bounds the name of a step and of a signal, in bytes.
	MaxName = 100
	// MaxOpen bounds the steps of a script that are being done at once.
	MaxOpen = 100
	// MaxCalls bounds what one request calls.
	MaxCalls = 1000
	// MaxSignals and MaxSignalBytes bound what was sent to a job and has not been
	// waited for yet.
	MaxSignals     = 1000
	MaxSignalBytes = 64 << 20
	// MaxLine bounds a request and an answer as a line, in bytes: an answer may be
	// written with six bytes for one.
	MaxLine = 8 << 20
	// MaxFailure bounds the text of a failure, in bytes; more is cut.
	MaxFailure = 4 << 10
	// MaxSleep bounds a sleep and the time-out of a wait.
	MaxSleep = 10 * 366 * 24 * time.Hour
	// Short is the longest time that a script is made to wait without ending its
	// process: to begin another costs about as much.
	Short = time.Second
)

// The verbs of a request.
const (
	DoStep    = "step"
	DoDone    = "done"
	DoDrop    = "drop"
	DoSleep   = "sleep"
	DoWait    = "wait"
	DoCall    = "call"
	DoNow     = "now"
	DoRandom  = "random"
	DoUUID    = "uuid"
	DoVersion = "version"
)

// verbs are all of them, in the order in which they are told.
var verbs = []string{DoStep, DoDone, DoDrop, DoSleep, DoWait, DoCall, DoNow, DoRandom, DoUUID, DoVersion}

// Channel is how a script asks for what is remembered. It is safe for concurrent use.
type Channel interface {
	// Do answers one request. What the answer says is committed when it returns. It
	// waits where the answer has to: for a short sleep, or until ctx ends.
	//
	// Errors: [domain.ErrInvalid] for a request that says nothing good,
	// [domain.ErrLimit] for what does not fit into the history, [ErrDrift],
	// [domain.ErrUnavailable] when the board does not answer, [ErrLost] when the lease
	// of the job is gone, and the context's own error.
	Do(ctx context.Context, r Request) (Answer, error)
}

// ErrDrift says that a script asks for something else than its history has at that
// place. It is a [domain.ErrConflict]; the error that wraps it says what differs.
var ErrDrift = domain.Conflictf("the script asks for something else than its history has")

// ErrLost says that the job is somebody else's by now.
var ErrLost = domain.Conflictf("the lease of the job is gone")

// Request is one line of a script. Which fields count depends on Do.
type Request struct {
	ID   int64  `json:"id,omitzero"`
	Do   string `json:"do"`
	Name string `json:"name,omitzero"`
	// N is which of the steps of that name is meant, where it was begun already; of
	// version the newest that the script knows.
	N int64 `json:"n,omitzero"`
	// Value or Failure are what came of a step: JSON, default null.
	Value   json.RawMessage `json:"value,omitzero"`
	Failure *Failure        `json:"failure,omitzero"`
	// RetryAfterMs has a step done again that failed, after that time (0: at once).
	RetryAfterMs *int64 `json:"retry_after_ms,omitzero"`
	ForMs        *int64 `json:"for_ms,omitzero"`
	UntilMs      *int64 `json:"until_ms,omitzero"` // Unix ms
	Signal       string `json:"signal,omitzero"`   // default: Name
	TimeoutMs    *int64 `json:"timeout_ms,omitzero"`
	// Prerequisite and Approval are what a wait waits for instead of a signal: what a job may
	// have among its prerequisites, and what a person decides.
	Prerequisite string `json:"prerequisite,omitzero"`
	Approval     *Asked `json:"approval,omitzero"`
	// Calls are what a call has done, side by side: up to [MaxCalls].
	Calls []domain.Call `json:"calls,omitzero"`
	// Stop has the process ended at once where the answer is to suspend.
	Stop bool `json:"stop,omitzero"`
}

// Failure says how a step failed.
type Failure = domain.StepFailure

// Answer is the line that answers a request.
type Answer struct {
	ID   int64 `json:"id,omitzero"`
	Done bool  `json:"done"`
	// Suspend asks the script to end its process.
	Suspend bool `json:"suspend,omitzero"`
	// Again asks for the step again, after AfterMs, with the same n.
	Again    bool            `json:"again,omitzero"`
	AfterMs  int64           `json:"after_ms,omitzero"`
	Value    json.RawMessage `json:"value,omitzero"`
	Failure  *Failure        `json:"failure,omitzero"`
	TimedOut bool            `json:"timed_out,omitzero"`
	// Ends are those of a call, in the order of its calls.
	Ends []End `json:"ends,omitzero"`
	// N, Key and Attempt are those of a step; Attempt counts from 1, and Key never changes.
	N       int64  `json:"n,omitzero"`
	Key     string `json:"key,omitzero"`
	Attempt int    `json:"attempt,omitzero"`
	Error   *Error `json:"error,omitzero"`
}

// End is what came of one call: what its child has left as its result, a JSON object of
// texts, or how that failed.
type End struct {
	Value   json.RawMessage `json:"value,omitzero"`
	Failure *Failure        `json:"failure,omitzero"`
	Child   string          `json:"child,omitzero"` // "job:12:7" or "flow:33"
}

// Error is what a script is told of an error.
type Error struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// ErrorOf puts an error into the words of the channel.
func ErrorOf(err error) *Error {
	kind := "internal"
	for _, k := range []struct {
		err  error
		word string
	}{{ErrDrift, "drift"}, {ErrLost, "lost"}, {domain.ErrInvalid, "invalid"}, {domain.ErrLimit, "limit"}, {domain.ErrConflict, "conflict"},
		{domain.ErrNotFound, "not_found"}, {domain.ErrForbidden, "forbidden"}, {domain.ErrUnavailable, "unavailable"},
		{context.Canceled, "lost"}, {context.DeadlineExceeded, "lost"}} {
		if errors.Is(err, k.err) {
			kind = k.word
			break
		}
	}
	return &Error{Kind: kind, Text: err.Error()}
}

// ParseRequest reads a line. Fields that it does not know are ignored: a helper may be
// newer than the node.
//
// Errors: [domain.ErrInvalid], also for what [Request.Validate] refuses; the request has
// its id then, where that could be read.
func ParseRequest(line []byte) (Request, error) {
	var r Request
	if err := intake.Read(line, &r, intake.Limits{Bytes: MaxLine}); err != nil {
		return Request{ID: r.ID}, fmt.Errorf("the request cannot be read: %w; want one line of JSON such as {\"id\":1,\"do\":\"step\",\"name\":\"charge\"}", err)
	}
	return r, r.Validate()
}

// Validate checks what a script asks for.
//
// Errors: [domain.ErrInvalid], [domain.ErrLimit] for an answer that is too large.
func (r Request) Validate() error {
	switch r.Do {
	case DoNow, DoRandom, DoUUID:
		return nil
	case DoCall:
		return r.validateCalls()
	case DoStep, DoDone, DoDrop, DoSleep, DoWait, DoVersion:
	default:
		near := domain.Nearest(r.Do, verbs)
		if near != "" {
			near = "; did you mean " + near + "?"
		}
		last := len(verbs) - 1
		return domain.Invalidf("do %.40q: want %s or %s%s", r.Do, strings.Join(verbs[:last], ", "), verbs[last], near)
	}
	if err := CheckName("name", r.Name); err != nil {
		return err
	}
	if r.N < 0 || (r.Do == DoDone || r.Do == DoDrop || r.Do == DoVersion) && r.N == 0 {
		return domain.Invalidf("%s %q: n is %d, want 1 or more", r.Do, r.Name, r.N)
	}
	switch r.Do {
	case DoDone:
		return r.validateDone()
	case DoSleep:
		if (r.ForMs == nil) == (r.UntilMs == nil) {
			return domain.Invalidf("sleep %q: want one of for_ms and until_ms", r.Name)
		}
		return errors.Join(checkSpan("for_ms", r.ForMs), checkInstant(r.UntilMs))
	case DoWait:
		return r.validateWait()
	}
	return nil
}

// Makes reports whether a request has a job or flow made.
func (r Request) Makes() bool { return r.Do == DoCall || r.Approval != nil }

func (r Request) validateWait() error {
	given := 0
	for _, is := range []bool{r.Signal != "", r.Prerequisite != "", r.Approval != nil} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return domain.Invalidf("wait %q: want one of signal, prerequisite and approval", r.Name)
	case r.Signal != "":
		if err := CheckName("signal", r.Signal); err != nil {
			return err
		}
	case len(r.Prerequisite) > domain.MaxPrerequisiteBytes:
		return domain.Invalidf("wait %q: the prerequisite has %d bytes, the limit is %d", r.Name, len(r.Prerequisite), domain.MaxPrerequisiteBytes)
	case r.Approval != nil && len(r.Approval.Text) > domain.MaxSummaryBytes:
		return domain.Invalidf("wait %q: the approval's text has %d bytes, the limit is %d", r.Name, len(r.Approval.Text), domain.MaxSummaryBytes)
	case r.Approval != nil && r.Approval.Deadline != 0 && r.TimeoutMs != nil:
		return domain.Invalidf("wait %q: want one of the timeout and the approval's deadline, which is the same", r.Name)
	}
	return checkSpan("timeout_ms", r.TimeoutMs)
}

func (r Request) validateCalls() error {
	if len(r.Calls) == 0 || len(r.Calls) > MaxCalls {
		return domain.Invalidf("call: %d calls, want 1 to %d at once", len(r.Calls), MaxCalls)
	}
	for i := range r.Calls {
		c := &r.Calls[i]
		if err := CheckName("name", c.Name); err != nil {
			return err
		}
		if c.Approval != nil {
			return domain.Invalidf("call %q: an approval is waited for, by wait", c.Name)
		}
		if err := checkCall(c); err != nil {
			return err
		}
	}
	return nil
}

// checkCall checks what a script has asked for, but its name.
//
// Errors: [domain.ErrInvalid].
func checkCall(c *domain.Call) error {
	given := 0
	for _, is := range []bool{c.Blueprint != "", c.Script != "", c.Approval != nil} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return domain.Invalidf("call %q: want one of blueprint and script", c.Name)
	case c.Script == "" && (c.ScriptType != "" || c.Timeout != 0 || c.Retries != 0):
		return domain.Invalidf("call %q: script_type, timeout and retries are for a script", c.Name)
	case c.Blueprint == "" && c.Version != 0 || c.Version < 0:
		return domain.Invalidf("call %q: version %d: want a version of a blueprint, from 1; 0 is the newest", c.Name, c.Version)
	}
	return domain.ValidateParams(c.Params)
}

func (r Request) validateDone() error {
	if len(r.Value) > 0 && r.Failure != nil {
		return domain.Invalidf("done %q: want one of value and failure", r.Name)
	}
	if r.RetryAfterMs != nil && r.Failure == nil {
		return domain.Invalidf("done %q: retry_after_ms is for a failure", r.Name)
	}
	if err := checkSpan("retry_after_ms", r.RetryAfterMs); err != nil {
		return err
	}
	if len(r.Value) > MaxAnswer {
		return domain.Limitf("step %q: its answer has %d bytes, the limit is %d; keep large data elsewhere and remember where", r.Name, len(r.Value), MaxAnswer)
	}
	return nil
}

// CheckName checks the name of a step or a signal; what says which of them.
//
// Errors: [domain.ErrInvalid].
func CheckName(what, name string) error {
	if name == "" || len(name) > MaxName || !utf8.ValidString(name) || bytes.ContainsFunc([]byte(name), func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return domain.Invalidf("%s %.120q: want 1 to %d bytes of text without control characters", what, name, MaxName)
	}
	return nil
}

func checkSpan(what string, ms *int64) error {
	if ms != nil && (*ms < 0 || *ms > MaxSleep.Milliseconds()) {
		return domain.Invalidf("%s is %d: want 0 to %d milliseconds (ten years)", what, *ms, MaxSleep.Milliseconds())
	}
	return nil
}

func checkInstant(ms *int64) error {
	if ms != nil && (*ms < 0 || *ms > domain.MaxNotBefore) {
		return domain.Invalidf("until_ms is %d: want Unix milliseconds, up to the year 9999", *ms)
	}
	return nil
}
