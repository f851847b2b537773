package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Tokens lists the tokens of an actor that are known and have not run out; 0 is
// whoever asks.
//
// Errors: [domain.ErrForbidden] for another's, but to the operator.
func (c *Client) Tokens(ctx context.Context, actor domain.ActorID) (api.TokenList, error) {
	q := url.Values{}
	if actor != 0 {
		q.Set("actor", id(actor))
	}
	var out api.TokenList
	err := c.call(ctx, http.MethodGet, "/v1/tokens", q, nil, &out)
	return out, err
}

// NoteToken makes a token known that the caller has signed, so that it is listed
// by its name.
//
// Errors: [domain.ErrInvalid] for one that is not good at the node,
// [domain.ErrForbidden] for another's, [domain.ErrLimit].
func (c *Client) NoteToken(ctx context.Context, token string) (domain.Token, error) {
	var out domain.Token
	err := c.call(ctx, http.MethodPost, "/v1/tokens", nil, api.NoteTokenParams{Token: token}, &out)
	return out, err
}

// RevokeToken ends a token, or all of an actor that were issued before now, at
// every node within a second.
//
// Errors: [domain.ErrForbidden] for another's, but to the operator;
// [domain.ErrNotFound] for the actor.
func (c *Client) RevokeToken(ctx context.Context, p api.RevokeTokenParams) (api.TokensRevoked, error) {
	var out api.TokensRevoked
	err := c.call(ctx, http.MethodPost, "/v1/tokens/revoke", nil, p, &out)
	return out, err
}
