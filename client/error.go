package client

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
)

// maxProblem bounds how much of an error's body is read.
const maxProblem = 256 << 10 // bytes

// maxRetryAfter is how long a node may have its callers wait.
const maxRetryAfter = 30 * time.Second

// ErrUnanswered is what a request ends with that was sent, to change something, and has no answer: nobody knows whether it
// was done. It is a [domain.ErrUnavailable].
var ErrUnanswered = errors.New("sent, and not answered")

// unanswered is such an end, with its sentence.
type unanswered struct{ error }

func (u *unanswered) Unwrap() error        { return u.error }
func (u *unanswered) Is(target error) bool { return target == ErrUnanswered }

// Error is what a node answered instead of what was asked for. It unwraps to
// the kind in package domain that its code names; "unauthenticated" counts as
// [domain.ErrForbidden], "internal" as no kind.
type Error struct {
	Problem api.Problem
	after   time.Duration
}

// Error is the node's sentence.
func (e *Error) Error() string {
	text := cmp.Or(e.Problem.Detail, e.Problem.Title, e.Problem.Code)
	if e.Problem.Code == "internal" && e.Problem.RequestID != "" {
		text += " (request " + e.Problem.RequestID + "; the node's log says more)"
	}
	return text
}

// ComeAgain is for how long the node does not want to be asked again, at most 30 s.
func (e *Error) ComeAgain() time.Duration { return e.after }

// Unwrap is the kind.
func (e *Error) Unwrap() error { return api.KindOf(e.Problem.Code) }

// readProblem turns an answer that is no success into an error.
func readProblem(resp *http.Response, where string) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	e := &Error{}
	if json.Unmarshal(text, &e.Problem) != nil || e.Problem.Code == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		e.Problem = api.Problem{
			Title: http.StatusText(resp.StatusCode), Status: resp.StatusCode,
			Code:   api.FailureAt(resp.StatusCode).Word,
			Detail: fmt.Sprintf("%s answered %s, not as a Ramet node does: %.200q", where, resp.Status, first),
		}
	}
	e.Problem.Status = cmp.Or(e.Problem.Status, resp.StatusCode)
	e.after = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	return e
}

// retryAfter reads a header Retry-After as RFC 9110 has it: whole seconds, or a date, which
// counts from now. What is neither asks for no time.
func retryAfter(text string, now time.Time) time.Duration {
	text = strings.Trim(text, " \t")
	seconds, err := strconv.ParseUint(text, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // then it is the largest number
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
