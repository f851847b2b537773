package circle

import (
	"context"
	"errors"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/queue"
)

// Submit puts a task into its circle. One that is there already, with the same
// script and from the same caller, is left as it is.
//
// Errors: [domain.ErrInvalid]; [domain.ErrConflict] when another task has the
// id, or a ban forbids it.
func (e *Engine) Submit(ctx context.Context, tenant domain.TenantID, t *domain.Task) (existing bool, err error) {
	if err := check(t); err != nil {
		return false, err
	}
	if err := e.cfg.Refuse(tenant); err != nil {
		return false, err
	}
	now := e.board.Now()
	t.Status, t.CreatedAt, t.UpdatedAt = domain.TaskPending, domain.At(now), domain.At(now)
	key := layout.Task(t.ID)
	b := board.Batch{Space: layout.SpaceOf(tenant)}
	b.Absent(key).Set(key, layout.EncodeTask(t)...)
	b.PushLeft(queue.Circle(t.Circle), t.ID).Live(key, now)
	again := e.announce(&b, t.Circle)
	err = e.board.Commit(ctx, b)
	if errors.Is(err, domain.ErrConflict) {
		return e.existing(ctx, tenant, t)
	}
	if err == nil && again {
		e.announced.Store(ref{b.Space, t.Circle}, time.Now())
	}
	return false, err
}

func check(t *domain.Task) error {
	if err := domain.ValidateCircle(t.Circle); err != nil {
		return err
	}
	if err := t.Validate(); err != nil {
		return err
	}
	if t.ReplyToQueue != "" && !layout.IsReply(t.ReplyToQueue) {
		return domain.Invalidf("reply_to_queue %q belongs to Ramet; want a list of your own, such as %s%s", t.ReplyToQueue, layout.ReplyPrefix, t.ID)
	}
	return nil
}

// existing looks at the task that has the id already.
func (e *Engine) existing(ctx context.Context, tenant domain.TenantID, t *domain.Task) (bool, error) {
	old, err := e.Show(ctx, tenant, t.ID)
	switch {
	case err != nil:
		return false, err
	case old.Script != t.Script || old.CallerID != t.CallerID || old.Circle != t.Circle:
		return false, domain.Conflictf("task %q exists in context %d with another script, circle or caller", t.ID, tenant)
	}
	*t = *old
	return true, nil
}

// announceEvery is how long a circle that was put among those of its context is not put there again.
// The set may be lost meanwhile, with an older copy of the board, and the audit goes by it.
const announceEvery = time.Minute

// announce puts a circle among those of its context, unless that was done a moment ago.
func (e *Engine) announce(b *board.Batch, circle string) (again bool) {
	last, known := e.announced.Load(ref{b.Space, circle})
	if known && time.Since(last.(time.Time)) < announceEvery {
		return false
	}
	b.Include(layout.Circles, circle)
	return true
}
