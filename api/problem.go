package api

import (
	"context"
	"errors"
	"net/http"

	"github.com/ramet-run/ramet/domain"
)

// Failure is what doors show of an error's kind.
type Failure struct {
	// Word is the stable code, in problem documents and receipts.
	Word string
	// Status is the HTTP status.
	Status int
	// Exit is the exit code of commands. 1 is left for scripts that failed.
	Exit int
	// RESP is the code that answers to clients of Redis begin with. UNAVAILABLE is
	// none of those after which they try again by themselves: what was asked for
	// may have been done.
	RESP string
}

// failures is the one table from kinds to what is shown. The first that fits
// counts, so narrower kinds come first.
var failures = []struct {
	kind error
	Failure
}{
	{domain.ErrUnauthenticated, Failure{"unauthenticated", http.StatusUnauthorized, 3, "WRONGPASS"}},
	{domain.ErrInvalid, Failure{"invalid", http.StatusBadRequest, 2, "ERR"}},
	{domain.ErrNotFound, Failure{"not_found", http.StatusNotFound, 4, "ERR"}},
	{domain.ErrConflict, Failure{"conflict", http.StatusConflict, 5, "CONFLICT"}},
	{domain.ErrForbidden, Failure{"forbidden", http.StatusForbidden, 3, "NOPERM"}},
	{domain.ErrUnavailable, Failure{"unavailable", http.StatusServiceUnavailable, 7, "UNAVAILABLE"}},
	{domain.ErrLimit, Failure{"limit", http.StatusUnprocessableEntity, 6, "ERR"}},
	{domain.ErrExhausted, Failure{"exhausted", http.StatusTooManyRequests, 6, "BUSY"}},
	{context.DeadlineExceeded, Failure{"unavailable", http.StatusServiceUnavailable, 7, "UNAVAILABLE"}},
	{context.Canceled, Failure{"unavailable", http.StatusServiceUnavailable, 7, "UNAVAILABLE"}},
}

// internal is what is shown of everything else.
var internal = Failure{"internal", http.StatusInternalServerError, 70, "ERR"}

// FailureOf finds what to show of an error. listed is false for errors whose
// text is not for callers.
func FailureOf(err error) (f Failure, listed bool) {
	for _, row := range failures {
		if errors.Is(err, row.kind) {
			return row.Failure, true
		}
	}
	return internal, false
}

// FailureNamed is what a code word stands for; that of what is unlisted for words
// it does not know.
func FailureNamed(word string) Failure {
	for _, row := range failures {
		if row.Word == word {
			return row.Failure
		}
	}
	return internal
}

// FailureAt is what an HTTP status stands for that came without a problem document,
// from a proxy, say. The statuses that no node gives are 413, 502 and 504.
func FailureAt(status int) Failure {
	switch status {
	case http.StatusRequestEntityTooLarge:
		status = http.StatusUnprocessableEntity
	case http.StatusBadGateway, http.StatusGatewayTimeout:
		status = http.StatusServiceUnavailable
	}
	for _, row := range failures {
		if row.Status == status {
			return row.Failure
		}
	}
	return internal
}

// KindOf finds the kind that a word stands for; nil for "internal" and words
// it does not know.
func KindOf(word string) error {
	for _, row := range failures {
		if row.Word == word {
			return row.kind
		}
	}
	return nil
}

// Problem is an error as people and programs see it (RFC 9457).
type Problem struct {
	Type      string `json:"type,omitzero"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Code      string `json:"code"` // not_found conflict invalid forbidden unauthenticated unavailable exhausted limit internal
	RequestID string `json:"request_id,omitzero"`
	// Faults are all that is wrong with a document, a blueprint, with its lines.
	Faults []domain.Fault `json:"faults,omitzero"`
}
