package bulk

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func revisionText(n int64) string { return strconv.FormatInt(n, 10) }

// HandleAlarm does the next part of a bulk operation. It reports whether the alarm is
// one of them.
func (e *Engine) HandleAlarm(ctx context.Context, a board.Alarm) (ours bool, err error) {
	id, ours := layout.ParseBulkAlarm(a.Name)
	if !ours || a.Space == 0 {
		return false, nil
	}
	tenant := domain.TenantID(a.Space)
	b, cursor, revision, err := e.read(ctx, tenant, id)
	switch {
	case errors.Is(err, domain.ErrNotFound) || err == nil && b.Final():
		batch := board.Batch{Space: a.Space}
		return true, unlessChanged(e.board.Commit(ctx, *batch.AlarmAt(a.Name, a.At).ClearAlarm(a.Name)))
	case err != nil:
		return true, err
	}
	doer := e.doer.Load()
	if doer == nil {
		return true, domain.Unavailablef("this node is not ready for bulk operations yet")
	}
	batch := held(tenant, id, revision).AlarmAt(a.Name, a.At)
	next, err := part(ctx, *doer, b, cursor)
	switch {
	case err != nil && (again(err) || ctx.Err() != nil):
		return true, err // the alarm comes again
	case err != nil:
		b.Status, b.Error = domain.BulkError, domain.CutText(err.Error(), 1<<10)
		over(batch, b, cursor, revision)
	case next == "":
		b.Status = domain.BulkFinished
		over(batch, b, next, revision)
	default:
		batch.Set(layout.Bulk(id), layout.EncodeBulk(b, next, revision+1)...).SetAlarm(a.Name, later(a.At, e.board.Now()))
	}
	if err := e.board.Commit(ctx, *batch); err != nil {
		return true, unlessChanged(err)
	}
	if b.Final() {
		(*doer).Ended(b)
	}
	return true, nil
}

// later is now, but after an instant.
func later(at, now time.Time) time.Time {
	if now.UnixMilli() > at.UnixMilli() {
		return now
	}
	return at.Add(time.Millisecond)
}

// unlessChanged takes a conflict for what it is here: another node was first, or somebody
// has cancelled the operation.
func unlessChanged(err error) error {
	if errors.Is(err, domain.ErrConflict) {
		return nil
	}
	return err
}

// again reports whether what failed may go well later.
func again(err error) bool {
	return errors.Is(err, domain.ErrUnavailable) || errors.Is(err, domain.ErrExhausted) || errors.Is(err, context.DeadlineExceeded)
}

// part does the operation to the things of a page, and counts in b what became of them.
func part(ctx context.Context, d Doer, b *domain.Bulk, cursor string) (next string, err error) {
	keys, next, err := d.Find(ctx, b, cursor)
	if err != nil {
		return "", err
	}
	asked := *b // what is asked must not change while it is counted
	var mu sync.Mutex
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for _, key := range keys {
		g.Go(func() error {
			err := d.Do(ctx, &asked, key)
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				b.Done++
			case errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrNotFound):
				b.Skipped++
			case again(err) || errors.Is(err, domain.ErrForbidden) || ctx.Err() != nil:
				return err
			default:
				b.Failing(key, err.Error())
			}
			return nil
		})
	}
	return next, g.Wait()
}
