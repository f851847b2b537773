package service

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Circles is what the operations need of those who keep circles.
type Circles interface {
	Submit(ctx context.Context, tenant domain.TenantID, t *domain.Task) (existing bool, err error)
	Show(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error)
	Await(ctx context.Context, tenant domain.TenantID, id string) error
	Delete(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error)
	List(ctx context.Context, tenant domain.TenantID) ([]domain.Circle, error)
	Servers(ctx context.Context) (map[domain.ServedCircle][]string, error)
	Explain(ctx context.Context, tenant domain.TenantID, id string) (domain.TaskExplanation, error)
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error)
}

// ListCircles lists circles by name.
func (c Caller) ListCircles(ctx context.Context, p api.ListCirclesParams) (api.CirclePage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "circles"); err != nil {
		return api.CirclePage{}, err
	}
	circles, err := c.api.parts.Circles.List(ctx, p.Context)
	if err != nil {
		return api.CirclePage{}, err
	}
	servers, err := c.api.parts.Circles.Servers(ctx)
	list := api.CirclePage{}
	for _, one := range circles {
		list.Circles = append(list.Circles, api.Circle{Circle: one, Nodes: servers[domain.ServedCircle{Name: one.Name, Context: p.Context}]})
	}
	return list, err
}

// SubmitTask puts a task into a circle, in the caller's name.
func (c Caller) SubmitTask(ctx context.Context, p api.SubmitTaskParams) (api.TaskSubmitted, error) {
	if _, err := c.may(ctx, domain.VerbCreate, p.Context, "circle:"+p.Circle); err != nil {
		return api.TaskSubmitted{}, err
	}
	t := &domain.Task{ID: cmp.Or(p.ID, c.once.name(0), rand.Text()), Circle: p.Circle, CallerID: c.who.Actor, Script: p.Script, ClientRPCID: p.ClientRPCID,
		ReplyToQueue: p.ReplyToQueue}
	out := api.TaskSubmitted{TaskID: t.ID, Durability: c.api.parts.Durability()}
	return makes(ctx, c, thingOf(p.Context, layout.Task(t.ID), ""), func(ctx context.Context) (_ api.TaskSubmitted, err error) {
		out.Existing, err = c.api.parts.Circles.Submit(ctx, p.Context, t)
		return out, err
	}, func(context.Context, made) (api.TaskSubmitted, error) { // whatever became of it: tasks that ended go
		out.Existing = true
		return out, nil
	})
}

// mayTask asks for a right on a task.
func (c Caller) mayTask(ctx context.Context, verb domain.Verb, p api.TaskParams) error {
	_, err := c.may(ctx, verb, p.Context, layout.Task(p.ID))
	return err
}

// ShowTask reads one task.
func (c Caller) ShowTask(ctx context.Context, p api.TaskParams) (*domain.Task, error) {
	if err := c.mayTask(ctx, domain.VerbRead, p); err != nil {
		return nil, err
	}
	return c.api.parts.Circles.Show(ctx, p.Context, p.ID)
}

// WaitTask waits for a task's end for a while, and returns it as it stands then.
func (c Caller) WaitTask(ctx context.Context, p api.WaitTaskParams) (*domain.Task, error) {
	if err := c.mayTask(ctx, domain.VerbRead, p.TaskParams); err != nil {
		return nil, err
	}
	most := cmp.Or(time.Duration(p.TimeoutMs)*time.Millisecond, waitMost)
	if most < 0 || most > waitMost {
		return nil, domain.Invalidf("timeout_ms %d: want 0 to %d; ask again to wait longer", p.TimeoutMs, waitMost.Milliseconds())
	}
	waiting, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	err := c.api.parts.Circles.Await(waiting, p.Context, p.ID)
	if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
		return nil, err
	}
	if err := c.begin(ctx, p.Context); err != nil {
		return nil, err
	}
	return c.ShowTask(ctx, p.TaskParams) // asks again: the right may be gone
}

// DeleteTask takes a task away, whatever it is doing.
func (c Caller) DeleteTask(ctx context.Context, p api.TaskParams) (*domain.Task, error) {
	if err := c.mayTask(ctx, domain.VerbDelete, p); err != nil {
		return nil, err
	}
	return c.api.parts.Circles.Delete(ctx, p.Context, p.ID)
}

// ExplainTask says why a task is where it is.
func (c Caller) ExplainTask(ctx context.Context, p api.TaskParams) (domain.TaskExplanation, error) {
	if err := c.mayTask(ctx, domain.VerbRead, p); err != nil {
		return domain.TaskExplanation{}, err
	}
	return c.api.parts.Circles.Explain(ctx, p.Context, p.ID)
}
