package board

import "context"

// Listed is [Board.GetFields] for keys that [Board.Keys] named. Something else than
// a record may lie under one of them: a foreign program's list, say. It is as if
// that one were not there (nil).
func Listed(ctx context.Context, b Board, space Space, fields, keys []string) ([]Record, error) {
	return Readable(b.GetFields(ctx, space, fields, keys...))
}

// StillLive reports whether an item that a page of [Board.Live] had is marked yet:
// what is looked at after the page may have ended and gone in between.
func StillLive(ctx context.Context, b Board, space Space, it LiveItem) (bool, error) {
	last := len(it.Item) - 1
	if last < 0 || it.Item[last] == 0 {
		return false, nil
	}
	// Nothing that the engine marks stands between this and the item.
	before := it.Item[:last] + string(rune(it.Item[last]-1)) + "~"
	page, err := b.Live(ctx, space, LiveItem{At: it.At, Item: before}, 1)
	return err == nil && len(page) == 1 && page[0].Item == it.Item && page[0].At.Equal(it.At), err
}
