package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Tokens is what the operations need of those who know the tokens of a node.
type Tokens interface {
	// List are the tokens of an actor that have not run out.
	List(ctx context.Context, actor domain.ActorID) ([]domain.Token, error)
	// Note makes a token known that an actor has signed.
	Note(ctx context.Context, by domain.ActorID, token string) (domain.Token, error)
}

// ListTokens lists tokens, the last used first.
func (c Caller) ListTokens(ctx context.Context, p api.ListTokensParams) (api.TokenPage, error) {
	actor, err := c.mayTokens(ctx, domain.VerbKnow, domain.VerbInspect, p.Actor)
	if err != nil {
		return api.TokenPage{}, err
	}
	list, err := c.api.parts.Tokens.List(ctx, actor)
	return api.TokenPage{Tokens: list}, err
}

// mayTokens asks for a right over the tokens of an actor, 0 for the caller's own:
// everybody has own over his, and the operator has others over all.
func (c Caller) mayTokens(ctx context.Context, own, others domain.Verb, actor domain.ActorID) (domain.ActorID, error) {
	if actor == 0 || actor == c.who.Actor {
		return c.who.Actor, c.mayOn(ctx, own, domain.Actor{ID: c.who.Actor}.Key())
	}
	return actor, c.mayOn(ctx, others, domain.Actor{ID: actor}.Key())
}

// mayOn is mayHere for what is done whatever duties the node has lost: a token
// that was stolen does not wait.
func (c Caller) mayOn(ctx context.Context, verb domain.Verb, object string) error {
	_, err := c.mayAlways(ctx, verb, 0, object)
	return err
}

// NoteToken makes a token of the caller's own known.
func (c Caller) NoteToken(ctx context.Context, p api.NoteTokenParams) (domain.Token, error) {
	if err := c.mayHere(ctx, domain.VerbOwn, domain.Actor{ID: c.who.Actor}.Key()); err != nil {
		return domain.Token{}, err
	}
	return c.api.parts.Tokens.Note(ctx, c.who.Actor, p.Token)
}

// RevokeToken ends tokens.
func (c Caller) RevokeToken(ctx context.Context, p api.RevokeTokenParams) (api.TokensRevoked, error) {
	actor, err := c.mayTokens(ctx, domain.VerbOwn, domain.VerbAdministrate, p.Actor)
	if err != nil {
		return api.TokensRevoked{}, err
	}
	out := api.TokensRevoked{Actor: actor, ID: p.ID, All: p.All}
	switch {
	case (p.ID == "") == !p.All:
		return out, domain.Invalidf("which tokens? want the id of one, or all: true")
	case p.All:
		return out, c.api.parts.Directory.As(c.who.Actor).RevokeTokens(ctx, actor)
	}
	return out, c.api.parts.Directory.As(c.who.Actor).RevokeToken(ctx, actor, p.ID)
}
