package cli

import (
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// onMycelium is how a Mycelium network knows an actor, once a daemon there has
// its key.
type onMycelium struct {
	Mycelium        string `json:"mycelium,omitzero"` // X25519 public key
	MyceliumAddress string `json:"mycelium_address,omitzero"`
}

// shownActor is an actor with what follows from its key.
type shownActor struct {
	domain.Actor
	onMycelium
}

func shown(actor domain.Actor) shownActor {
	key, err := identity.X25519Pubkey(actor.Pubkey)
	if err != nil { // registered all the same, but nobody can agree on secrets with it
		return shownActor{Actor: actor}
	}
	return shownActor{actor, onMyceliumAs(key)}
}

func onMyceliumAs(key string) onMycelium {
	m := onMycelium{Mycelium: key}
	if address, err := identity.MyceliumAddress(key); err == nil {
		m.MyceliumAddress = address.String()
	}
	return m
}

func (m onMycelium) fields(t *table) {
	t.field("mycelium", m.Mycelium)
	t.field("mycelium address", m.MyceliumAddress)
}
