package api

import (
	"context"
	"errors"
	"net/http"
	"os"
	"slices"
	"strings"

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
	// Means says in a sentence what a caller learns by it.
	Means string
}

// failures is the one table from kinds to what is shown. The first that fits
// counts, so narrower kinds come first.
var failures = []struct {
	kind error
	Failure
}{
	{domain.ErrUnauthenticated, Failure{"unauthenticated", http.StatusUnauthorized, 3, "WRONGPASS",
		"Nobody knows who calls: there is no token, or one that is not valid."}},
	{domain.ErrInvalid, Failure{"invalid", http.StatusBadRequest, 2, "ERR", "The request is not right; detail says what would be."}},
	{domain.ErrNotFound, Failure{"not_found", http.StatusNotFound, 4, "ERR", "What is named is not there, or not for the caller to know of."}},
	{domain.ErrConflict, Failure{"conflict", http.StatusConflict, 5, "CONFLICT", "It does not go together with what is there."}},
	{domain.ErrForbidden, Failure{"forbidden", http.StatusForbidden, 3, "NOPERM", "The caller may not do that."}},
	{domain.ErrUnavailable, unavailable},
	{domain.ErrLimit, Failure{"limit", http.StatusUnprocessableEntity, 6, "ERR", "A limit is reached, or would be passed."}},
	{domain.ErrExhausted, Failure{"exhausted", http.StatusTooManyRequests, 6, "BUSY",
		"There is no room now for what callers hold; come again after Retry-After."}},
	{context.DeadlineExceeded, unavailable},
	{context.Canceled, unavailable},
}

var unavailable = Failure{"unavailable", http.StatusServiceUnavailable, 7, "UNAVAILABLE",
	"What the node stands on is away, or the node is stopping; what was asked for may have been done."}

// internal is what is shown of everything else.
var internal = Failure{"internal", http.StatusInternalServerError, 70, "ERR", "A fault of the node; its log has it under the request's id."}

// Failures are all that there are, each once: the last is what everything else is.
func Failures() (all []Failure) {
	for _, row := range failures {
		if !slices.Contains(all, row.Failure) {
			all = append(all, row.Failure)
		}
	}
	return append(all, internal)
}

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

// awayWords are what is said in the place of words of Go that tell nobody what is away.
var awayWords = strings.NewReplacer(
	context.DeadlineExceeded.Error(), "what the node asked gave no answer in time",
	context.Canceled.Error(), "the request was ended before it was answered",
	os.ErrDeadlineExceeded.Error(), "no answer in time")

// awayAdvice is what to do where an error says no more than that.
const awayAdvice = "; what was asked for may have been done: see what `ramet doctor` finds, look whether it was, and ask again"

// DetailOf is what callers are told of an error that is for them.
func DetailOf(err error) string {
	text := err.Error()
	switch f, listed := FailureOf(err); {
	case !listed || f.Word != unavailable.Word:
		return text
	case errors.Is(err, domain.ErrUnavailable):
		return awayWords.Replace(text)
	}
	return awayWords.Replace(text) + awayAdvice
}

// FailureIn is what a problem document stands for: by its code word, and by its status where
// a node that is newer gives a word that is not known here.
func FailureIn(p Problem) Failure {
	if KindOf(p.Code) == nil && p.Code != internal.Word {
		return FailureAt(p.Status)
	}
	return FailureNamed(p.Code)
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
