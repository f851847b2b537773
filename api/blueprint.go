package api

import (
	"encoding/json"

	"github.com/ramet-run/ramet/domain"
)

// The operations on blueprints.
var (
	BlueprintApply = op[BlueprintApplied](Operation{
		Name: "blueprint.apply", Method: "POST", Path: "/v1/contexts/{context}/blueprints", Right: domain.VerbCreate, Holds: "blueprint.show",
		Summary: "Store a blueprint (its fields, or its text in {\"text\": ...}) as the newest version of its name.",
	}, ApplyBlueprintParams{Context: 7, File: "nightly.yaml", Text: "name: nightly\nsteps:\n  - {name: load, script_type: shell, script: ./load.sh}\n"})
	BlueprintList = op[BlueprintPage](Operation{
		Name: "blueprint.list", Method: "GET", Path: "/v1/contexts/{context}/blueprints", Right: domain.VerbRead, Much: true,
		Summary: "List blueprints by name, each with its newest version.",
	}, ListBlueprintsParams{Context: 7})
	BlueprintShow = op[domain.StoredBlueprint](Operation{
		Name: "blueprint.show", Method: "GET", Path: "/v1/contexts/{context}/blueprints/{name}", Right: domain.VerbRead,
		Summary: "Show a version of a blueprint.",
	}, BlueprintParams{Context: 7, Name: "nightly"})
	BlueprintVersions = op[BlueprintPage](Operation{
		Name: "blueprint.versions", Method: "GET", Path: "/v1/contexts/{context}/blueprints/{name}/versions", Right: domain.VerbRead, Much: true,
		Summary: "List the versions of a blueprint, newest first.",
	}, BlueprintVersionsParams{Context: 7, Name: "nightly"})
	BlueprintDiff = op[BlueprintChanges](Operation{
		Name: "blueprint.diff", Method: "GET", Path: "/v1/contexts/{context}/blueprints/{name}/diff", Right: domain.VerbRead,
		Summary: "Say what differs between two versions of a blueprint.",
	}, DiffBlueprintParams{Context: 7, Name: "nightly", From: 1, To: 2})
	BlueprintGraph = op[Drawing](Operation{
		Name: "blueprint.graph", Method: "GET", Path: "/v1/contexts/{context}/blueprints/{name}/graph", Right: domain.VerbRead,
		Summary: "Give a blueprint's graph, or draw it as Mermaid, DOT or SVG.",
	}, GraphBlueprintParams{BlueprintParams: BlueprintParams{Context: 7, Name: "nightly"}, Format: "svg"})
	BlueprintDelete = op[BlueprintDeleted](Operation{
		Name: "blueprint.delete", Method: "DELETE", Path: "/v1/contexts/{context}/blueprints/{name}", Right: domain.VerbDelete, ByHand: true,
		Holds:   "blueprint.show",
		Summary: "Delete a blueprint with all its versions; its flows go on.",
	}, NameBlueprintParams{Context: 7, Name: "nightly"})
	BlueprintSchema = op[json.RawMessage](Operation{
		Name: "blueprint.schema", Method: "GET", Path: "/v1/schemas/blueprint", Right: domain.VerbKnow,
		Summary: "Give the JSON Schema of a blueprint's file, for editors.",
	}, BlueprintSchemaParams{})
)

// BlueprintApplied answers an apply.
type BlueprintApplied struct {
	domain.DocumentEntry
	// Existing is true when the newest had that content: nothing was done.
	Existing bool `json:"existing,omitzero"`
}

// BlueprintPage is a page of blueprints by their names, or of one's versions,
// newest first.
type BlueprintPage struct {
	Blueprints []domain.DocumentEntry `json:"blueprints"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// BlueprintChanges says what makes one version of another.
type BlueprintChanges struct {
	From    domain.DocumentEntry    `json:"from"`
	To      domain.DocumentEntry    `json:"to"`
	Changes []domain.DocumentChange `json:"changes"`
}

// BlueprintDeleted answers a delete.
type BlueprintDeleted struct {
	Name     string `json:"name"`
	Versions int    `json:"versions"`
}

// Drawing is a drawing, or the graph itself where none is asked for.
type Drawing struct {
	*domain.Graph
	Format string `json:"format,omitzero"` // mermaid, dot, svg
	Text   string `json:"text,omitzero"`
}

// ApplyBlueprintParams are the parameters of blueprint.apply: a text, or a blueprint's
// own fields.
type ApplyBlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Text is YAML or JSON. File is its name, for errors.
	Text string `json:"text"`
	File string `json:"file"`
	domain.Blueprint
}

// ListBlueprintsParams are the parameters of blueprint.list.
type ListBlueprintsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 200. 0: that.
	Limit int `json:"-" query:"limit"`
}

// BlueprintParams name a version of a blueprint.
type BlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	// Version 0 is the newest.
	Version int `json:"-" query:"version"`
}

// BlueprintVersionsParams are the parameters of blueprint.versions.
type BlueprintVersionsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	Cursor  string          `json:"-" query:"cursor"`
	Limit   int             `json:"-" query:"limit"` // up to 200; 0: that
}

// DiffBlueprintParams are the parameters of blueprint.diff.
type DiffBlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
	// To 0 is the newest version, From 0 the one before To.
	From int `json:"-" query:"from"`
	To   int `json:"-" query:"to"`
}

// NameBlueprintParams name a blueprint.
type NameBlueprintParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"name"`
}

// BlueprintSchemaParams are the parameters of blueprint.schema: none.
type BlueprintSchemaParams struct{}

// GraphBlueprintParams are the parameters of blueprint.graph.
type GraphBlueprintParams struct {
	BlueprintParams
	// Format is mermaid, dot or svg. "": the nodes and edges themselves.
	Format string `json:"-" query:"format"`
}
