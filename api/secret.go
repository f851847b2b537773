package api

import "github.com/ramet-run/ramet/domain"

// The operations on secrets of a context. None reads a value back.
var (
	SecretSet = op[domain.Secret](Operation{
		Name: "secret.set", Method: "POST", Path: "/v1/contexts/{context}/secrets/{name}", Right: domain.VerbGrant, ByHand: true,
		Keyed: true, Secret: true,
		Summary: "Put a secret of a context on the board, sealed, over one of that name. Nobody reads it back.",
	}, SetSecretParams{Context: 7, Name: "warehouse", Value: "postgres://etl:hunter2@db/warehouse"})
	SecretList = op[Secrets](Operation{
		Name: "secret.list", Method: "GET", Path: "/v1/contexts/{context}/secrets", Right: domain.VerbRead, Much: true,
		Summary: "List the secrets of a context by name, without their values: those on the board, and those that the node has besides.",
	}, ListSecretsParams{Context: 7})
	SecretDelete = op[SecretDeleted](Operation{
		Name: "secret.delete", Method: "DELETE", Path: "/v1/contexts/{context}/secrets/{name}", Right: domain.VerbGrant, ByHand: true,
		Summary: "Take a secret of a context off the board.",
	}, SecretParams{Context: 7, Name: "warehouse"})
)

// SetSecretParams are the parameters of secret.set.
type SetSecretParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	// Value is what it is: 4 bytes to 64 KiB, without NUL.
	Value string `json:"value"`
}

// SecretParams name a secret.
type SecretParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
}

// ListSecretsParams are the parameters of secret.list.
type ListSecretsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// Secrets is the answer to secret.list.
type Secrets struct {
	Secrets []domain.Secret `json:"secrets"`
}

// SecretDeleted is the answer to secret.delete.
type SecretDeleted struct {
	Name string `json:"name"`
}
