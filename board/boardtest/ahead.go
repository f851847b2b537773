package boardtest

import (
	"context"
	"slices"
	"time"

	"github.com/ramet-run/ramet/board"
)

// Ahead is a board whose clock is ahead of this machine's by so much, or behind it: as
// one on a server, or on an etcd whose other nodes are right, is for a node whose own
// clock is wrong. What is compared with this machine's clock there comes out wrong. What
// a claim stamps is by the clock of the board within.
func Ahead(b board.Board, by time.Duration) board.Board { return ahead{b, by} }

type ahead struct {
	board.Board
	by time.Duration
}

func (a ahead) Now() time.Time { return a.Board.Now().Add(a.by) }

func (a ahead) Commit(ctx context.Context, batch board.Batch) error {
	return a.Board.Commit(ctx, a.inner(batch))
}

func (a ahead) CommitEach(ctx context.Context, batches []board.Batch) []error {
	all := make([]board.Batch, len(batches))
	for i := range batches {
		all[i] = a.inner(batches[i])
	}
	return a.Board.CommitEach(ctx, all)
}

// inner is a batch by the clock of the board within.
func (a ahead) inner(batch board.Batch) board.Batch {
	batch.Guards, batch.Ops = slices.Clone(batch.Guards), slices.Clone(batch.Ops)
	for i := range batch.Guards {
		if batch.Guards[i].Kind == board.GuardAlarm {
			batch.Guards[i].N -= a.by.Milliseconds()
		}
	}
	for i := range batch.Ops {
		if batch.Ops[i].Kind == board.OpSetAlarm {
			batch.Ops[i].N -= a.by.Milliseconds()
		}
	}
	return batch
}

func (a ahead) Due(ctx context.Context, limit int, wait time.Duration) ([]board.Alarm, error) {
	return a.outer(a.Board.Due(ctx, limit, wait))
}

func (a ahead) Alarms(ctx context.Context, after board.Alarm, limit int) ([]board.Alarm, error) {
	if after != (board.Alarm{}) {
		after.At = after.At.Add(-a.by)
	}
	return a.outer(a.Board.Alarms(ctx, after, limit))
}

// outer are alarms by the clock of this board.
func (a ahead) outer(list []board.Alarm, err error) ([]board.Alarm, error) {
	for i := range list {
		list[i].At = list[i].At.Add(a.by)
	}
	return list, err
}

func (a ahead) AlarmOf(ctx context.Context, space board.Space, name string) (time.Time, bool, error) {
	at, ok, err := a.Board.AlarmOf(ctx, space, name)
	if ok {
		at = at.Add(a.by)
	}
	return at, ok, err
}
