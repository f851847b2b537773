package api

import "github.com/ramet-run/ramet/domain"

// The operations on tokens.
var (
	TokenList = op[TokenPage](Operation{
		Name: "token.list", Method: "GET", Path: "/v1/tokens", Right: domain.VerbKnow, Much: true,
		Summary: "List one's tokens that are known, and which were revoked; the operator those of any actor.",
		Errors:  []error{domain.ErrNotFound},
	}, ListTokensParams{Actor: 12})
	TokenNote = op[domain.Token](Operation{
		Name: "token.note", Method: "POST", Path: "/v1/tokens", Right: domain.VerbOwn,
		Summary: "Make a token known that one has signed, so that it is listed by its name.", Again: true,
		Errors: []error{domain.ErrLimit},
	}, NoteTokenParams{Token: "eyJhbGciOiJFZERTQSJ9.e30.AA"})
	TokenRevoke = op[TokensRevoked](Operation{
		Name: "token.revoke", Method: "POST", Path: "/v1/tokens/revoke", Right: domain.VerbOwn,
		Summary: "End a token of one's own, or all that were issued before now, at every node within a second; the operator those of any actor.",
		Errors:  []error{domain.ErrNotFound},
	}, RevokeTokenParams{Actor: 12, All: true})
)

// TokenPage is the tokens of an actor: those made known at the board, those used
// at the node that was asked, and those revoked.
type TokenPage struct {
	Tokens domain.List[domain.Token] `json:"tokens"`
}

// ListTokensParams are the parameters of token.list.
type ListTokensParams struct {
	// Actor is whose tokens are wanted. Default: the caller's.
	Actor domain.ActorID `json:"-" query:"actor"`
}

// NoteTokenParams are the parameters of token.note.
type NoteTokenParams struct {
	Token string `json:"token"`
}

// RevokeTokenParams are the parameters of token.revoke: a token by its id, or all that
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
