package client

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

// ApplyBlueprint stores a blueprint as the newest version of its name; where
// the newest has the same content, nothing is done.
//
// Errors: [domain.ErrInvalid], of which an [Error] has the faults;
// [domain.ErrConflict] for a version that is not greater than the newest.
func (c *Client) ApplyBlueprint(ctx context.Context, tenant domain.TenantID, b *domain.Blueprint) (api.BlueprintApplied, error) {
	var out api.BlueprintApplied
	err := c.call(ctx, http.MethodPost, blueprintPath(tenant, ""), nil, b, &out)
	return out, err
}

// ApplyBlueprintText is ApplyBlueprint of YAML or JSON: the faults have lines.
// file is the text's name in them.
func (c *Client) ApplyBlueprintText(ctx context.Context, tenant domain.TenantID, file, text string) (api.BlueprintApplied, error) {
	var out api.BlueprintApplied
	err := c.call(ctx, http.MethodPost, blueprintPath(tenant, ""), nil, map[string]string{"file": file, "text": text}, &out)
	return out, err
}

// Blueprint is a version of one; 0 is the newest.
//
// Errors: [domain.ErrNotFound].
func (c *Client) Blueprint(ctx context.Context, tenant domain.TenantID, name string, version int) (blueprint.Stored, error) {
	var out blueprint.Stored
	err := c.call(ctx, http.MethodGet, blueprintPath(tenant, name), versionQuery(map[string]int{"version": version}), nil, &out)
	return out, err
}

// Blueprints lists all of a context, by name.
func (c *Client) Blueprints(ctx context.Context, tenant domain.TenantID) (api.BlueprintList, error) {
	return c.blueprints(ctx, blueprintPath(tenant, ""))
}

// BlueprintVersions lists all versions of one, newest first.
//
// Errors: [domain.ErrNotFound].
func (c *Client) BlueprintVersions(ctx context.Context, tenant domain.TenantID, name string) (api.BlueprintList, error) {
	return c.blueprints(ctx, blueprintPath(tenant, name)+"/versions")
}

func (c *Client) blueprints(ctx context.Context, path string) (api.BlueprintList, error) {
	all := api.BlueprintList{Blueprints: []blueprint.Entry{}}
	err := c.pages(ctx, path, func(get func(page any) error) (next string, err error) {
		var page api.BlueprintList
		err = get(&page)
		all.Blueprints = append(all.Blueprints, page.Blueprints...)
		return page.Next, err
	})
	return all, err
}

// DiffBlueprint compares two versions; to 0 is the newest, from 0 the one
// before to.
//
// Errors: [domain.ErrNotFound], [domain.ErrInvalid] where there is none before.
func (c *Client) DiffBlueprint(ctx context.Context, tenant domain.TenantID, name string, from, to int) (api.BlueprintDiff, error) {
	var out api.BlueprintDiff
	err := c.call(ctx, http.MethodGet, blueprintPath(tenant, name)+"/diff", versionQuery(map[string]int{"from": from, "to": to}), nil, &out)
	return out, err
}

// BlueprintGraph draws a version as mermaid, dot or svg; "" gives the graph.
//
// Errors: [domain.ErrNotFound].
func (c *Client) BlueprintGraph(ctx context.Context, tenant domain.TenantID, name string, version int, format string) (api.BlueprintGraph, error) {
	q := versionQuery(map[string]int{"version": version})
	if format != "" {
		q.Set("format", format)
	}
	var out api.BlueprintGraph
	err := c.call(ctx, http.MethodGet, blueprintPath(tenant, name)+"/graph", q, nil, &out)
	return out, err
}

// DeleteBlueprint removes one with all versions.
//
// Errors: [domain.ErrNotFound].
func (c *Client) DeleteBlueprint(ctx context.Context, tenant domain.TenantID, name string) (api.BlueprintDeleted, error) {
	var out api.BlueprintDeleted
	err := c.call(ctx, http.MethodDelete, blueprintPath(tenant, name), nil, nil, &out)
	return out, err
}

// BlueprintSchema is the JSON Schema of a blueprint's file, as the node has it.
func (c *Client) BlueprintSchema(ctx context.Context) (json.RawMessage, error) {
	var out json.RawMessage
	err := c.call(ctx, http.MethodGet, "/v1/schemas/blueprint", nil, nil, &out)
	return out, err
}

func blueprintPath(tenant domain.TenantID, name string) string {
	path := contextPath(tenant) + "/blueprints"
	if name != "" {
		path += "/" + url.PathEscape(name)
	}
	return path
}

// versionQuery is a query of versions by parameter; 0 is left out.
func versionQuery(versions map[string]int) url.Values {
	q := url.Values{}
	for name, v := range versions {
		if v != 0 {
			q.Set(name, strconv.Itoa(v))
		}
	}
	return q
}
