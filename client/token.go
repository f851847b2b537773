package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Tokens lists the tokens of an actor that are known and have not run out; 0 is
// whoever asks.
//
// Errors: [domain.ErrForbidden] for another's, but to the operator.
func (c *Client) Tokens(ctx context.Context, actor domain.ActorID) (api.TokenPage, error) {
	return Call(ctx, c, api.TokenList, api.ListTokensParams{Actor: actor})
}

// NoteToken makes a token known that the caller has signed, so that it is listed
// by its name.
//
// Errors: [domain.ErrInvalid] for one that is not good at the node,
// [domain.ErrForbidden] for another's, [domain.ErrLimit].
func (c *Client) NoteToken(ctx context.Context, token string) (domain.Token, error) {
	return Call(ctx, c, api.TokenNote, api.NoteTokenParams{Token: token})
}

// RevokeToken ends a token, or all of an actor that were issued before now, at
// every node within a second.
//
// Errors: [domain.ErrForbidden] for another's, but to the operator;
// [domain.ErrNotFound] for the actor.
func (c *Client) RevokeToken(ctx context.Context, p api.RevokeTokenParams) (api.TokensRevoked, error) {
	return Call(ctx, c, api.TokenRevoke, p)
}
