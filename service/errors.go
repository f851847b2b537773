package service

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
)

// ProblemOf turns an error into what its caller gets. Its type is
// "about:blank": the code says more than a URL would. What is not for callers
// goes to the log, with the request's id.
//
// Source: RFC 9457.
func (s *Service) ProblemOf(ctx context.Context, err error) api.Problem {
	f, listed := api.FailureOf(err)
	p := api.Problem{Type: "about:blank", Title: http.StatusText(f.Status), Status: f.Status, Detail: err.Error(),
		Code: f.Word, RequestID: RequestID(ctx)}
	if document := (*blueprint.Error)(nil); errors.As(err, &document) {
		p.Faults = document.Faults
	}
	if !listed {
		s.log.LogAttrs(ctx, slog.LevelError, "request failed", RequestAttrs(ctx), slog.Any("err", err))
		p.Detail = "internal error; the node's log has the details under request id " + p.RequestID
	}
	return p
}

// requestIDKey is the context key of a request's id.
type requestIDKey struct{}

// WithRequestID names the request, for the log and for problems.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID is the request's name, "" where it has none.
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}
