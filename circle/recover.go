package circle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// RecoverLease brings back a task whose lease has run out: its worker is dead,
// paused or cut off. It goes before what has not begun, and ends in error once
// it has lost too many workers. It reports whether the lease is one of a task.
func (e *Engine) RecoverLease(ctx context.Context, l board.Lease) (ours bool, err error) {
	id, ours := layout.ParseTask(l.Item)
	if !ours {
		return false, nil
	}
	err = e.recover(ctx, l, id)
	if errors.Is(err, domain.ErrConflict) {
		err = nil // renewed, finished, or another node was first
	}
	return true, err
}

func (e *Engine) recover(ctx context.Context, l board.Lease, id string) error {
	recs, err := e.board.Get(ctx, l.Space, l.Item)
	if err != nil {
		return err
	}
	t, list := layout.DecodeTask(id, recs[0]), listOf(recs[0])
	b := board.Batch{Space: l.Space}
	b.Lapsed(l.Item, l.Token).Release(l.Item)
	if recs[0] == nil || t.Final() || list == "" {
		return e.board.Commit(ctx, b)
	}
	b.Equal(l.Item, layout.TaskStatus, string(t.Status))
	b.Set(l.Item, lossesField(t.Losses+1))
	text := fmt.Sprintf("the worker was lost %d times, last %s; does the script kill its node?", t.Losses+1, l.Owner)
	if err := e.backOrEnd(ctx, b, t, list, text); err != nil {
		return err
	}
	e.log.Warn("lease of a task ran out", "task", id, "context", uint32(l.Space), "owner", l.Owner, "losses", t.Losses+1)
	return nil
}

// backOrEnd commits what becomes of a task that was lost once more, with the rest of a
// batch: it goes back, or ends where that was once too often or its circle cannot take it.
func (e *Engine) backOrEnd(ctx context.Context, rest board.Batch, t *domain.Task, list, text string) error {
	now, n := e.board.Now(), failed(text)
	commit := func(change func(b *board.Batch)) error {
		b := rest
		b.Ops = slices.Clone(rest.Ops)
		change(&b)
		return e.board.Commit(ctx, b)
	}
	if t.Losses+1 < e.cfg.MaxLosses {
		err := commit(func(b *board.Batch) { requeue(b, t, list, now) })
		if !errors.Is(err, domain.ErrInvalid) {
			return err
		}
		n = notBack(err)
	}
	err := commit(func(b *board.Batch) { e.end(b, t, n, now) })
	if errors.Is(err, domain.ErrInvalid) && t.ReplyToQueue != "" {
		e.log.Warn("no reply sent", "task", t.ID, "context", uint32(rest.Space), "reply_to_queue", t.ReplyToQueue, "err", err)
		quiet := *t
		quiet.ReplyToQueue = ""
		err = commit(func(b *board.Batch) { e.end(b, &quiet, n, now) })
	}
	return err
}

// notBack is the end of a task whose circle is none any more: something else lies there.
func notBack(err error) ending { return failed("it could not go back into its circle: " + err.Error()) }

// listOf is the list that a task belongs to: the one it was claimed from, or
// that of the circle it was submitted to; "" where neither is known.
func listOf(r board.Record) string {
	if list := r.Get(layout.TaskQueue); strings.HasPrefix(list, queue.CirclePrefix) {
		return list
	}
	if circle := r.Get(layout.TaskCircle); circle != "" {
		return queue.Circle(circle)
	}
	return ""
}
