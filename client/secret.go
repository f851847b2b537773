package client

import (
	"context"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// SetSecret puts a secret of a context on the board, sealed, over one of that name. Nobody
// reads it back; jobs name it under their secrets.
//
// Errors: [domain.ErrInvalid] for a name or a value that cannot be one, [domain.ErrConflict]
// where the node has no key to seal it with.
func (c *Client) SetSecret(ctx context.Context, tenant domain.TenantID, name, value string) (domain.Secret, error) {
	return Call(ctx, c, api.SecretSet, api.SetSecretParams{Context: tenant, Name: name, Value: value})
}

// Secrets lists those of a context by name, without their values.
func (c *Client) Secrets(ctx context.Context, tenant domain.TenantID) ([]domain.Secret, error) {
	list, err := Call(ctx, c, api.SecretList, api.ListSecretsParams{Context: tenant})
	return list.Secrets, err
}

// DeleteSecret takes one off the board.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteSecret(ctx context.Context, tenant domain.TenantID, name string) error {
	_, err := Call(ctx, c, api.SecretDelete, api.SecretParams{Context: tenant, Name: name})
	return err
}
