package client

import (
	"context"
	"net/http"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// DeadLetters is a page of dead letters, without what they were; cursor is ""
// or the Next of the page before. Of the choice its filters count.
func (c *Client) DeadLetters(ctx context.Context, tenant domain.TenantID, f api.DeadLetterChoice, cursor string) (api.DeadLetterList, error) {
	q := texts(map[string]string{"kind": string(f.Kind), "saga": f.Saga, "effect": f.Effect, "cause": f.Cause, "cursor": cursor})
	if f.BeforeMs != 0 {
		q.Set("before_ms", strconv.FormatInt(f.BeforeMs, 10))
	}
	var out api.DeadLetterList
	err := c.call(ctx, http.MethodGet, contextPath(tenant)+"/deadletters", q, nil, &out)
	return out, err
}

// DeadLetter is one dead letter with what it was.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeadLetter(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) (*domain.DeadLetter, error) {
	d := new(domain.DeadLetter)
	path := contextPath(tenant) + "/deadletters/" + segment(string(kind)) + "/" + segment(id)
	if err := c.call(ctx, http.MethodGet, path, nil, nil, d); err != nil {
		return nil, err
	}
	return d, nil
}

// ReplayDeadLetters gives dead letters another chance: one, or all that a
// filter fits, however many there are.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for a choice of none.
func (c *Client) ReplayDeadLetters(ctx context.Context, tenant domain.TenantID, choice api.DeadLetterChoice) (api.DeadLettersDone, error) {
	return c.onDeadLetters(ctx, tenant, "replay", choice)
}

// DropDeadLetters forgets dead letters; an instance that one held goes on
// without it.
func (c *Client) DropDeadLetters(ctx context.Context, tenant domain.TenantID, choice api.DeadLetterChoice) (api.DeadLettersDone, error) {
	return c.onDeadLetters(ctx, tenant, "drop", choice)
}

func (c *Client) onDeadLetters(ctx context.Context, tenant domain.TenantID, verb string, choice api.DeadLetterChoice) (all api.DeadLettersDone, err error) {
	for {
		var page api.DeadLettersDone
		if err := c.call(ctx, http.MethodPost, contextPath(tenant)+"/deadletters/"+verb, nil, choice, &page); err != nil {
			return all, err
		}
		all.Count, all.Done = all.Count+page.Count, all.Done+page.Done
		all.Failed = append(all.Failed, page.Failed...)
		if page.Next == "" || page.Next == choice.Cursor {
			return all, nil
		}
		choice.Cursor = page.Next
	}
}
