package work

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Prune removes the jobs of a context that ended before an instant, oldest
// first, with all that belongs to them. It returns how many.
func (e *Engine) Prune(ctx context.Context, tenant domain.TenantID, before time.Time) (removed int, err error) {
	space := layout.SpaceOf(tenant)
	for {
		length, err := e.board.Len(ctx, space, layout.Finished)
		if err != nil || length[0] == 0 {
			return removed, err
		}
		keys, err := e.board.List(ctx, space, layout.Finished, max(0, length[0]-listPage), listPage)
		if err != nil {
			return removed, err
		}
		n, err := e.prunePage(ctx, space, keys, before)
		removed += n
		if err != nil || n == 0 {
			return removed, err
		}
	}
}

// prunePage goes through the right end of the list of ended jobs, oldest
// first, and stops at the first that is too young. Entries are trimmed in the
// commit that removes their jobs, guarded by the count of all trims so far:
// two nodes that prune at once cannot trim what the other has not looked at.
func (e *Engine) prunePage(ctx context.Context, space board.Space, keys []string, before time.Time) (removed int, err error) {
	recs, err := e.board.Get(ctx, space, append(slices.Clone(keys), layout.Trimmed)...)
	if err != nil {
		return 0, err
	}
	trimmed := recs[len(keys)].Get(layout.TrimmedCount)
	b := board.Batch{Space: space}
	b.Equal(layout.Trimmed, layout.TrimmedCount, trimmed)
	for i, key := range slices.Backward(keys) {
		if young := e.pruneOne(&b, key, recs[i], before); young {
			break
		}
		removed++
		if len(b.Ops)+len(b.Guards) > board.MaxOps-16 {
			break
		}
	}
	if removed == 0 {
		return 0, nil
	}
	b.TrimRight(layout.Finished, removed)
	b.Add(layout.Trimmed, layout.TrimmedCount, int64(removed))
	if err := e.board.Commit(ctx, b); err != nil {
		if errors.Is(err, domain.ErrConflict) {
			err = nil // a job was started again, or another node prunes: the next round
		}
		return 0, err
	}
	return removed, nil
}

// pruneOne adds the removal of one entry's job. young is true when the job
// ended too recently.
func (e *Engine) pruneOne(b *board.Batch, key string, rec board.Record, before time.Time) (young bool) {
	id, err := domain.ParseJobKey(key)
	if rec == nil || err != nil {
		return false
	}
	j, _ := layout.DecodeJob(id, rec)
	if !j.Final() || j.FinishedMs == 0 {
		return false // it was started again; its next end puts it back on the list
	}
	if j.FinishedMs >= before.UnixMilli() {
		return true
	}
	b.Equal(key, layout.JobFinishedMs, millisText(j.FinishedMs))
	b.Delete(key).Delete(layout.Logs(id)).Delete(layout.Checkpoint(id))
	return false
}
