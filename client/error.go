package client

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// maxProblem bounds how much of an error's body is read.
const maxProblem = 256 << 10 // bytes

// Error is what a node answered instead of what was asked for. It unwraps to
// the kind in package domain that its code names; "unauthenticated" counts as
// [domain.ErrForbidden], "internal" as no kind.
type Error struct {
	Problem api.Problem
}

// Error is the node's sentence.
func (e *Error) Error() string {
	text := cmp.Or(e.Problem.Detail, e.Problem.Title, e.Problem.Code)
	if e.Problem.Code == codeInternal && e.Problem.RequestID != "" {
		text += " (request " + e.Problem.RequestID + "; the node's log says more)"
	}
	return text
}

// Unwrap is the kind.
func (e *Error) Unwrap() error { return kinds[e.Problem.Code] }

const codeInternal = "internal"

// kinds is what each code word stands for.
var kinds = map[string]error{
	"not_found":       domain.ErrNotFound,
	"conflict":        domain.ErrConflict,
	"invalid":         domain.ErrInvalid,
	"forbidden":       domain.ErrForbidden,
	"unauthenticated": domain.ErrForbidden,
	"unavailable":     domain.ErrUnavailable,
	"exhausted":       domain.ErrExhausted,
}

// statusCodes gives the word for answers that are no problem documents: those
// of proxies, or of programs that are no Ramet node.
var statusCodes = map[int]string{
	http.StatusBadRequest:            "invalid",
	http.StatusUnauthorized:          "unauthenticated",
	http.StatusForbidden:             "forbidden",
	http.StatusNotFound:              "not_found",
	http.StatusConflict:              "conflict",
	http.StatusRequestEntityTooLarge: "exhausted",
	http.StatusTooManyRequests:       "exhausted",
	http.StatusBadGateway:            "unavailable",
	http.StatusServiceUnavailable:    "unavailable",
	http.StatusGatewayTimeout:        "unavailable",
}

// readProblem turns an answer that is no success into an error.
func readProblem(resp *http.Response, where string) error {
	text, _ := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	e := &Error{}
	if json.Unmarshal(text, &e.Problem) != nil || e.Problem.Code == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(string(text)), "\n")
		e.Problem = api.Problem{
			Title: http.StatusText(resp.StatusCode), Status: resp.StatusCode,
			Code:   cmp.Or(statusCodes[resp.StatusCode], codeInternal),
			Detail: fmt.Sprintf("%s answered %s, not as a Ramet node does: %.200q", where, resp.Status, first),
		}
	}
	e.Problem.Status = cmp.Or(e.Problem.Status, resp.StatusCode)
	return e
}
