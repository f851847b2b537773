package api

import "github.com/ramet-run/ramet/domain"

// The operations on actors.
var (
	ActorCreate = op[CreatedActor](Operation{
		Name: "actor.create", Method: "POST", Path: "/v1/actors", Right: domain.VerbAdministrate, Keyed: true,
		Summary: "Register an actor by its public key.",
	}, CreateActorParams{Actor: domain.Actor{Pubkey: examplePubkey}})
	ActorList = op[ActorPage](Operation{
		Name: "actor.list", Method: "GET", Path: "/v1/actors", Right: domain.VerbInspect, Much: true,
		Summary: "List all actors.",
	}, ListActorsParams{Limit: 100})
	ActorShow = op[domain.Actor](Operation{
		Name: "actor.show", Method: "GET", Path: "/v1/actors/{actor}", Right: domain.VerbInspect,
		Summary: "Show an actor's public key: one's own; another's with a context in which the caller may send it messages.",
	}, ActorParams{Actor: 12})
	ActorUpdate = op[domain.Actor](Operation{
		Name: "actor.update", Method: "POST", Path: "/v1/actors/{actor}/update", Right: domain.VerbAdministrate, Holds: "actor.show",
		Summary: "Give an actor another key, or other addresses.",
	}, UpdateActorParams{Actor: 12, ActorChange: domain.ActorChange{Pubkey: examplePubkey}})
)

// CreateActorParams are the parameters of actor.create: the actor's fields. Id 0 is the
// next free one; its times are the board's.
type CreateActorParams struct {
	domain.Actor
}

// CreatedActor is the answer to actor.create.
type CreatedActor struct {
	domain.Actor
	// Existing is true when the same actor was there already.
	Existing bool `json:"existing"`
}

// UpdateActorParams are the parameters of actor.update: what is to be changed.
type UpdateActorParams struct {
	Actor domain.ActorID `json:"-" path:"actor"`
	domain.ActorChange
}

// ActorParams name an actor.
type ActorParams struct {
	Actor domain.ActorID `json:"-" path:"actor"`
	// Context, if given, is one in which the caller may send messages: their
	// messages are signed for a key.
	Context domain.TenantID `json:"-" query:"context"`
}

// ListActorsParams are the parameters of actor.list.
type ListActorsParams struct {
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is about how many a page has, up to 10,000. 0: that.
	Limit int `json:"-" query:"limit"`
}

// ActorPage lists actors.
type ActorPage struct {
	Actors []domain.Actor `json:"actors"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// examplePubkey is a key that nobody has.
const examplePubkey = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
