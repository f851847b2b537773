package api

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// Tokens is what the operations need of those who know the tokens of a node.
type Tokens interface {
	// List are the tokens of an actor that have not run out.
	List(ctx context.Context, actor domain.ActorID) ([]domain.Token, error)
	// Note makes a token known that an actor has signed.
	Note(ctx context.Context, by domain.ActorID, token string) (domain.Token, error)
}

// TokenList is the tokens of an actor: those made known at the board, those used
// at the node that was asked, and those revoked.
//
//	GET  /v1/tokens?actor=
//	POST /v1/tokens          {"token": ""} -> domain.Token
//	POST /v1/tokens/revoke   {"id": ""} or {"all": true} -> TokensRevoked
type TokenList struct {
	Tokens domain.List[domain.Token] `json:"tokens"`
}

// ListTokensParams are those of token.list.
type ListTokensParams struct {
	// Actor is whose tokens are wanted. Default: the caller's.
	Actor domain.ActorID `json:"-" query:"actor"`
}

// ListTokens lists tokens, the last used first.
func (c Caller) ListTokens(ctx context.Context, p ListTokensParams) (TokenList, error) {
	actor, err := c.mayTokens(ctx, identity.Know, identity.Inspect, p.Actor)
	if err != nil {
		return TokenList{}, err
	}
	list, err := c.api.parts.Tokens.List(ctx, actor)
	return TokenList{list}, err
}

// mayTokens asks for a right over the tokens of an actor, 0 for the caller's own:
// everybody has own over his, and the operator has others over all.
func (c Caller) mayTokens(ctx context.Context, own, others identity.Verb, actor domain.ActorID) (domain.ActorID, error) {
	if actor == 0 || actor == c.who.Actor {
		return c.who.Actor, c.mayOn(ctx, own, domain.Actor{ID: c.who.Actor}.Key())
	}
	return actor, c.mayOn(ctx, others, domain.Actor{ID: actor}.Key())
}

// mayOn is mayHere for what is done whatever duties the node has lost: a token
// that was stolen does not wait.
func (c Caller) mayOn(ctx context.Context, verb identity.Verb, object string) error {
	_, err := c.mayAlways(ctx, verb, 0, object)
	return err
}

// NoteTokenParams are those of token.note.
type NoteTokenParams struct {
	Token string `json:"token"`
}

// NoteToken makes a token of the caller's own known.
func (c Caller) NoteToken(ctx context.Context, p NoteTokenParams) (domain.Token, error) {
	if err := c.mayHere(ctx, identity.Own, domain.Actor{ID: c.who.Actor}.Key()); err != nil {
		return domain.Token{}, err
	}
	return c.api.parts.Tokens.Note(ctx, c.who.Actor, p.Token)
}

// RevokeTokenParams are those of token.revoke: a token by its id, or all that
// were issued before now.
type RevokeTokenParams struct {
	// Actor is whose. Default: the caller's.
	Actor domain.ActorID `json:"actor,omitzero"`
	ID    string         `json:"id,omitzero"`
	All   bool           `json:"all,omitzero"`
}

// TokensRevoked answers token.revoke.
type TokensRevoked struct {
	Actor domain.ActorID `json:"actor"`
	ID    string         `json:"id,omitzero"`
	All   bool           `json:"all,omitzero"`
}

// RevokeToken ends tokens.
func (c Caller) RevokeToken(ctx context.Context, p RevokeTokenParams) (TokensRevoked, error) {
	actor, err := c.mayTokens(ctx, identity.Own, identity.Administrate, p.Actor)
	if err != nil {
		return TokensRevoked{}, err
	}
	out := TokensRevoked{actor, p.ID, p.All}
	switch {
	case (p.ID == "") == !p.All:
		return out, domain.Invalidf("which tokens? want the id of one, or all: true")
	case p.All:
		return out, c.api.parts.Directory.As(c.who.Actor).RevokeTokens(ctx, actor)
	}
	return out, c.api.parts.Directory.As(c.who.Actor).RevokeToken(ctx, actor, p.ID)
}
