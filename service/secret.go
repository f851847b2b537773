package service

import (
	"context"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Secrets is what is asked of the secrets of contexts. It reads no value.
type Secrets interface {
	Set(ctx context.Context, tenant domain.TenantID, name, value string, by domain.ActorID) (domain.Secret, error)
	List(ctx context.Context, tenant domain.TenantID) ([]domain.Secret, error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) error
}

// SetSecret puts a secret of a context on the board.
func (c Caller) SetSecret(ctx context.Context, p api.SetSecretParams) (domain.Secret, error) {
	secrets, err := c.secrets(ctx, domain.VerbGrant, p.Context, "secret:"+p.Name)
	if err != nil {
		return domain.Secret{}, err
	}
	return makes(ctx, c, thingOf(p.Context, layout.Secret(p.Name), layout.SecretSetMs), func(ctx context.Context) (domain.Secret, error) {
		return secrets.Set(ctx, p.Context, p.Name, p.Value, c.who.Actor)
	}, func(_ context.Context, was made) (domain.Secret, error) { // whatever others have set since
		ms, err := strconv.ParseInt(was.value, 10, 64)
		return domain.Secret{Name: p.Name, Source: domain.SecretSealed, SetMs: ms, By: c.who.Actor}, err
	})
}

// ListSecrets lists those of a context, without their values.
func (c Caller) ListSecrets(ctx context.Context, p api.ListSecretsParams) (api.Secrets, error) {
	secrets, err := c.secrets(ctx, domain.VerbRead, p.Context, "secrets")
	if err != nil {
		return api.Secrets{}, err
	}
	list, err := secrets.List(ctx, p.Context)
	if list == nil {
		list = []domain.Secret{}
	}
	return api.Secrets{Secrets: list}, err
}

// DeleteSecret takes one off the board.
func (c Caller) DeleteSecret(ctx context.Context, p api.SecretParams) (api.SecretDeleted, error) {
	secrets, err := c.secrets(ctx, domain.VerbGrant, p.Context, "secret:"+p.Name)
	if err != nil {
		return api.SecretDeleted{}, err
	}
	return api.SecretDeleted{Name: p.Name}, secrets.Delete(ctx, p.Context, p.Name)
}

func (c Caller) secrets(ctx context.Context, verb domain.Verb, tenant domain.TenantID, object string) (Secrets, error) {
	if _, err := c.may(ctx, verb, tenant, object); err != nil {
		return nil, err
	}
	if c.api.parts.Secrets == nil {
		return nil, domain.Unavailablef("this node has no secrets")
	}
	return c.api.parts.Secrets, nil
}
