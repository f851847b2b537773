package client

import (
	"cmp"
	"encoding/json"
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

// Error is what a node answered instead of what was asked for. It unwraps to
// the kind in package domain that its code names; "unauthenticated" counts as
// [domain.ErrForbidden], "internal" as no kind.
type Error struct {
	Problem api.Problem
	// After is for how long the node does not want to be asked again, at most 30 s; 0: it
	// does not say.
	After time.Duration
}

// maxAfter bounds how long a node may have its callers wait.
const maxAfter = 30 * time.Second

// Error is the node's sentence.
func (e *Error) Error() string {
	text := cmp.Or(e.Problem.Detail, e.Problem.Title, e.Problem.Code)
	if e.Problem.Code == "internal" && e.Problem.RequestID != "" {
		text += " (request " + e.Problem.RequestID + "; the node's log says more)"
	}
	return text
}

// ComeAgain is After, for those who know the error by what it can do alone: package worker.
func (e *Error) ComeAgain() time.Duration { return e.After }

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
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16); err == nil {
		e.After = min(time.Duration(seconds)*time.Second, maxAfter)
	}
	return e
}
