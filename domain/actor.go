package domain

import (
	"encoding/hex"
	"strconv"
	"strings"
	"time"
)

// MaxAddresses bounds an actor's reachable addresses.
const MaxAddresses = 16

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
		if ad == "" || len(ad) > 255 {
			return Invalidf("address %q: want 1 to 255 bytes", string(ad))
		}
	}
	return nil
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
