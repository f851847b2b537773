package api_test

import (
	"context"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// TestTheOperatorIsToldOfStreamsThatTakeNothing: also where they do not even say so.
func TestTheOperatorIsToldOfStreamsThatTakeNothing(t *testing.T) {
	r := newRig(t)
	for _, tt := range []struct {
		name   string
		answer func(ctx context.Context) error
		want   string
	}{
		{"well", func(context.Context) error { return nil }, ""},
		{"dead", func(context.Context) error { return domain.Unavailablef("stream X takes nothing") }, "stream X takes nothing"},
		{"silent", func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }, "the server of the event streams gives no answer"},
	} {
		a := api.New(api.Parts{Jobs: r.engine, Directory: r.registry, Access: r, Records: r.board, Streams: tt.answer,
			Info: func() api.Info { return api.Info{} }})
		info, err := a.As(domain.Operator).NodeInfo(t.Context(), api.NodeInfoParams{})
		if err != nil || info.StreamError != tt.want {
			t.Errorf("%s: got %q, %v, want %q", tt.name, info.StreamError, err, tt.want)
		}
	}
}
