package api

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"time"

	"github.com/ramet-run/ramet/circle"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
)

// Circles is what the operations need of those who keep circles.
type Circles interface {
	Submit(ctx context.Context, tenant domain.TenantID, t *domain.Task) (existing bool, err error)
	Show(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error)
	Await(ctx context.Context, tenant domain.TenantID, id string) error
	Delete(ctx context.Context, tenant domain.TenantID, id string) (*domain.Task, error)
	List(ctx context.Context, tenant domain.TenantID) ([]circle.Circle, error)
	Servers(ctx context.Context) (map[domain.ServedCircle][]string, error)
	Explain(ctx context.Context, tenant domain.TenantID, id string) (circle.Explanation, error)
	Audit(ctx context.Context, tenant domain.TenantID, rest int) (domain.Audit, error)
}

// TaskInput asks for a script to be run by whoever serves a circle.
//
//	GET    /v1/contexts/{context}/circles                    CircleList
//	POST   /v1/contexts/{context}/circles/{circle}/tasks     TaskInput -> TaskSubmitted
//	GET    /v1/contexts/{context}/tasks/{task}               domain.Task
//	GET    /v1/contexts/{context}/tasks/{task}/wait          domain.Task, once it has ended, or as it stands after ?timeout_ms= (default 60,000)
//	GET    /v1/contexts/{context}/tasks/{task}/explain       TaskExplanation
//	DELETE /v1/contexts/{context}/tasks/{task}               domain.Task, as it was
type TaskInput struct {
	Script string `json:"script"`
	// ID names the task; the same one can be submitted again without harm.
	// Default: one is made.
	ID string `json:"task_id,omitzero"`
	// ClientRPCID comes back with the reply.
	ClientRPCID string `json:"client_rpc_id,omitzero"`
	// ReplyToQueue is a list that gets a message at the end, for programs that
	// speak to the board as to Redis. Default: none.
	ReplyToQueue string `json:"reply_to_queue,omitzero"`
}

// TaskSubmitted is the answer.
type TaskSubmitted struct {
	TaskID   string `json:"task_id"`
	Existing bool   `json:"existing,omitzero"`
	// Durability is what the acknowledged task survives: memory, process, disk, quorum.
	Durability string `json:"durability"`
}

// CircleList lists the circles of a context.
type CircleList struct {
	Circles domain.List[Circle] `json:"circles"`
}

// Circle is one circle, and which nodes serve it. Foreign workers do not tell.
type Circle struct {
	circle.Circle
	Nodes domain.List[string] `json:"nodes"`
}

// TaskExplanation answers what an unfinished task waits for.
type TaskExplanation = circle.Explanation

// ListCirclesParams are those of circle.list.
type ListCirclesParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// ListCircles lists circles by name.
func (c Caller) ListCircles(ctx context.Context, p ListCirclesParams) (CircleList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "circles"); err != nil {
		return CircleList{}, err
	}
	circles, err := c.api.parts.Circles.List(ctx, p.Context)
	if err != nil {
		return CircleList{}, err
	}
	servers, err := c.api.parts.Circles.Servers(ctx)
	list := CircleList{}
	for _, one := range circles {
		list.Circles = append(list.Circles, Circle{one, servers[domain.ServedCircle{Name: one.Name, Context: p.Context}]})
	}
	return list, err
}

// SubmitTaskParams are those of circle.submit.
type SubmitTaskParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Circle  string          `json:"-" path:"circle"`
	TaskInput
}

// SubmitTask puts a task into a circle, in the caller's name.
func (c Caller) SubmitTask(ctx context.Context, p SubmitTaskParams) (TaskSubmitted, error) {
	if _, err := c.may(ctx, identity.Create, p.Context, "circle:"+p.Circle); err != nil {
		return TaskSubmitted{}, err
	}
	t := &domain.Task{ID: cmp.Or(p.ID, c.once.name(0), rand.Text()), Circle: p.Circle, CallerID: c.who.Actor, Script: p.Script, ClientRPCID: p.ClientRPCID,
		ReplyToQueue: p.ReplyToQueue}
	existing, err := c.api.parts.Circles.Submit(ctx, p.Context, t)
	if err != nil {
		return TaskSubmitted{}, err
	}
	return TaskSubmitted{TaskID: t.ID, Existing: existing, Durability: c.api.parts.Info().Durability}, nil
}

// TaskParams name a task.
type TaskParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	ID      string          `json:"-" path:"task"`
}

// mayTask asks for a right on a task.
func (c Caller) mayTask(ctx context.Context, verb identity.Verb, p TaskParams) error {
	_, err := c.may(ctx, verb, p.Context, layout.Task(p.ID))
	return err
}

// ShowTask reads one task.
func (c Caller) ShowTask(ctx context.Context, p TaskParams) (*domain.Task, error) {
	if err := c.mayTask(ctx, identity.Read, p); err != nil {
		return nil, err
	}
	return c.api.parts.Circles.Show(ctx, p.Context, p.ID)
}

// WaitTaskParams are those of circle.wait.
type WaitTaskParams struct {
	TaskParams
	// TimeoutMs is how long to wait, up to 60,000. 0: that.
	TimeoutMs int64 `json:"-" query:"timeout_ms"`
}

// WaitTask waits for a task's end for a while, and returns it as it stands then.
func (c Caller) WaitTask(ctx context.Context, p WaitTaskParams) (*domain.Task, error) {
	if err := c.mayTask(ctx, identity.Read, p.TaskParams); err != nil {
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
func (c Caller) DeleteTask(ctx context.Context, p TaskParams) (*domain.Task, error) {
	if err := c.mayTask(ctx, identity.Delete, p); err != nil {
		return nil, err
	}
	return c.api.parts.Circles.Delete(ctx, p.Context, p.ID)
}

// ExplainTask says why a task is where it is.
func (c Caller) ExplainTask(ctx context.Context, p TaskParams) (TaskExplanation, error) {
	if err := c.mayTask(ctx, identity.Read, p); err != nil {
		return TaskExplanation{}, err
	}
	return c.api.parts.Circles.Explain(ctx, p.Context, p.ID)
}
