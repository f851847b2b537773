package service

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// ProblemOf turns an error into what its caller gets. Where something gave no answer in time, it is
// looked at what that was.
func (s *Service) ProblemOf(ctx context.Context, err error) api.Problem {
	p := s.itemProblem(ctx, err)
	if errors.Is(err, context.DeadlineExceeded) && !errors.Is(err, domain.ErrUnavailable) {
		if silent := s.away(ctx); silent != "" {
			p.Detail = silent + "; what was asked for may have been done: look whether it was, once there is an answer again"
		}
	}
	return p
}

// itemProblem is what a caller gets for one of several things that it asked for. Its type is
// "about:blank": the code says more than a URL would. What is not for callers
// goes to the log, with the request's id.
//
// Source: RFC 9457.
func (s *Service) itemProblem(ctx context.Context, err error) api.Problem {
	f, listed := api.FailureOf(err)
	p := api.Problem{Type: "about:blank", Title: http.StatusText(f.Status), Status: f.Status, Detail: api.DetailOf(err),
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

// away is what does not answer of what the node stands on, "" where all does. Who asks has waited
// in vain for some of it.
func (s *Service) away(ctx context.Context) string {
	ctx = context.WithoutCancel(ctx) // the request's own time may be over
	var found [3]string
	var all sync.WaitGroup
	for n, o := range [...]*outlook[struct{}]{&s.board, &s.streams, &s.archive} {
		all.Go(func() { found[n] = o.trouble(ctx, infoTime) })
	}
	all.Wait()
	return cmp.Or(found[:]...)
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
