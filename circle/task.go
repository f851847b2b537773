package circle

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// Show reads one task.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Show(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error) {
	t, _, err := e.load(ctx, layout.SpaceOf(tenant), id)
	return t, err
}

// load reads a task: some of its fields, or all where none are named.
func (e *Engine) load(ctx context.Context, space board.Space, id string, fields ...string) (*domain.Task, board.Record, error) {
	if err := domain.ValidateTaskID(id); err != nil {
		return nil, nil, err
	}
	get := e.board.Get
	if len(fields) > 0 {
		get = func(ctx context.Context, space board.Space, keys ...string) ([]board.Record, error) {
			return e.board.GetFields(ctx, space, fields, keys...)
		}
	}
	recs, err := get(ctx, space, layout.Task(id))
	if err != nil {
		return nil, nil, err
	}
	if recs[0] == nil {
		return nil, nil, domain.NotFoundf("task %q does not exist in context %d", id, space)
	}
	return layout.DecodeTask(id, recs[0]), recs[0], nil
}

// waitPoll is how often Wait looks without being told: the net under a watch.
const waitPoll = 15 * time.Second

// Wait returns the task once it has ended.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Wait(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error) {
	if err := e.Await(ctx, tenant, id); err != nil {
		return nil, err
	}
	return e.Show(ctx, tenant, id)
}

// Await returns once the task has ended. It reads its line alone: many may wait for a
// large one.
//
// Errors: [domain.ErrNotFound]; the context's.
func (e *Engine) Await(ctx context.Context, tenant domain.TenantID, id string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	events, err := e.board.Watch(ctx, layout.SpaceOf(tenant), layout.Task(id))
	if err != nil {
		return err
	}
	for {
		t, _, err := e.load(ctx, layout.SpaceOf(tenant), id, layout.TaskLine...)
		if err != nil || t.Final() {
			return err
		}
		poll := time.NewTimer(waitPoll)
		select {
		case _, open := <-events:
			if !open && ctx.Err() == nil {
				err = domain.Unavailablef("the board was closed")
			}
		case <-poll.C:
		case <-ctx.Done():
		}
		poll.Stop()
		if err := cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
	}
}

// deleteTries bounds how often a task is deleted again that moved meanwhile.
const deleteTries = 5

// Delete takes a task away: one that has ended with the replies that nobody has
// fetched; one that waits, from its circle too; one that runs is stopped, at once
// on this node, elsewhere within a third of its lease, and gives no reply.
//
// Errors: [domain.ErrNotFound].
func (e *Engine) Delete(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error) {
	space, key := layout.SpaceOf(tenant), layout.Task(id)
	for range deleteTries {
		t, rec, err := e.load(ctx, space, id)
		if err != nil {
			return nil, err
		}
		b := board.Batch{Space: space}
		b.Equal(key, layout.TaskStatus, rec.Get(layout.TaskStatus)).Delete(key)
		switch {
		case t.Final() && strings.HasPrefix(t.ReplyToQueue, layout.ReplyPrefix):
			b.Delete(t.ReplyToQueue)
		case t.Status == domain.TaskPending && t.Circle != "":
			faults, err := e.faults(ctx, space, []string{t.Circle})
			if err != nil {
				return nil, err
			}
			if faults[t.Circle] == "" {
				b.DropSome(queue.Circle(t.Circle), -1, id)
			}
		}
		err = e.board.Commit(ctx, b)
		if err == nil && t.Status == domain.TaskProcessing {
			e.stopHere(space, key)
		}
		if !errors.Is(err, domain.ErrConflict) {
			return t, err
		}
	}
	return nil, domain.Unavailablef("task %q changes too quickly; try again", id)
}
