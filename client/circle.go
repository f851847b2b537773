package client

import (
	"context"
	"crypto/rand"
	"net/http"
	"net/url"
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
func (c *Client) Circles(ctx context.Context, tenant domain.TenantID) (api.CircleList, error) {
	var out api.CircleList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/circles", nil, nil, &out)
	return out, err
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
	var out api.TaskSubmitted
	path := contextPath(c.tenant) + "/circles/" + url.PathEscape(c.name) + "/tasks"
	err := c.client.call(ctx, http.MethodPost, path, nil, in, &out)
	return out, err
}

// Task is one task as it stands.
//
// Errors: [domain.ErrNotFound].
func (c *Circle) Task(ctx context.Context, id string) (*domain.Task, error) {
	return c.task(ctx, http.MethodGet, id)
}

// Wait returns the task once it has ended, however long that takes. It goes on
// waiting when the connection breaks and the node is there again soon.
//
// Errors: [domain.ErrNotFound], [domain.ErrUnavailable].
func (c *Circle) Wait(ctx context.Context, id string) (*domain.Task, error) {
	return await(ctx, c.client, c.path(id), (*domain.Task).Final)
}

// Delete takes a task away, whatever it is doing, and returns it as it was.
//
// Errors: [domain.ErrNotFound].
func (c *Circle) Delete(ctx context.Context, id string) (*domain.Task, error) {
	return c.task(ctx, http.MethodDelete, id)
}

// Explain says why a task is where it is.
//
// Errors: [domain.ErrNotFound].
func (c *Circle) Explain(ctx context.Context, id string) (api.TaskExplanation, error) {
	var out api.TaskExplanation
	err := c.client.call(ctx, http.MethodGet, c.path(id)+"/explain", nil, nil, &out)
	return out, err
}

func (c *Circle) task(ctx context.Context, method, id string) (*domain.Task, error) {
	var t domain.Task
	if err := c.client.call(ctx, method, c.path(id), nil, nil, &t); err != nil {
		return nil, err
	}
	return &t, nil
}

func (c *Circle) path(id string) string {
	return contextPath(c.tenant) + "/tasks/" + url.PathEscape(id)
}
