package layout

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// givenBeyond is how many numbers of actors, nodes and runners may have been given out that the
// board has lost.
const givenBeyond = 1_000

// Leap has the counters of all contexts go on [board.EpochLeap] beyond what they have given
// out, as a driver does that begins an epoch by itself, and those of actors, nodes and runners
// a little. Contexts are numbered on without a gap, for each may be a database.
//
// Errors: those of [board.Board].
func Leap(ctx context.Context, b board.Board) error {
	for _, noun := range []string{"actor", "node", "runner"} {
		if _, err := b.Next(ctx, 0, Seq(noun, 0), givenBeyond); err != nil {
			return err
		}
	}
	for after := ""; ; {
		page, err := b.Members(ctx, 0, Contexts, after, 500)
		if err != nil || len(page) == 0 {
			return err
		}
		for _, text := range page {
			id, err := strconv.ParseUint(text, 10, 32)
			if err != nil {
				continue // nobody of us wrote it
			}
			if err := leap(ctx, b, SpaceOf(domain.TenantID(id))); err != nil {
				return err
			}
		}
		after = page[len(page)-1]
	}
}

func leap(ctx context.Context, b board.Board, space board.Space) error {
	for cursor := ""; ; {
		counters, next, err := b.Counters(ctx, space, cursor, 500)
		if err != nil {
			return err
		}
		for _, c := range counters {
			if _, err := b.Next(ctx, space, c.Key, board.EpochLeap); err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			return nil
		}
	}
}
