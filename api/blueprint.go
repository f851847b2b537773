package api

import (
	"bytes"
	"context"
	"encoding/json"
	"reflect"
	"strconv"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
)

// Blueprints is what the operations need of the store of blueprints.
type Blueprints interface {
	Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, b *domain.Blueprint) (_ blueprint.Stored, existing bool, err error)
	Get(ctx context.Context, tenant domain.TenantID, name string, version int) (blueprint.Stored, error)
	List(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []blueprint.Entry, next string, err error)
	Versions(ctx context.Context, tenant domain.TenantID, name string, below, limit int) (list []blueprint.Entry, next int, err error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) (versions int, err error)
}

// BlueprintApplied answers an apply.
//
//	POST /v1/contexts/{context}/blueprints
//	     domain.Blueprint, or {"text": "name: …"} of YAML or JSON, with lines in errors
type BlueprintApplied struct {
	blueprint.Entry
	// Existing is true when the newest had that content: nothing was done.
	Existing bool `json:"existing,omitzero"`
}

// BlueprintList is a page of blueprints by their names, or of one's versions,
// newest first.
//
//	GET /v1/contexts/{context}/blueprints?cursor=&limit=
//	GET /v1/contexts/{context}/blueprints/{name}/versions?cursor=&limit=
type BlueprintList struct {
	Blueprints []blueprint.Entry `json:"blueprints"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// BlueprintDiff says what makes one version of another.
//
//	GET /v1/contexts/{context}/blueprints/{name}/diff?from=&to=
type BlueprintDiff struct {
	From    blueprint.Entry    `json:"from"`
	To      blueprint.Entry    `json:"to"`
	Changes []blueprint.Change `json:"changes"`
}

// BlueprintDeleted answers a delete.
//
//	DELETE /v1/contexts/{context}/blueprints/{name}
type BlueprintDeleted struct {
	Name     string `json:"name"`
	Versions int    `json:"versions"`
}

// BlueprintGraph is a drawing, or the graph itself where none is asked for.
//
//	GET /v1/contexts/{context}/blueprints/{name}/graph?version=&format=
type BlueprintGraph struct {
	*blueprint.Graph
	Format string `json:"format,omitzero"` // mermaid, dot, svg
	Text   string `json:"text,omitzero"`
}

// Other operations on blueprints:
//
//	GET /v1/contexts/{context}/blueprints/{name}?version=   blueprint.Stored
//	GET /v1/schemas/blueprint                               a JSON Schema

// ApplyBlueprintParams are those of blueprint.apply: a text, or a blueprint's
// own fields.
type ApplyBlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Text is YAML or JSON. File is its name, for errors.
	Text string `json:"text"`
	File string `json:"file"`
	domain.Blueprint
}

func (p *ApplyBlueprintParams) blueprint() (*domain.Blueprint, error) {
	if p.Text == "" && p.File == "" {
		return &p.Blueprint, nil
	}
	if !reflect.ValueOf(p.Blueprint).IsZero() {
		return nil, domain.Invalidf("the body has text or file, and fields of a blueprint; give either")
	}
	return blueprint.Parse(p.File, []byte(p.Text))
}

// ApplyBlueprint stores a blueprint as the newest version of its name.
func (c Caller) ApplyBlueprint(ctx context.Context, p ApplyBlueprintParams) (BlueprintApplied, error) {
	if _, err := c.may(ctx, identity.Create, p.Context, "blueprint"); err != nil {
		return BlueprintApplied{}, err
	}
	b, err := p.blueprint()
	if err == nil {
		err = c.mayGoAll(nil, b)
	}
	if err != nil {
		return BlueprintApplied{}, err
	}
	s, existing, err := c.api.parts.Blueprints.Apply(ctx, p.Context, c.who.Actor, b)
	return BlueprintApplied{s.Entry, existing}, err
}

// ListBlueprintsParams are those of blueprint.list.
type ListBlueprintsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 200. 0: that.
	Limit int `json:"-" query:"limit"`
}

// ListBlueprints lists a page, by name.
func (c Caller) ListBlueprints(ctx context.Context, p ListBlueprintsParams) (BlueprintList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "blueprints"); err != nil {
		return BlueprintList{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return BlueprintList{}, err
	}
	list, next, err := c.api.parts.Blueprints.List(ctx, p.Context, p.Cursor, p.Limit)
	return BlueprintList{list, next}, err
}

func checkLimit(limit int) error {
	if limit < 0 || limit > blueprint.MaxList {
		return domain.Invalidf("limit %d: want 1 to %d, or 0 for that", limit, blueprint.MaxList)
	}
	return nil
}

// BlueprintParams name a version of a blueprint.
type BlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	// Version 0 is the newest.
	Version int `json:"-" query:"version"`
}

// mayBlueprint asks for a right on a blueprint.
func (c Caller) mayBlueprint(ctx context.Context, verb identity.Verb, tenant domain.TenantID, name string) (domain.Tenant, error) {
	return c.may(ctx, verb, tenant, "blueprint:"+name)
}

// ShowBlueprint reads one version.
func (c Caller) ShowBlueprint(ctx context.Context, p BlueprintParams) (blueprint.Stored, error) {
	t, err := c.mayBlueprint(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return blueprint.Stored{}, err
	}
	return c.storedBlueprint(ctx, t, p.Name, p.Version)
}

// storedBlueprint is a version as the caller may see it.
func (c Caller) storedBlueprint(ctx context.Context, t domain.Tenant, name string, version int) (blueprint.Stored, error) {
	s, err := c.api.parts.Blueprints.Get(ctx, t.ID, name, version)
	if err != nil || c.who.Permits(t, identity.ReadEnv, false, c.group) {
		return s, err
	}
	redact(s.Blueprint.Env)
	for i := range s.Blueprint.Steps {
		redact(s.Blueprint.Steps[i].Env)
	}
	return s, nil
}

// redact hides the values of environment variables.
func redact(env map[string]string) {
	for name := range env {
		env[name] = Redacted
	}
}

// BlueprintVersionsParams are those of blueprint.versions.
type BlueprintVersionsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	Cursor  string          `json:"-" query:"cursor"`
	Limit   int             `json:"-" query:"limit"` // up to 200; 0: that
}

// BlueprintVersions lists the versions of one, newest first.
func (c Caller) BlueprintVersions(ctx context.Context, p BlueprintVersionsParams) (BlueprintList, error) {
	if _, err := c.mayBlueprint(ctx, identity.Read, p.Context, p.Name); err != nil {
		return BlueprintList{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return BlueprintList{}, err
	}
	below, err := versionCursor(p.Cursor)
	if err != nil {
		return BlueprintList{}, err
	}
	list, next, err := c.api.parts.Blueprints.Versions(ctx, p.Context, p.Name, below, p.Limit)
	out := BlueprintList{Blueprints: list}
	if next > 0 {
		out.Next = strconv.Itoa(next)
	}
	return out, err
}

// versionCursor is where a list of versions goes on below; 0 is the newest.
func versionCursor(text string) (below int, err error) {
	if text == "" {
		return 0, nil
	}
	below, err = strconv.Atoi(text)
	if err != nil || below < 1 {
		return 0, domain.Invalidf("cursor %q: want the next of the page before", text)
	}
	return below, nil
}

// DiffBlueprintParams are those of blueprint.diff.
type DiffBlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	// To 0 is the newest version, From 0 the one before To.
	From int `json:"-" query:"from"`
	To   int `json:"-" query:"to"`
}

// DiffBlueprint compares two versions.
func (c Caller) DiffBlueprint(ctx context.Context, p DiffBlueprintParams) (BlueprintDiff, error) {
	t, err := c.mayBlueprint(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return BlueprintDiff{}, err
	}
	to, err := c.storedBlueprint(ctx, t, p.Name, p.To)
	if err != nil {
		return BlueprintDiff{}, err
	}
	if p.From == 0 {
		before, _, err := c.api.parts.Blueprints.Versions(ctx, p.Context, p.Name, to.Version, 1)
		if err != nil {
			return BlueprintDiff{}, err
		}
		if len(before) == 0 {
			return BlueprintDiff{}, domain.Invalidf("blueprint %q has no version before %d; name one to compare it with", p.Name, to.Version)
		}
		p.From = before[0].Version
	}
	from, err := c.storedBlueprint(ctx, t, p.Name, p.From)
	if err != nil {
		return BlueprintDiff{}, err
	}
	changes := append([]blueprint.Change{}, blueprint.Diff(&from.Blueprint, &to.Blueprint)...) // never null
	return BlueprintDiff{from.Entry, to.Entry, changes}, nil
}

// NameBlueprintParams name a blueprint.
type NameBlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
}

// DeleteBlueprint removes one with all versions.
func (c Caller) DeleteBlueprint(ctx context.Context, p NameBlueprintParams) (BlueprintDeleted, error) {
	if _, err := c.mayBlueprint(ctx, identity.Delete, p.Context, p.Name); err != nil {
		return BlueprintDeleted{}, err
	}
	n, err := c.api.parts.Blueprints.Delete(ctx, p.Context, p.Name)
	return BlueprintDeleted{p.Name, n}, err
}

// BlueprintSchemaParams are those of blueprint.schema: none.
type BlueprintSchemaParams struct{}

// BlueprintSchema is the JSON Schema of a blueprint's file.
func (c Caller) BlueprintSchema(ctx context.Context, _ BlueprintSchemaParams) (json.RawMessage, error) {
	if err := c.mayHere(ctx, identity.Know, "blueprint schema"); err != nil {
		return nil, err
	}
	return blueprint.Schema(), nil
}

// GraphBlueprintParams are those of blueprint.graph.
type GraphBlueprintParams struct {
	BlueprintParams
	// Format is mermaid, dot or svg. "": the nodes and edges themselves.
	Format string `json:"-" query:"format"`
}

// GraphBlueprint draws a version.
func (c Caller) GraphBlueprint(ctx context.Context, p GraphBlueprintParams) (BlueprintGraph, error) {
	if _, err := c.mayBlueprint(ctx, identity.Read, p.Context, p.Name); err != nil {
		return BlueprintGraph{}, err
	}
	s, err := c.api.parts.Blueprints.Get(ctx, p.Context, p.Name, p.Version)
	if err != nil {
		return BlueprintGraph{}, err
	}
	return DrawGraph(blueprint.NewGraph(&s.Blueprint), p.Format)
}

// DrawGraph draws a graph as a format says; "" leaves it as it is.
//
// Errors: [domain.ErrInvalid] for a format that there is not.
func DrawGraph(g *blueprint.Graph, format string) (BlueprintGraph, error) {
	if format == "" {
		return BlueprintGraph{Graph: g}, nil
	}
	var text bytes.Buffer
	err := g.Draw(&text, format)
	return BlueprintGraph{Format: format, Text: text.String()}, err
}
