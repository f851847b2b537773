package client

import (
	"context"
	"encoding/json"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// ApplyBlueprint stores a blueprint as the newest version of its name; where
// the newest has the same content, nothing is done.
//
// Errors: [domain.ErrInvalid], of which an [Error] has the faults;
// [domain.ErrConflict] for a version that is not greater than the newest.
func (c *Client) ApplyBlueprint(ctx context.Context, tenant domain.TenantID, b *domain.Blueprint) (api.BlueprintApplied, error) {
	return Call(ctx, c, api.BlueprintApply, api.ApplyBlueprintParams{Context: tenant, Blueprint: *b})
}

// ApplyBlueprintText is ApplyBlueprint of YAML or JSON: the faults have lines.
// file is the text's name in them.
func (c *Client) ApplyBlueprintText(ctx context.Context, tenant domain.TenantID, file, text string) (api.BlueprintApplied, error) {
	return Call(ctx, c, api.BlueprintApply, api.ApplyBlueprintParams{Context: tenant, File: file, Text: text})
}

// Blueprint is a version of one; 0 is the newest.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Blueprint(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.StoredBlueprint, error) {
	return Call(ctx, c, api.BlueprintShow, api.BlueprintParams{Context: tenant, Name: name, Version: version})
}

// Blueprints lists all of a context, by name.
func (c *Client) Blueprints(ctx context.Context, tenant domain.TenantID) (api.BlueprintPage, error) {
	return c.blueprints(func(cursor string) (api.BlueprintPage, error) {
		return Call(ctx, c, api.BlueprintList, api.ListBlueprintsParams{Context: tenant, Cursor: cursor})
	})
}

// BlueprintVersions lists all versions of one, newest first.
//
// Errors: [domain.ErrNotFound].
func (c *Client) BlueprintVersions(ctx context.Context, tenant domain.TenantID, name string) (api.BlueprintPage, error) {
	return c.blueprints(func(cursor string) (api.BlueprintPage, error) {
		return Call(ctx, c, api.BlueprintVersions, api.BlueprintVersionsParams{Context: tenant, Name: name, Cursor: cursor})
	})
}

func (c *Client) blueprints(ask func(cursor string) (api.BlueprintPage, error)) (api.BlueprintPage, error) {
	all := api.BlueprintPage{Blueprints: []domain.DocumentEntry{}}
	err := c.pages(func(cursor string) (next string, err error) {
		page, err := ask(cursor)
		all.Blueprints = append(all.Blueprints, page.Blueprints...)
		return page.Next, err
	})
	return all, err
}

// DiffBlueprint compares two versions; to 0 is the newest, from 0 the one
// before to.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] where there is none before.
func (c *Client) DiffBlueprint(ctx context.Context, tenant domain.TenantID, name string, from, to int) (api.BlueprintChanges, error) {
	return Call(ctx, c, api.BlueprintDiff, api.DiffBlueprintParams{Context: tenant, Name: name, From: from, To: to})
}

// BlueprintGraph draws a version as mermaid, dot or svg; "" gives the graph.
//
// Errors: [domain.ErrNotFound].
func (c *Client) BlueprintGraph(ctx context.Context, tenant domain.TenantID, name string, version int, format string) (api.Drawing, error) {
	return Call(ctx, c, api.BlueprintGraph, api.GraphBlueprintParams{
		BlueprintParams: api.BlueprintParams{Context: tenant, Name: name, Version: version}, Format: format})
}

// DeleteBlueprint removes one with all versions.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteBlueprint(ctx context.Context, tenant domain.TenantID, name string) (api.BlueprintDeleted, error) {
	return Call(ctx, c, api.BlueprintDelete, api.NameBlueprintParams{Context: tenant, Name: name})
}

// BlueprintSchema is the JSON Schema of a blueprint's file, as the node has it.
func (c *Client) BlueprintSchema(ctx context.Context) (json.RawMessage, error) {
	return Call(ctx, c, api.BlueprintSchema, api.BlueprintSchemaParams{})
}
