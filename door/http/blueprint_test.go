package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

func TestBlueprintsByTheGoClient(t *testing.T) {
	r := newRig(t)
	c, err := client.New(client.Config{URL: r.server.URL, Token: func(context.Context) (string, error) { return r.token(admin), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx := t.Context()
	const text = "name: n\nsteps:\n- {name: a, script: echo <hi>, script_type: shell}\n- {name: b, kind: approval, needs: a}\n"
	if got, err := c.ApplyBlueprintText(ctx, 7, "n.yaml", text); err != nil || got.Version != 1 || got.Existing {
		t.Fatalf("got %+v, %v", got, err)
	}
	b, err := blueprint.Parse("", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := c.ApplyBlueprint(ctx, 7, b); err != nil || got.Version != 1 || !got.Existing {
		t.Errorf("the same as fields: got %+v, %v", got, err)
	}
	b.Summary = "new"
	if got, err := c.ApplyBlueprint(ctx, 7, b); err != nil || got.Version != 2 {
		t.Errorf("another: got %+v, %v", got, err)
	}
	b.Version, b.Summary = 1, "old"
	if _, err := c.ApplyBlueprint(ctx, 7, b); !errors.Is(err, domain.ErrConflict) {
		t.Errorf("an old version: got %v", err)
	}
	wrong := (*client.Error)(nil)
	if _, err := c.ApplyBlueprintText(ctx, 7, "n.yaml", "name: n\nstep: []\n"); !errors.As(err, &wrong) || len(wrong.Problem.Faults) != 1 ||
		wrong.Problem.Faults[0].Line != 2 {
		t.Errorf("a wrong one: got %v", err)
	}
	if got, err := c.Blueprint(ctx, 7, "n", 1); err != nil || got.Blueprint.Steps[0].Script != "echo <hi>" || got.Summary != "" {
		t.Errorf("show: got %+v, %v", got, err)
	}
	if got, err := c.Blueprints(ctx, 7); err != nil || len(got.Blueprints) != 1 || got.Blueprints[0].Version != 2 {
		t.Errorf("list: got %+v, %v", got, err)
	}
	if got, err := c.BlueprintVersions(ctx, 7, "n"); err != nil || len(got.Blueprints) != 2 {
		t.Errorf("versions: got %+v, %v", got, err)
	}
	if got, err := c.DiffBlueprint(ctx, 7, "n", 0, 0); err != nil || len(got.Changes) != 1 || got.Changes[0].To != "new" {
		t.Errorf("diff: got %+v, %v", got, err)
	}
	if got, err := c.DiffBlueprint(ctx, 7, "n", 2, 1); err != nil || len(got.Changes) != 1 || got.Changes[0].From != "new" {
		t.Errorf("diff back: got %+v, %v", got, err)
	}
	if got, err := c.BlueprintGraph(ctx, 7, "n", 0, ""); err != nil || len(got.Nodes) != 2 {
		t.Errorf("graph: got %+v, %v", got, err)
	}
	if got, err := c.BlueprintGraph(ctx, 7, "n", 1, "mermaid"); err != nil || !strings.HasPrefix(got.Text, "flowchart LR\n") {
		t.Errorf("mermaid: got %+v, %v", got, err)
	}
	if got, err := c.BlueprintSchema(ctx); err != nil || !json.Valid(got) || !strings.Contains(string(got), `"$schema"`) {
		t.Errorf("schema: got %.100s, %v", got, err)
	}
	if got, err := c.DeleteBlueprint(ctx, 7, "n"); err != nil || got.Versions != 2 {
		t.Errorf("delete: got %+v, %v", got, err)
	}
	if _, err := c.Blueprint(ctx, 7, "n", 0); !errors.Is(err, domain.ErrNotFound) {
		t.Errorf("after: got %v", err)
	}
}
