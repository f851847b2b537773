package client

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Circle is a circle of a context: it runs Rhai scripts wherever it is served.
type Circle struct {
	client *Client
	tenant domain.TenantID
	name   string
}

// Circle is a circle by its name. It need not have been used before.
func (c *Client) Circle(tenant domain.TenantID, name string) *Circle {
	return &Circle{client: c, tenant: tenant, name: name}
}

// Circles lists the circles of a context.
func (c *Client) Circles(ctx context.Context, tenant domain.TenantID) (api.CirclePage, error) {
	return Call(ctx, c, api.CircleList, api.ListCirclesParams{Context: tenant})
}

// TaskError is the end of a script that did not complete.
type TaskError struct{ Task *domain.Task }

func (e *TaskError) Error() string { return e.Task.Error }

// cleanUp bounds how long Run tries to take its task away.
const cleanUp = 5 * time.Second

// Run runs a script and returns what it gave: texts as they are, anything else
// as JSON. It waits as long as ctx lives, and leaves nothing behind: a script
// that nobody waits for any more is stopped.
//
// Errors: *[TaskError]; those of [Circle.Submit]; the context's.
func (c *Circle) Run(ctx context.Context, script string) (output string, err error) {
	// The id is ours: a task is taken away even if the answer to Submit is lost.
	id := rand.Text()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUp)
		defer cancel()
		_, _ = c.Delete(ctx, id) // what stays expires
	}()
	if _, err := c.Submit(ctx, api.TaskInput{ID: id, Script: script}); err != nil {
		return "", err
	}
	t, err := c.Wait(ctx, id)
	switch {
	case err != nil:
		return "", err
	case t.Status != domain.TaskCompleted:
		return "", &TaskError{t}
	}
	return t.Output, nil
}

// Submit puts a task into the circle. It is durable when it returns.
//
// Errors: [domain.ErrInvalid], [domain.ErrForbidden]; [domain.ErrConflict] when
// another task has the id.
func (c *Circle) Submit(ctx context.Context, in api.TaskInput) (api.TaskSubmitted, error) {
	return Call(ctx, c.client, api.CircleSubmit, api.SubmitTaskParams{Context: c.tenant, Circle: c.name, TaskInput: in})
}

// Task is one task as it stands.
//
// Errors: [domain.ErrNotFound].
func (c *Circle) Task(ctx context.Context, id string) (*domain.Task, error) {
	return Call(ctx, c.client, api.CircleShow, c.task(id))
}

// Wait returns the task once it has ended, however long that takes. It goes on
// waiting when the connection breaks and the node is there again soon.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Circle) Wait(ctx context.Context, id string) (*domain.Task, error) {
	return await(ctx, func() (*domain.Task, error) { return c.Task(ctx, id) }, func() (*domain.Task, error) {
		return Call(ctx, c.client, api.CircleWait, api.WaitTaskParams{TaskParams: c.task(id)})
	}, (*domain.Task).Final)
}

// Delete takes a task away, whatever it is doing, and returns it as it was.
//
// Errors: [domain.ErrNotFound].
func (c *Circle) Delete(ctx context.Context, id string) (*domain.Task, error) {
	return Call(ctx, c.client, api.CircleDelete, c.task(id))
}

// Explain says why a task is where it is.
//
// Errors: [domain.ErrNotFound].
func (c *Circle) Explain(ctx context.Context, id string) (domain.TaskExplanation, error) {
	return Call(ctx, c.client, api.CircleExplain, c.task(id))
}

func (c *Circle) task(id string) api.TaskParams { return api.TaskParams{Context: c.tenant, ID: id} }
