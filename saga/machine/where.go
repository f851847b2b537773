package machine

import (
	"context"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Query is a condition over instances. It is safe for concurrent use.
type Query struct{ condition *condition.Condition }

// whereNames are what a condition may ask for.
var whereNames = []string{
	"saga", "correlation", "definition", "version", "state", "status", "outcome", "data",
	"steps", "timers", "deferred", "held", "paused", "created_ms", "updated_ms", "ended_ms",
}

// Where compiles a condition over instances: a Rhai expression over saga,
// correlation, definition, version, state, status, outcome, data (as the
// program has it), steps and timers (as their JSON), deferred (how many), held,
// paused, created_ms, updated_ms and ended_ms.
//
// Errors: as [condition.Compile].
func Where(text string) (*Query, error) {
	c, err := condition.CompileOf(text, whereNames...)
	if err != nil {
		return nil, err
	}
	return &Query{c}, nil
}

// Holds reports whether an instance is one of those.
//
// Errors: [domain.ErrInvalid] where the condition fails, or is no yes or no.
func (q *Query) Holds(ctx context.Context, in *domain.SagaInstance) (bool, error) {
	data, err := payloadValue(in.Data)
	if err != nil {
		return false, err
	}
	steps, err := condition.Of(in.Steps)
	if err != nil {
		return false, err
	}
	timers, err := condition.Of(in.Timers)
	if err != nil {
		return false, err
	}
	number, text := value.Int, value.Str
	return q.condition.Holds(ctx,
		text(in.Saga), text(in.Correlation), number(int64(in.Definition)), number(in.Version), text(in.State), text(string(in.Status)),
		text(string(in.Outcome)), data,
		steps, timers, number(int64(len(in.Deferred))), value.Bool(in.Held != ""), value.Bool(in.Paused), number(in.CreatedMs), number(in.UpdatedMs),
		number(in.EndedMs))
}
