package service

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// Blueprints is what the operations need of the store of blueprints.
type Blueprints interface {
	Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, b *domain.Blueprint) (_ domain.StoredBlueprint, existing bool, err error)
	Get(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.StoredBlueprint, error)
	List(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []domain.DocumentEntry, next string, err error)
	Versions(ctx context.Context, tenant domain.TenantID, name string, below, limit int) (list []domain.DocumentEntry, next int, err error)
	Delete(ctx context.Context, tenant domain.TenantID, name string) (versions int, err error)
}

func blueprintOf(p *api.ApplyBlueprintParams) (*domain.Blueprint, error) {
	if p.Text == "" && p.File == "" {
		return &p.Blueprint, nil
	}
	if !reflect.ValueOf(p.Blueprint).IsZero() {
		return nil, domain.Invalidf("the body has text or file, and fields of a blueprint; give either")
	}
	return blueprint.Parse(p.File, []byte(p.Text))
}

// ApplyBlueprint stores a blueprint as the newest version of its name.
func (c Caller) ApplyBlueprint(ctx context.Context, p api.ApplyBlueprintParams) (api.BlueprintApplied, error) {
	if _, err := c.may(ctx, domain.VerbCreate, p.Context, "blueprint"); err != nil {
		return api.BlueprintApplied{}, err
	}
	b, err := blueprintOf(&p)
	if err == nil {
		err = cmp.Or(blueprint.Storable(b), c.mayGoAll(nil, b))
	}
	if err != nil {
		return api.BlueprintApplied{}, err
	}
	return makes(ctx, c, thingOf(p.Context, layout.BlueprintKeys.Newest(b.Name), layout.VersionNumber), func(ctx context.Context) (api.BlueprintApplied, error) {
		s, existing, err := c.api.parts.Blueprints.Apply(ctx, p.Context, c.who.Actor, b)
		return api.BlueprintApplied{DocumentEntry: s.DocumentEntry, Existing: existing}, err
	}, func(ctx context.Context, was made) (api.BlueprintApplied, error) {
		s, err := c.api.parts.Blueprints.Get(ctx, p.Context, b.Name, was.version())
		return api.BlueprintApplied{DocumentEntry: s.DocumentEntry, Existing: true}, sameStored(s.DocumentEntry, blueprint.Hash(b), err)
	})
}

// ListBlueprints lists a page, by name.
func (c Caller) ListBlueprints(ctx context.Context, p api.ListBlueprintsParams) (api.BlueprintPage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "blueprints"); err != nil {
		return api.BlueprintPage{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return api.BlueprintPage{}, err
	}
	list, next, err := c.api.parts.Blueprints.List(ctx, p.Context, p.Cursor, p.Limit)
	return api.BlueprintPage{Blueprints: list, Next: next}, err
}

func checkLimit(limit int) error {
	if limit < 0 || limit > blueprint.MaxList {
		return domain.Invalidf("limit %d: want 1 to %d, or 0 for that", limit, blueprint.MaxList)
	}
	return nil
}

// mayBlueprint asks for a right on a blueprint.
func (c Caller) mayBlueprint(ctx context.Context, verb domain.Verb, tenant domain.TenantID, name string) (domain.Tenant, error) {
	return c.may(ctx, verb, tenant, "blueprint:"+name)
}

// ShowBlueprint reads one version.
func (c Caller) ShowBlueprint(ctx context.Context, p api.BlueprintParams) (domain.StoredBlueprint, error) {
	t, err := c.mayBlueprint(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return domain.StoredBlueprint{}, err
	}
	return c.storedBlueprint(ctx, t, p.Name, p.Version)
}

// storedBlueprint is a version as the caller may see it.
func (c Caller) storedBlueprint(ctx context.Context, t domain.Tenant, name string, version int) (domain.StoredBlueprint, error) {
	s, err := c.api.parts.Blueprints.Get(ctx, t.ID, name, version)
	if err != nil || c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		return s, err
	}
	withoutEnv(&s.Blueprint)
	return s, nil
}

// withoutEnv hides the values of a blueprint's environments.
func withoutEnv(b *domain.Blueprint) {
	b.On = hooksView(b.On)
	for _, env := range blueprint.EnvironmentsOf(b) {
		redact(env)
	}
}

// BlueprintVersions lists the versions of one, newest first.
func (c Caller) BlueprintVersions(ctx context.Context, p api.BlueprintVersionsParams) (api.BlueprintPage, error) {
	if _, err := c.mayBlueprint(ctx, domain.VerbRead, p.Context, p.Name); err != nil {
		return api.BlueprintPage{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return api.BlueprintPage{}, err
	}
	below, err := versionCursor(p.Cursor)
	if err != nil {
		return api.BlueprintPage{}, err
	}
	list, next, err := c.api.parts.Blueprints.Versions(ctx, p.Context, p.Name, below, p.Limit)
	out := api.BlueprintPage{Blueprints: list}
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

// DiffBlueprint compares two versions.
func (c Caller) DiffBlueprint(ctx context.Context, p api.DiffBlueprintParams) (api.BlueprintChanges, error) {
	t, err := c.mayBlueprint(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.BlueprintChanges{}, err
	}
	to, err := c.api.parts.Blueprints.Get(ctx, t.ID, p.Name, p.To)
	if err != nil {
		return api.BlueprintChanges{}, err
	}
	if p.From == 0 {
		before, _, err := c.api.parts.Blueprints.Versions(ctx, p.Context, p.Name, to.Version, 1)
		if err != nil {
			return api.BlueprintChanges{}, err
		}
		if len(before) == 0 {
			return api.BlueprintChanges{}, domain.Invalidf("blueprint %q has no version before %d; name one to compare it with", p.Name, to.Version)
		}
		p.From = before[0].Version
	}
	from, err := c.api.parts.Blueprints.Get(ctx, t.ID, p.Name, p.From)
	if err != nil {
		return api.BlueprintChanges{}, err
	}
	changes := append([]domain.DocumentChange{}, blueprint.Diff(&from.Blueprint, &to.Blueprint)...) // never null
	if !c.who.Permits(t, domain.VerbReadEnv, false, c.group) {
		withoutEnv(&from.Blueprint)
		withoutEnv(&to.Blueprint)
		changes = seenOf(changes, blueprint.Diff(&from.Blueprint, &to.Blueprint))
	}
	return api.BlueprintChanges{From: from.DocumentEntry, To: to.DocumentEntry, Changes: changes}, nil
}

// seenOf are changes as those see them who may not read the values of environments; masked are those between the
// same two without these values. That such a value changed is told, and not which it is.
func seenOf(changes, masked []domain.DocumentChange) []domain.DocumentChange {
	for i, is := range changes {
		if at := slices.IndexFunc(masked, func(m domain.DocumentChange) bool { return m.Path == is.Path }); at >= 0 {
			changes[i] = masked[at]
			continue
		}
		for _, value := range []*any{&changes[i].From, &changes[i].To} {
			if *value != nil {
				*value = api.Redacted
			}
		}
	}
	return changes
}

// DeleteBlueprint removes one with all versions.
func (c Caller) DeleteBlueprint(ctx context.Context, p api.NameBlueprintParams) (api.BlueprintDeleted, error) {
	if _, err := c.mayBlueprint(ctx, domain.VerbDelete, p.Context, p.Name); err != nil {
		return api.BlueprintDeleted{}, err
	}
	n, err := c.api.parts.Blueprints.Delete(ctx, p.Context, p.Name)
	return api.BlueprintDeleted{Name: p.Name, Versions: n}, err
}

// BlueprintSchema is the JSON Schema of a blueprint's file.
func (c Caller) BlueprintSchema(ctx context.Context, _ api.BlueprintSchemaParams) (json.RawMessage, error) {
	if err := c.mayHere(ctx, domain.VerbKnow, "blueprint schema"); err != nil {
		return nil, err
	}
	return blueprint.Schema(), nil
}

// GraphBlueprint draws a version.
func (c Caller) GraphBlueprint(ctx context.Context, p api.GraphBlueprintParams) (api.Drawing, error) {
	if _, err := c.mayBlueprint(ctx, domain.VerbRead, p.Context, p.Name); err != nil {
		return api.Drawing{}, err
	}
	s, err := c.api.parts.Blueprints.Get(ctx, p.Context, p.Name, p.Version)
	if err != nil {
		return api.Drawing{}, err
	}
	return DrawGraph(blueprint.NewGraph(&s.Blueprint), p.Format)
}

// DrawGraph draws a graph as a format says; "" leaves it as it is.
//
// Errors: [domain.ErrInvalid] for a format that there is not.
func DrawGraph(g *domain.Graph, format string) (api.Drawing, error) {
	if format == "" {
		return api.Drawing{Graph: g}, nil
	}
	var text bytes.Buffer
	err := blueprint.Draw(g, &text, format)
	return api.Drawing{Format: format, Text: text.String()}, err
}
