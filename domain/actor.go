package domain

import (
	"cmp"
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// Limits of an actor.
const (
	MaxAddresses = 16
	MaxAddress   = 255 // bytes
)

// Actor is an identity: a number and a public key. Actors are global to a
// board (space 0).
//
// Source: seeds 000 and 002, "Actor".
type Actor struct {
	ID ActorID `json:"id"`
	// Pubkey is an Ed25519 public key, 64 lower-case hex digits.
	Pubkey string `json:"pubkey"`
	// Address lists where the actor can be reached: Mycelium keys, bus nodes.
	Address   List[Address] `json:"address"`
	CreatedAt UnixTime      `json:"created_at"`
	UpdatedAt UnixTime      `json:"updated_at"`
}

// Address is a place where an actor can be reached.
type Address string

// Key is the actor's key on the board: "actor:12".
func (a Actor) Key() string { return "actor:" + strconv.FormatUint(uint64(a.ID), 10) }

// Validate checks what a caller gave.
//
// Errors: [ErrInvalid].
func (a Actor) Validate() error {
	if err := ValidatePubkey(a.Pubkey); err != nil {
		return err
	}
	if len(a.Address) > MaxAddresses {
		return Invalidf("actor has %d addresses, the limit is %d", len(a.Address), MaxAddresses)
	}
	for _, ad := range a.Address {
		if err := ad.Validate(); err != nil {
			return err
		}
	}
	return nil
}

// Validate checks what a caller gave: an address is free text, but one that
// begins with "node:" names a node by its key.
//
// Errors: [ErrInvalid].
func (a Address) Validate() error {
	if a == "" || len(a) > MaxAddress {
		return Invalidf("address %q: want 1 to %d bytes", string(a), MaxAddress)
	}
	if strings.HasPrefix(string(a), nodeScheme) && ValidatePubkey(a.Node()) != nil {
		return Invalidf("address %q: want node: and the node's public key as 64 lower-case hex digits", string(a))
	}
	return nil
}

// ActorChange is what of an actor is to be changed.
type ActorChange struct {
	// Pubkey is the new key; "" keeps the old one.
	Pubkey string `json:"pubkey,omitzero"`
	// Address is the new list of addresses; nil keeps the old one.
	Address *List[Address] `json:"address,omitzero"`
}

// With returns the actor with a change made to it.
//
// Errors: [ErrInvalid].
func (a Actor) With(c ActorChange) (Actor, error) {
	a.Pubkey = cmp.Or(c.Pubkey, a.Pubkey)
	set(&a.Address, c.Address)
	a.Address = once(a.Address)
	return a, a.Validate()
}

// ValidatePubkey checks the form of an Ed25519 public key in hex.
//
// Errors: [ErrInvalid].
func ValidatePubkey(s string) error {
	if b, err := hex.DecodeString(s); err != nil || len(b) != 32 || s != strings.ToLower(s) {
		return Invalidf("pubkey %q: want an Ed25519 public key as 64 lower-case hex digits", s)
	}
	return nil
}

// Touched returns the actor with its times set for a change at now.
func (a Actor) Touched(now time.Time) Actor {
	if a.CreatedAt == 0 {
		a.CreatedAt = At(now)
	}
	a.UpdatedAt = At(now)
	return a
}
