package service_test

import (
	"context"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// TestTheOperatorIsToldOfWhatTakesNothing: of a board and of streams, also where they do
// not even say so.
func TestTheOperatorIsToldOfWhatTakesNothing(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		name          string
		answer        func(ctx context.Context) error
		board, stream string
	}{
		{"nobody looks", nil, "", ""},
		{"well", func(context.Context) error { return nil }, "", ""},
		{"dead", func(context.Context) error { return domain.Unavailablef("X takes nothing") }, "X takes nothing", "X takes nothing"},
		{"silent", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "the board gives no answer",
			"the server of the event streams gives no answer"},
	} {
		a := service.New(service.Parts{Jobs: r.engine, Directory: r.registry, Access: r, Records: r.board, Board: tt.answer, Streams: tt.answer,
			Info: func() api.Info { return api.Info{} }})
		info, err := a.As(domain.Operator).NodeInfo(t.Context(), api.NodeInfoParams{})
		if err != nil || info.BoardError != tt.board || info.StreamError != tt.stream {
			t.Errorf("%s: got %q, %q, %v, want %q, %q", tt.name, info.BoardError, info.StreamError, err, tt.board, tt.stream)
		}
	}
}
