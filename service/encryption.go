package service

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// Encryption is what is asked of the keys of contexts.
type Encryption interface {
	Encryption(ctx context.Context, tenant domain.TenantID) (e domain.Encryption, ever bool, err error)
	Encrypt(ctx context.Context, tenant domain.TenantID, secret string, by domain.ActorID) (domain.Encryption, error)
	Rekey(ctx context.Context, tenant domain.TenantID, by domain.ActorID) (domain.Encryption, error)
	Decrypt(ctx context.Context, tenant domain.TenantID, by domain.ActorID) (domain.Encryption, error)
}

// EncryptContext encrypts what a context keeps from now on, and soon what it has.
func (c Caller) EncryptContext(ctx context.Context, p api.EncryptParams) (domain.Encryption, error) {
	return c.encryption(ctx, p.Context, func(e Encryption) (domain.Encryption, error) {
		if err := domain.ValidateName("secret", p.Key); err != nil {
			return domain.Encryption{}, err
		}
		return e.Encrypt(ctx, p.Context, p.Key, c.who.Actor)
	})
}

// RekeyContext gives an encrypted context a new key.
func (c Caller) RekeyContext(ctx context.Context, p api.ContextParams) (domain.Encryption, error) {
	return c.encryption(ctx, p.Context, func(e Encryption) (domain.Encryption, error) { return e.Rekey(ctx, p.Context, c.who.Actor) })
}

// DecryptContext ends the encryption of a context.
func (c Caller) DecryptContext(ctx context.Context, p api.ContextParams) (domain.Encryption, error) {
	return c.encryption(ctx, p.Context, func(e Encryption) (domain.Encryption, error) { return e.Decrypt(ctx, p.Context, c.who.Actor) })
}

// encryption changes a context's encryption. Secrets are the operator's, and so
// is the disk that they are to protect.
func (c Caller) encryption(ctx context.Context, tenant domain.TenantID, change func(Encryption) (domain.Encryption, error)) (domain.Encryption, error) {
	if err := c.mayHere(ctx, domain.VerbAdministrate, domain.Tenant{ID: tenant}.Key()); err != nil {
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
