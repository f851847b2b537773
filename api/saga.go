package api

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/stream"
)

// Sagas is what the operations need of the engine of sagas.
type Sagas interface {
	Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, def *domain.SagaDefinition,
		from saga.From) (_ definition.Stored, existing bool, err error)
	Definition(ctx context.Context, tenant domain.TenantID, name string, version int) (definition.Stored, error)
	Definitions(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []definition.Entry, next string, err error)
	Versions(ctx context.Context, tenant domain.TenantID, name string, below, limit int) (list []definition.Entry, next int, err error)
	Delete(ctx context.Context, tenant domain.TenantID, name string, force bool) (saga.Deleted, error)
	Lags(ctx context.Context, tenant domain.TenantID, name string) ([]saga.Lag, error)

	Instance(ctx context.Context, tenant domain.TenantID, name, correlation string) (*domain.SagaInstance, error)
	Query(ctx context.Context, tenant domain.TenantID, q saga.Query) (list []*domain.SagaInstance, next string, err error)
	History(ctx context.Context, tenant domain.TenantID, name, correlation string, from, limit int) ([]domain.SagaEntry, error)
	Follow(ctx context.Context, tenant domain.TenantID, name, correlation string, after int64, each func([]domain.SagaEntry) error) (*domain.SagaInstance, error)
	Explain(ctx context.Context, tenant domain.TenantID, name, correlation string) (saga.Explanation, error)
	Pause(ctx context.Context, tenant domain.TenantID, name, correlation string) error
	Resume(ctx context.Context, tenant domain.TenantID, name, correlation string) error

	Rebuild(ctx context.Context, tenant domain.TenantID, q saga.Rebuild) (*saga.Rebuilt, error)
	Migrate(ctx context.Context, tenant domain.TenantID, q saga.Migrate) (*saga.Migrated, error)
	Rewind(ctx context.Context, tenant domain.TenantID, name string, n stream.Name, after uint64) error

	PublishAll(ctx context.Context, tenant domain.TenantID, events []*domain.Event) ([]*domain.Event, error)
	DeadLetters(ctx context.Context, tenant domain.TenantID, q saga.DeadQuery) (list []*domain.DeadLetter, next string, err error)
	DeadLetter(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) (*domain.DeadLetter, error)
	Replay(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) error
	Drop(ctx context.Context, tenant domain.TenantID, kind domain.DeadKind, id string) error
}

// sagas is the engine of sagas.
//
// Errors: [domain.ErrUnavailable] where the node has none.
func (c Caller) sagas() (Sagas, error) {
	if c.api.parts.Sagas == nil {
		return nil, c.noStreams()
	}
	return c.api.parts.Sagas, nil
}

func (c Caller) noStreams() error {
	return domain.Unavailablef("sagas and effects need streams of events, and this node has none: %s", c.api.parts.NoStreams)
}

// SagaApplied answers an apply.
//
//	POST /v1/contexts/{context}/sagas
//	     domain.SagaDefinition, or {"text": "name: …"} of YAML or JSON, with lines in errors; {"from": "start"} beside either
type SagaApplied struct {
	definition.Entry
	// Existing is true when the newest had that content: nothing was done.
	Existing bool `json:"existing,omitzero"`
	// Warnings are what is not wrong but may not be meant: effects that no node
	// has, what can have no effect.
	Warnings domain.List[domain.Fault] `json:"warnings,omitzero"`
}

// SagaList is a page of sagas by their names, or of one's versions, newest first.
//
//	GET /v1/contexts/{context}/sagas?cursor=&limit=
//	GET /v1/contexts/{context}/sagas/{saga}/versions?cursor=&limit=
type SagaList struct {
	Sagas domain.List[definition.Entry] `json:"sagas"`
	// Next is the cursor of the next page; "" is the end.
	Next string `json:"next,omitzero"`
}

// SagaDiff says what makes one version of another.
//
//	GET /v1/contexts/{context}/sagas/{saga}/diff?from=&to=
type SagaDiff struct {
	From    definition.Entry             `json:"from"`
	To      definition.Entry             `json:"to"`
	Changes domain.List[document.Change] `json:"changes"`
}

// SagaLags says how far the partitions of a saga have come.
//
//	GET /v1/contexts/{context}/sagas/{saga}/lag
type SagaLags struct {
	Lags domain.List[saga.Lag] `json:"lags"`
}

// Other operations on sagas:
//
//	GET    /v1/contexts/{context}/sagas/{saga}?version=   definition.Stored
//	DELETE /v1/contexts/{context}/sagas/{saga}?force=     saga.Deleted
//	GET    /v1/schemas/saga                               a JSON Schema

// ApplySagaParams are those of saga.apply: a text, or a definition's own fields.
type ApplySagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Text is YAML or JSON. File is its name, for errors.
	Text string `json:"text"`
	File string `json:"file"`
	// From is where a new saga begins to read its streams: now, start, an
	// instant, or positions as AGGREGATE_EVENTS:120, behind which it reads.
	From saga.From `json:"from"`
	domain.SagaDefinition
}

// definition is what is to be applied, with what may not be meant in it.
func (p *ApplySagaParams) definition() (*domain.SagaDefinition, []domain.Fault, error) {
	if p.Text == "" && p.File == "" {
		if err := definition.Validate(&p.SagaDefinition); err != nil {
			return nil, nil, err
		}
		return &p.SagaDefinition, definition.Warnings(&p.SagaDefinition), nil
	}
	if !reflect.ValueOf(p.SagaDefinition).IsZero() {
		return nil, nil, domain.Invalidf("the body has text or file, and fields of a saga; give either")
	}
	return definition.Lint(p.File, []byte(p.Text))
}

// ApplySaga stores a saga as the newest version of its name, and has it served.
func (c Caller) ApplySaga(ctx context.Context, p ApplySagaParams) (SagaApplied, error) {
	if _, err := c.may(ctx, identity.Create, p.Context, "saga"); err != nil {
		return SagaApplied{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return SagaApplied{}, err
	}
	def, warnings, err := p.definition()
	if err != nil {
		return SagaApplied{}, err
	}
	if p.From != "" {
		if _, err := engine.Definition(ctx, p.Context, def.Name, 0); err == nil {
			warnings = append(warnings, domain.Fault{Path: "from",
				Text: "the saga is there: it goes on where it is in the streams that it reads; `ramet saga rewind` has it read one again"})
		}
	}
	s, existing, err := engine.Apply(ctx, p.Context, c.who.Actor, def, p.From)
	if err != nil {
		return SagaApplied{Entry: s.Entry, Existing: existing}, err
	}
	return SagaApplied{s.Entry, existing, append(warnings, c.effectsMissing(ctx, p.Context, def)...)}, nil
}

// effectsMissing warns of effects that no node has which is alive. It is a
// warning: one may be configured later. Names of other contexts' are not told.
func (c Caller) effectsMissing(ctx context.Context, tenant domain.TenantID, def *domain.SagaDefinition) (list []domain.Fault) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil // the saga is applied: that cannot be told here
	}
	served := map[string]bool{}
	for i := range nodes {
		for _, name := range nodes[i].Effects {
			served[name] = served[name] || nodes[i].Alive
		}
	}
	var mine []string
	if engine := c.api.parts.Effects; engine != nil {
		for _, s := range engine.List(ctx) { // of this node: its record may be older
			if served[s.Name] = len(s.Contexts) == 0 || slices.Contains(s.Contexts, tenant); served[s.Name] {
				mine = append(mine, s.Name)
			}
		}
	}
	look := func(path string, names []string) {
		for i, name := range names {
			if served[name] {
				continue
			}
			hint := "; `ramet effect list` shows those of a node"
			if near := domain.Nearest(name, mine); near != "" {
				hint = fmt.Sprintf("; did you mean %q?", near)
			}
			list = append(list, domain.Fault{Path: fmt.Sprintf("%s[%d]", path, i), Text: fmt.Sprintf("no node has an effect %q for this context%s", name, hint)})
		}
	}
	look("effects", def.Effects)
	if def.Compensation != nil {
		look("compensation.effects", def.Compensation.Effects)
	}
	return list
}

// ListSagasParams are those of saga.list.
type ListSagasParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	// Cursor is the next of the page before.
	Cursor string `json:"-" query:"cursor"`
	// Limit is how many a page has at the most, up to 200. 0: that.
	Limit int `json:"-" query:"limit"`
}

// ListSagas lists a page, by name.
func (c Caller) ListSagas(ctx context.Context, p ListSagasParams) (SagaList, error) {
	if _, err := c.may(ctx, identity.Read, p.Context, "sagas"); err != nil {
		return SagaList{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return SagaList{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return SagaList{}, err
	}
	list, next, err := engine.Definitions(ctx, p.Context, p.Cursor, p.Limit)
	return SagaList{list, next}, err
}

// maySaga asks for a right on a saga.
func (c Caller) maySaga(ctx context.Context, verb identity.Verb, tenant domain.TenantID, name string) (Sagas, error) {
	if _, err := c.may(ctx, verb, tenant, "saga:"+name); err != nil {
		return nil, err
	}
	if err := domain.ValidateName("saga", name); err != nil {
		return nil, err
	}
	return c.sagas()
}

// SagaParams name a version of a saga.
type SagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Version 0 is the newest.
	Version int `json:"-" query:"version"`
}

// ShowSaga reads one version.
func (c Caller) ShowSaga(ctx context.Context, p SagaParams) (definition.Stored, error) {
	engine, err := c.maySaga(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return definition.Stored{}, err
	}
	return engine.Definition(ctx, p.Context, p.Name, p.Version)
}

// SagaVersionsParams are those of saga.versions.
type SagaVersionsParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	Cursor  string          `json:"-" query:"cursor"`
	Limit   int             `json:"-" query:"limit"` // up to 200; 0: that
}

// SagaVersions lists the versions of one, newest first.
func (c Caller) SagaVersions(ctx context.Context, p SagaVersionsParams) (SagaList, error) {
	engine, err := c.maySaga(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return SagaList{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return SagaList{}, err
	}
	below, err := versionCursor(p.Cursor)
	if err != nil {
		return SagaList{}, err
	}
	list, next, err := engine.Versions(ctx, p.Context, p.Name, below, p.Limit)
	out := SagaList{Sagas: list}
	if next > 0 {
		out.Next = strconv.Itoa(next)
	}
	return out, err
}

// DiffSagaParams are those of saga.diff.
type DiffSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// To 0 is the newest version, From 0 the one before To.
	From int `json:"-" query:"from"`
	To   int `json:"-" query:"to"`
}

// DiffSaga compares two versions.
func (c Caller) DiffSaga(ctx context.Context, p DiffSagaParams) (SagaDiff, error) {
	engine, err := c.maySaga(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return SagaDiff{}, err
	}
	to, err := engine.Definition(ctx, p.Context, p.Name, p.To)
	if err != nil {
		return SagaDiff{}, err
	}
	if p.From == 0 {
		before, _, err := engine.Versions(ctx, p.Context, p.Name, to.Version, 1)
		if err != nil {
			return SagaDiff{}, err
		}
		if len(before) == 0 {
			return SagaDiff{}, domain.Invalidf("saga %q has no version before %d; name one to compare it with", p.Name, to.Version)
		}
		p.From = before[0].Version
	}
	from, err := engine.Definition(ctx, p.Context, p.Name, p.From)
	if err != nil {
		return SagaDiff{}, err
	}
	return SagaDiff{from.Entry, to.Entry, definition.Diff(from.Definition, to.Definition)}, nil
}

// SagaSchemaParams are those of saga.schema: none.
type SagaSchemaParams struct{}

// SagaSchema is the JSON Schema of a saga's file.
func (c Caller) SagaSchema(ctx context.Context, _ SagaSchemaParams) (json.RawMessage, error) {
	if err := c.mayHere(ctx, identity.Know, "schema"); err != nil {
		return nil, err
	}
	return definition.Schema(), nil
}

// DeleteSagaParams are those of saga.delete.
type DeleteSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
	// Force deletes instances too that have not ended.
	Force bool `json:"-" query:"force"`
}

func (p *DeleteSagaParams) auditDetail() string {
	if p.Force {
		return "with instances that had not ended"
	}
	return ""
}

// DeleteSaga removes a saga with its versions and instances.
func (c Caller) DeleteSaga(ctx context.Context, p DeleteSagaParams) (saga.Deleted, error) {
	engine, err := c.maySaga(ctx, identity.Delete, p.Context, p.Name)
	if err != nil {
		return saga.Deleted{}, err
	}
	return engine.Delete(ctx, p.Context, p.Name, p.Force)
}

// NameSagaParams name a saga.
type NameSagaParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"saga"`
}

// SagaLag says how far a saga has come in its streams.
func (c Caller) SagaLag(ctx context.Context, p NameSagaParams) (SagaLags, error) {
	engine, err := c.maySaga(ctx, identity.Read, p.Context, p.Name)
	if err != nil {
		return SagaLags{}, err
	}
	list, err := engine.Lags(ctx, p.Context, p.Name)
	return SagaLags{list}, err
}
