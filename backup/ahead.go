package backup

import (
	"context"
	"sync"

	"github.com/ramet-run/ramet/board"
)

// pagesAhead is how many pages are read while earlier ones are dealt with.
const pagesAhead = 4

// ahead is walk in a goroutine of its own: one page is read while another is written.
func ahead(ctx context.Context, b board.Board, f func([]item) error) (skipped int64, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pages := make(chan []item, pagesAhead) // closed by the reader
	var reader sync.WaitGroup
	var failed error
	reader.Go(func() {
		defer close(pages)
		skipped, failed = walk(ctx, b, func(list []item) error {
			select {
			case pages <- list:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		})
	})
	for list := range pages {
		if err = f(list); err != nil {
			break
		}
	}
	if err != nil {
		cancel()
	}
	reader.Wait()
	if err == nil {
		err = failed
	}
	return skipped, err
}
