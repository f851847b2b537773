package layout

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Choosers has a field for each caller of its space who has chosen the number of a job beyond
// those that were given out: what is the highest number says nothing of the counter then. Who
// does is put there before the job, and stays.
const Choosers = "ramet:choosers"

// Choose notes that a caller is one of them.
func Choose(b *board.Batch, caller domain.ActorID) {
	b.Set(Choosers, board.Field{Name: strconv.FormatUint(uint64(caller), 10), Value: "1"})
}

// Chooses reports whether a caller is one of them.
func Chooses(ctx context.Context, b board.Board, space board.Space, caller domain.ActorID) (bool, error) {
	recs, err := b.Get(ctx, space, Choosers)
	return err == nil && recs[0].Get(strconv.FormatUint(uint64(caller), 10)) != "", err
}
