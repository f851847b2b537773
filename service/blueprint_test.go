package service_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// applyText applies a text as the admin.
func (r *rig) applyText(text string) (api.BlueprintApplied, error) {
	return r.api.As(admin).ApplyBlueprint(r.Context(), api.ApplyBlueprintParams{Context: house, File: "f.yaml", Text: text})
}

const twoSteps = "name: n\nsteps:\n- {name: a, script: x, script_type: shell}\n- {name: b, script: y, script_type: shell, needs: a}\n"

func TestABlueprintIsAppliedAsTextOrFields(t *testing.T) {
	r := newRig(t)
	got, err := r.applyText(twoSteps)
	if err != nil || got.Version != 1 || got.Existing || got.By != admin {
		t.Fatalf("got %+v, %v", got, err)
	}
	p := api.ApplyBlueprintParams{Context: house}
	body := `{"name":"n","steps":[{"name":"a","script":"x","script_type":"shell"},{"name":"b","script":"y","script_type":"shell","needs":["a"]}]}`
	if err := json.Unmarshal([]byte(body), &p); err != nil {
		t.Fatal(err)
	}
	if got, err := r.api.As(admin).ApplyBlueprint(t.Context(), p); err != nil || !got.Existing || got.Version != 1 {
		t.Errorf("the same as fields: got %+v, %v", got, err)
	}
	p.Text = twoSteps
	if _, err := r.api.As(admin).ApplyBlueprint(t.Context(), p); !errors.Is(err, domain.ErrInvalid) ||
		err.Error() != "the body has text or file, and fields of a blueprint; give either" {
		t.Errorf("both: got %v", err)
	}
}

func TestAProblemHasTheFaultsOfABlueprint(t *testing.T) {
	r := newRig(t)
	_, err := r.applyText("name: n\nsteps:\n- {name: a, script: x, script_type: shell, depends: [b]}\n- {name: b, kind: approval, when: \"1 +\"}\n")
	got := r.api.ProblemOf(t.Context(), err)
	want := []domain.Fault{
		{Path: "steps[0].depends", Text: `unknown field "depends"; did you mean "needs"?`, Line: 3, Column: 44},
		{Path: "steps[1].when", Text: "it is no Rhai expression: Syntax error: Script is incomplete", Line: 4, Column: 39},
	}
	if diff := cmp.Diff(want, got.Faults); diff != "" || got.Code != "invalid" || !strings.HasPrefix(got.Detail, "f.yaml:3:44: steps[0].depends: ") {
		t.Errorf("got %+v (-want +got):\n%s", got, diff)
	}
	_, err = r.api.As(admin).ApplyBlueprint(t.Context(), api.ApplyBlueprintParams{Context: house, Blueprint: domain.Blueprint{Name: "n"}})
	if got := r.api.ProblemOf(t.Context(), err); len(got.Faults) != 1 || got.Detail != "steps: there are none: want at least one" {
		t.Errorf("without a text: got %+v", got)
	}
}

func TestVersionsAreShownAndCompared(t *testing.T) {
	r := newRig(t)
	c, ctx := r.api.As(reader), t.Context()
	for _, script := range []string{"x", "y"} {
		if _, err := r.applyText(strings.Replace(twoSteps, "script: x", "script: "+script, 1)); err != nil {
			t.Fatal(err)
		}
	}
	d, err := c.DiffBlueprint(ctx, api.DiffBlueprintParams{Context: house, Name: "n"})
	want := []domain.DocumentChange{{Path: "steps[a].script", From: "x", To: "y"}}
	if diff := cmp.Diff(want, d.Changes); err != nil || diff != "" || d.From.Version != 1 || d.To.Version != 2 {
		t.Errorf("diff: %v, %d to %d (-want +got):\n%s", err, d.From.Version, d.To.Version, diff)
	}
	if d, err := c.DiffBlueprint(ctx, api.DiffBlueprintParams{Context: house, Name: "n", From: 2, To: 2}); err != nil || d.Changes == nil || len(d.Changes) != 0 {
		t.Errorf("no difference: got %+v, %v", d, err)
	}
	if _, err := c.DiffBlueprint(ctx, api.DiffBlueprintParams{Context: house, Name: "n", To: 1}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("before the first: got %v", err)
	}
	show := api.BlueprintParams{Context: house, Name: "n", Version: 1}
	if s, err := c.ShowBlueprint(ctx, show); err != nil || s.Blueprint.Steps[0].Script != "x" || s.Version != 1 {
		t.Errorf("show: got %+v, %v", s, err)
	}
	page, err := c.BlueprintVersions(ctx, api.BlueprintVersionsParams{Context: house, Name: "n", Limit: 1})
	if err != nil || len(page.Blueprints) != 1 || page.Blueprints[0].Version != 2 || page.Next != "2" {
		t.Errorf("versions: got %+v, %v", page, err)
	}
	page, err = c.BlueprintVersions(ctx, api.BlueprintVersionsParams{Context: house, Name: "n", Cursor: page.Next})
	if err != nil || len(page.Blueprints) != 1 || page.Blueprints[0].Version != 1 || page.Next != "" {
		t.Errorf("more versions: got %+v, %v", page, err)
	}
	for _, p := range []api.BlueprintVersionsParams{{Cursor: "x"}, {Cursor: "-1"}, {Limit: -1}, {Limit: 201}} {
		p.Context, p.Name = house, "n"
		if _, err := c.BlueprintVersions(ctx, p); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v", p, err)
		}
	}
	if g, err := c.GraphBlueprint(ctx, api.GraphBlueprintParams{BlueprintParams: show}); err != nil || len(g.Nodes) != 2 || len(g.Edges) != 1 || g.Text != "" {
		t.Errorf("graph: got %+v, %v", g, err)
	}
	if g, err := c.GraphBlueprint(ctx, api.GraphBlueprintParams{BlueprintParams: show, Format: "svg"}); err != nil || g.Graph != nil ||
		!strings.HasPrefix(g.Text, "<svg ") {
		t.Errorf("svg: got %+v, %v", g, err)
	}
	if _, err := c.GraphBlueprint(ctx, api.GraphBlueprintParams{BlueprintParams: show, Format: "png"}); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("png: got %v", err)
	}
	if schema, err := c.BlueprintSchema(ctx, api.BlueprintSchemaParams{}); err != nil || !json.Valid(schema) {
		t.Errorf("schema: got %s, %v", schema, err)
	}
	if out, err := r.api.As(admin).DeleteBlueprint(ctx, api.NameBlueprintParams{Context: house, Name: "n"}); err != nil || out.Versions != 2 {
		t.Errorf("delete: got %+v, %v", out, err)
	}
	if list, err := c.ListBlueprints(ctx, api.ListBlueprintsParams{Context: house}); err != nil || list.Blueprints == nil || len(list.Blueprints) != 0 {
		t.Errorf("list: got %+v, %v", list, err)
	}
}

func TestAReaderDoesNotSeeTheEnvOfABlueprint(t *testing.T) {
	r := newRig(t)
	for _, secret := range []string{"s3cret1", "s3cret2"} {
		text := "name: n\nenv: {A: " + secret + "}\nsteps:\n- {name: a, script: x, script_type: shell, env: {B: " + secret + "}}\n"
		if _, err := r.applyText(text); err != nil {
			t.Fatal(err)
		}
	}
	for actor, sees := range map[domain.ActorID]bool{admin: true, executor: false, reader: false} {
		c := r.api.As(actor)
		show, err := c.ShowBlueprint(t.Context(), api.BlueprintParams{Context: house, Name: "n"})
		if err != nil || show.Blueprint.Env["A"] == "" || show.Blueprint.Steps[0].Env["B"] == "" {
			t.Errorf("actor %d: got %+v, %v", actor, show, err)
		}
		diff, err := c.DiffBlueprint(t.Context(), api.DiffBlueprintParams{Context: house, Name: "n"})
		want := []domain.DocumentChange{{Path: "env.A", From: "s3cret1", To: "s3cret2"}, {Path: "steps[a].env.B", From: "s3cret1", To: "s3cret2"}}
		for i := range want {
			if !sees {
				want[i].From, want[i].To = api.Redacted, api.Redacted
			}
		}
		if diff := cmp.Diff(want, diff.Changes); err != nil || diff != "" {
			t.Errorf("actor %d: what was changed: %v (-want +got):\n%s", actor, err, diff)
		}
		text, err := json.Marshal([]any{show, diff})
		if got := strings.Contains(string(text), "s3cret"); err != nil || got != sees {
			t.Errorf("actor %d: sees %v, %v: %s", actor, got, err, text)
		}
	}
}
