package natsstream

import (
	"context"
	"errors"
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestEachReasonIsToldOnce: streams for which there was no time left add none.
func TestEachReasonIsToldOnce(t *testing.T) {
	names := []domain.StreamName{domain.AggregateEvents, domain.WorkflowCommands, domain.WorkflowEvents}
	full := domain.Unavailablef("AGGREGATE_EVENTS takes nothing")
	ctx, end := context.WithCancel(t.Context())
	for _, tt := range []struct {
		name string
		look func(domain.StreamName) error
		want error
	}{
		{"all are well", func(domain.StreamName) error { return nil }, nil},
		{"all for one reason", func(domain.StreamName) error { return full }, full},
		{"the time is over after one", func(name domain.StreamName) error {
			if name == names[0] {
				return full
			}
			end()
			return ctx.Err()
		}, full},
		{"the time is over", func(domain.StreamName) error { return ctx.Err() }, context.Canceled},
	} {
		got := eachTakes(ctx, names, tt.look)
		if (got == nil) != (tt.want == nil) || got != nil && got.Error() != tt.want.Error() || tt.want == full && !errors.Is(got, domain.ErrUnavailable) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}
