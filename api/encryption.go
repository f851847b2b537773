package api

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// Encryption is what is asked of the keys of contexts.
type Encryption interface {
	Encryption(ctx context.Context, tenant domain.TenantID) (e domain.Encryption, ever bool, err error)
	Encrypt(ctx context.Context, tenant domain.TenantID, secret string, by domain.ActorID) (domain.Encryption, error)
	Rekey(ctx context.Context, tenant domain.TenantID, by domain.ActorID) (domain.Encryption, error)
	Decrypt(ctx context.Context, tenant domain.TenantID, by domain.ActorID) (domain.Encryption, error)
}

// ShownContext is the answer to context.show.
type ShownContext struct {
	domain.Tenant
	// Encryption is how its payloads lie on disk; left out where they were always
	// plain.
	Encryption *domain.Encryption `json:"encryption,omitzero"`
}

// EncryptParams are those of context.encrypt.
type EncryptParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Key is the name of a secret in the config files of the nodes: 32 random
	// bytes in base64 or hex.
	Key string `json:"key"`
}

func (p EncryptParams) auditDetail() string { return "key " + strconv.Quote(p.Key) }

// EncryptContext encrypts what a context keeps from now on, and soon what it has.
func (c Caller) EncryptContext(ctx context.Context, p EncryptParams) (domain.Encryption, error) {
	return c.encryption(ctx, p.Context, func(e Encryption) (domain.Encryption, error) {
		if err := domain.ValidateName("secret", p.Key); err != nil {
			return domain.Encryption{}, err
		}
		return e.Encrypt(ctx, p.Context, p.Key, c.who.Actor)
	})
}

// RekeyContext gives an encrypted context a new key.
func (c Caller) RekeyContext(ctx context.Context, p ContextParams) (domain.Encryption, error) {
	return c.encryption(ctx, p.Context, func(e Encryption) (domain.Encryption, error) { return e.Rekey(ctx, p.Context, c.who.Actor) })
}

// DecryptContext ends the encryption of a context.
func (c Caller) DecryptContext(ctx context.Context, p ContextParams) (domain.Encryption, error) {
	return c.encryption(ctx, p.Context, func(e Encryption) (domain.Encryption, error) { return e.Decrypt(ctx, p.Context, c.who.Actor) })
}

// encryption changes a context's encryption. Secrets are the operator's, and so
// is the disk that they are to protect.
func (c Caller) encryption(ctx context.Context, tenant domain.TenantID, change func(Encryption) (domain.Encryption, error)) (domain.Encryption, error) {
	if err := c.mayHere(ctx, identity.Administrate, domain.Tenant{ID: tenant}.Key()); err != nil {
		return domain.Encryption{}, err
	}
	if c.api.parts.Encryption == nil {
		return domain.Encryption{}, domain.Unavailablef("this node encrypts nothing")
	}
	if _, err := c.api.parts.Directory.Tenant(ctx, tenant); err != nil {
		return domain.Encryption{}, err
	}
	return change(c.api.parts.Encryption)
}
