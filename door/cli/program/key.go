package program

import (
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// This file has what the command line does with keys.

// newKey is [identity.CreateKey].
func newKey(path string, register func(pubkey string) (domain.ActorID, error)) (pubkey, mycelium string, err error) {
	key, err := identity.CreateKey(path, register)
	if err != nil {
		return "", "", err
	}
	return key.Pubkey(), key.Mycelium(), nil
}

// token signs a token with a key file.
func token(keyFile, audience string, ttl time.Duration, claims identity.Claims) (string, error) {
	key, err := identity.LoadKey(keyFile)
	if err != nil {
		return "", err
	}
	return identity.MintFor(key, audience, time.Now(), ttl, claims)
}

// signMessage signs a message with a key file, in the name of its actor.
func signMessage(keyFile string, m *domain.Message) error {
	key, err := identity.LoadKey(keyFile)
	if err != nil {
		return err
	}
	m.CallerID = key.Actor
	return identity.SignMessage(key, m)
}

// rekey makes new link keys for the node of a data folder.
func rekey(dataDir string) (bus, stream string, err error) {
	b, s, err := identity.RenewLinks(dataDir)
	if err != nil {
		return "", "", err
	}
	return b.Pubkey(), s.Pubkey(), nil
}
