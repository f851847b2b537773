package client

import (
	"context"
	"net/http"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Tag says what a thing was when it was read: the ETag of the answer.
type Tag string

// Read does an operation that reads one thing, and gives the tag of what it read, for
// [IfMatch].
//
// Errors: those of [Call]; [domain.ErrInvalid] for an operation whose answers have no tags.
func Read[P, R any](ctx context.Context, c *Client, op api.Op[P, R], params P) (R, Tag, error) {
	if op.Method != http.MethodGet || op.Waits {
		var none R
		return none, "", domain.Invalidf("%s: its answers have no tags: it waits, or changes something", op.Name)
	}
	result, header, err := ask(ctx, c, op, params)
	return result, Tag(header.Get("ETag")), err
}

// condition is under which condition something is changed, in a context.
type condition struct{ header, value string }
type conditionKey struct{}

// IfMatch has a change that is asked for with that context be made only while the thing is
// as it was read, in one step; else the error is a [domain.ErrConflict], and nothing is
// done. It is for one change: that has another tag. An operation that cannot hold what it
// changes ([api.Operation.Holds]) refuses it.
func IfMatch(ctx context.Context, tag Tag) context.Context {
	return context.WithValue(ctx, conditionKey{}, condition{"If-Match", string(tag)})
}

// IfNone has it be made only where there is no such thing yet.
func IfNone(ctx context.Context) context.Context {
	return context.WithValue(ctx, conditionKey{}, condition{"If-None-Match", "*"})
}

// header are the headers of a request for an operation: its key, and its condition.
func header(ctx context.Context, o *api.Operation, key string) http.Header {
	h := http.Header{}
	if key != "" {
		h.Set(keyHeader, key)
	}
	if held, there := ctx.Value(conditionKey{}).(condition); there && o.Method != http.MethodGet {
		h.Set(held.header, held.value)
	}
	return h
}
