package circle

import (
	"context"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/lease"
	"github.com/ramet-run/ramet/queue"
)

// claimer takes the tasks of one circle.
type claimer struct {
	w      *Worker
	circle domain.ServedCircle
	list   string
	ask    board.Ask
}

func newClaimer(w *Worker, c domain.ServedCircle) *claimer {
	list := queue.Circle(c.Name)
	return &claimer{
		w: w, circle: c, list: list,
		ask: board.Ask{
			Queues: []board.Queue{{Lists: []string{list}}},
			Spaces: []board.Space{layout.SpaceOf(c.Context)},
			Owner:  w.cfg.Owner,
			Lease:  w.cfg.Lease,
			Wait:   lease.Wait,
			Mark:   []board.Field{{Name: layout.TaskStatus, Value: string(domain.TaskProcessing)}},
			Stamp:  []string{layout.TaskUpdatedAt},
			Skip:   board.Match{Field: layout.TaskStatus, Values: []string{string(domain.TaskCompleted), string(domain.TaskError)}},
		},
	}
}

// Open waits until the claimer may claim; false is that ctx has ended.
func (c *claimer) Open(ctx context.Context) bool {
	for ctx.Err() == nil {
		may, turned := c.w.cfg.May()
		banned, changed := c.w.cfg.Banned(c.circle.Context)
		if may && !banned {
			return true
		}
		select {
		case <-turned:
		case <-changed:
		case <-ctx.Done():
		}
	}
	return false
}

// Room is all that is free.
func (c *claimer) Room(free int) int { return free }

// Claim waits for up to n tasks.
func (c *claimer) Claim(ctx context.Context, n int) ([]board.Claimed, error) {
	ask := c.ask
	ask.Max = n
	return c.w.e.board.Claim(ctx, ask)
}

// Work is a run of a task.
func (c *claimer) Work(board.Claimed) *run { return &run{w: c.w, claimer: c} }

// Begin has nothing to do with tasks that were claimed together.
func (c *claimer) Begin([]*run) {}

// Failed tells people that the board could not be asked.
func (c *claimer) Failed(err error) {
	c.w.log.Warn("no tasks taken", "circle", c.circle.Name, "context", uint32(c.circle.Context), "err", err)
}
