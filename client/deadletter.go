package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// DeadLetters is a page of dead letters, without what they were; cursor is ""
// or the Next of the page before. Of the choice its filters count.
func (c *Client) DeadLetters(ctx context.Context, tenant domain.TenantID, f api.DeadLetterChoice, cursor string) (api.DeadLetterPage, error) {
	filter := api.DeadLetterFilter{Kind: f.Kind, Saga: f.Saga, Effect: f.Effect, Cause: f.Cause, BeforeMs: f.BeforeMs}
	return c.ListDeadLetters(ctx, api.ListDeadLettersParams{Context: tenant, DeadLetterFilter: filter, Cursor: cursor})
}

// ListDeadLetters is a page of dead letters, without what they were; the Next of a page is
// the cursor of the one after.
func (c *Client) ListDeadLetters(ctx context.Context, p api.ListDeadLettersParams) (api.DeadLetterPage, error) {
	return Call(ctx, c, api.DeadLetterList, p)
}

// DeadLetter is one dead letter with what it was.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeadLetter(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) (*domain.DeadLetter, error) {
	return Call(ctx, c, api.DeadLetterShow, api.DeadLetterParams{Context: tenant, Kind: kind, ID: id})
}

// ReplayDeadLetters gives dead letters another chance: one, or all that a
// filter fits, however many there are.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] for a choice of none.
func (c *Client) ReplayDeadLetters(ctx context.Context, tenant domain.TenantID, choice api.DeadLetterChoice) (api.DeadLettersDone, error) {
	return c.onDeadLetters(ctx, tenant, api.DeadLetterReplay, choice)
}

// DropDeadLetters forgets dead letters; an instance that one held goes on
// without it.
func (c *Client) DropDeadLetters(ctx context.Context, tenant domain.TenantID, choice api.DeadLetterChoice) (api.DeadLettersDone, error) {
	return c.onDeadLetters(ctx, tenant, api.DeadLetterDrop, choice)
}

func (c *Client) onDeadLetters(ctx context.Context, tenant domain.TenantID, op api.Op[api.ChooseDeadLettersParams, api.DeadLettersDone],
	choice api.DeadLetterChoice) (all api.DeadLettersDone, err error) {
	for {
		page, err := Call(ctx, c, op, api.ChooseDeadLettersParams{Context: tenant, DeadLetterChoice: choice})
		if err != nil {
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
