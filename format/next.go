//go:build format_next

package format

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/layout"
)

// A program with this tag is of the next format, in which nothing lies otherwise: tests let
// it work beside today's. Its step leaves a note on the board.
func init() {
	Ours = append(Ours, Step{
		Release: "999.0.0",
		Board: func(ctx context.Context, b Board) error {
			return b.Commit(ctx, *new(board.Batch).Set(layout.Format, board.Field{Name: "next", Value: "true"}))
		},
	})
}
