package circle

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/pause"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// This file gives an end to tasks that only other programs had in hand: a
// foreign worker ended them, or their client never pushed them, or pushed them
// to a worker that is gone. Nothing of ours would ever look at their records.

// leftoverEvery is the least pause between two looks for them in a context: all
// its tasks are looked through.
const leftoverEvery = time.Hour

// leftovers lets what nobody has any more expire like what ended in our hands.
func (a *auditor) leftovers(ctx context.Context, rest int) error {
	if last, known := a.swept.Load(a.space); known && a.now.Sub(last.(time.Time)) < leftoverEvery {
		return nil
	}
	left := map[string]board.Record{}
	for cursor := ""; ; {
		begun := time.Now()
		keys, next, err := a.board.Keys(ctx, a.space, queue.TaskPrefix, cursor, listPage)
		if err == nil {
			err = a.leftOf(ctx, keys, left)
		}
		if err != nil {
			return err
		}
		if cursor = next; cursor == "" || len(left) >= auditDoubts {
			break
		}
		if rest > 0 {
			pause.For(ctx, time.Since(begun)*time.Duration(rest))
		}
	}
	if err := a.leaveQueued(ctx, left); err != nil {
		return err
	}
	for key, rec := range left {
		b := board.Batch{Space: a.space}
		b.Free(key).Equal(key, layout.TaskStatus, rec.Get(layout.TaskStatus)).Equal(key, layout.TaskUpdatedAt, rec.Get(layout.TaskUpdatedAt))
		b.Settle(key).Expire(key, a.cfg.Retention)
		if err := a.board.Commit(ctx, b); err != nil && !errors.Is(err, domain.ErrConflict) {
			return err
		}
	}
	a.swept.Store(a.space, a.now)
	return ctx.Err()
}

// leftOf adds to left which of the tasks do not expire although nobody may have
// them. Those that came through Ramet are audited by themselves.
func (a *auditor) leftOf(ctx context.Context, keys []string, left map[string]board.Record) error {
	stats, err := a.board.Stat(ctx, a.space, keys...)
	if err != nil {
		return err
	}
	var lasting []string
	for i, s := range stats {
		stuck := func(f domain.Finding) bool { return f.Key == keys[i] }
		if s.Kind == board.KindRecord && s.Expires.IsZero() && !slices.ContainsFunc(a.report.Stuck, stuck) {
			lasting = append(lasting, keys[i])
		}
	}
	if len(lasting) == 0 {
		return nil
	}
	recs, err := board.Listed(ctx, a.board, a.space, taskLine, lasting)
	if err != nil {
		return err
	}
	for i, rec := range recs {
		t := layout.DecodeTask("", rec)
		written := max(t.CreatedAt, t.UpdatedAt).Time() // its client may be about to push it
		if rec != nil && t.LeaseOwner == "" && (t.Final() || t.Circle == "") && a.now.Sub(written) >= auditAge {
			left[lasting[i]] = rec
		}
	}
	return nil
}

// leaveQueued takes out of left what waits in a circle.
func (a *auditor) leaveQueued(ctx context.Context, left map[string]board.Record) error {
	for cursor := ""; len(left) > 0; {
		lists, next, err := a.board.Keys(ctx, a.space, queue.CirclePrefix, cursor, listPage)
		if err != nil {
			return err
		}
		stats, err := a.board.Stat(ctx, a.space, lists...)
		if err != nil {
			return err
		}
		for i, list := range lists {
			if stats[i].Kind != board.KindList {
				continue
			}
			err := a.scan(ctx, a.space, list, func(id string) bool {
				if key := layout.Task(id); !domain.TaskStatus(left[key].Get(layout.TaskStatus)).Final() {
					delete(left, key)
				}
				return len(left) > 0
			})
			if err != nil {
				return err
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	return nil
}
