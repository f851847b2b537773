package service

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/saga"
	"github.com/ramet-run/ramet/saga/definition"
)

// Sagas is what the operations need of the engine of sagas.
type Sagas interface {
	Apply(ctx context.Context, tenant domain.TenantID, actor domain.ActorID, def *domain.SagaDefinition,
		from domain.SagaFrom) (_ domain.StoredSaga, existing bool, err error)
	Definition(ctx context.Context, tenant domain.TenantID, name string, version int) (domain.StoredSaga, error)
	Definitions(ctx context.Context, tenant domain.TenantID, after string, limit int) (list []domain.DocumentEntry, next string, err error)
	Versions(ctx context.Context, tenant domain.TenantID, name string, below, limit int) (list []domain.DocumentEntry, next int, err error)
	Delete(ctx context.Context, tenant domain.TenantID, name string, force bool) (domain.SagaDeleted, error)
	Lags(ctx context.Context, tenant domain.TenantID, name string) ([]domain.SagaLag, error)

	Instance(ctx context.Context, tenant domain.TenantID, name, correlation string) (*domain.SagaInstance, error)
	Query(ctx context.Context, tenant domain.TenantID, q saga.Query) (list []*domain.SagaInstance, next string, err error)
	History(ctx context.Context, tenant domain.TenantID, name, correlation string, from, limit int) ([]domain.SagaEntry, error)
	Follow(ctx context.Context, tenant domain.TenantID, name, correlation string, after int64, each func([]domain.SagaEntry) error) (*domain.SagaInstance, error)
	Explain(ctx context.Context, tenant domain.TenantID, name, correlation string) (domain.SagaExplanation, error)
	AuditWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error)
	LookWithin(ctx context.Context, tenant domain.TenantID, within time.Duration) (domain.Audit, error)
	Pause(ctx context.Context, tenant domain.TenantID, name, correlation string) error
	Resume(ctx context.Context, tenant domain.TenantID, name, correlation string) error

	Rebuild(ctx context.Context, tenant domain.TenantID, q saga.Rebuild) (*domain.SagaRebuilt, error)
	Migrate(ctx context.Context, tenant domain.TenantID, q saga.Migrate) (*domain.SagaMigrated, error)
	Rewind(ctx context.Context, tenant domain.TenantID, name string, n domain.StreamName, after uint64) error

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

// definitionOf is what is to be applied, with what may not be meant in it.
func definitionOf(p *api.ApplySagaParams) (*domain.SagaDefinition, []domain.Fault, error) {
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
func (c Caller) ApplySaga(ctx context.Context, p api.ApplySagaParams) (api.SagaApplied, error) {
	if _, err := c.may(ctx, domain.VerbCreate, p.Context, "saga"); err != nil {
		return api.SagaApplied{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return api.SagaApplied{}, err
	}
	def, warnings, err := definitionOf(&p)
	if err != nil {
		return api.SagaApplied{}, err
	}
	if p.From != "" {
		if _, err := engine.Definition(ctx, p.Context, def.Name, 0); err == nil {
			warnings = append(warnings, domain.Fault{Path: "from",
				Text: "the saga is there: it goes on where it is in the streams that it reads; `ramet saga rewind` has it read one again"})
		}
	}
	c.did("saga:" + def.Name)
	out, err := makes(ctx, c, thingOf(p.Context, layout.SagaDefKeys.Newest(def.Name), layout.VersionNumber), func(ctx context.Context) (api.SagaApplied, error) {
		s, existing, err := engine.Apply(ctx, p.Context, c.who.Actor, def, p.From)
		return api.SagaApplied{DocumentEntry: s.DocumentEntry, Existing: existing}, err
	}, func(ctx context.Context, was made) (api.SagaApplied, error) {
		s, err := engine.Definition(ctx, p.Context, def.Name, was.version())
		return api.SagaApplied{DocumentEntry: s.DocumentEntry, Existing: true}, sameStored(s.DocumentEntry, definition.Hash(def), err)
	})
	if err == nil {
		missing, _ := c.effectsMissing(ctx, p.Context, def) // the saga is applied: that cannot be told here
		out.Warnings = append(warnings, missing...)
	}
	return out, err
}

// CheckSaga says what an apply would of a saga that is right, and stores nothing.
func (c Caller) CheckSaga(ctx context.Context, p api.ApplySagaParams) (api.SagaChecked, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "saga"); err != nil {
		return api.SagaChecked{}, err
	}
	def, warnings, err := definitionOf(&p)
	if err != nil {
		return api.SagaChecked{}, err
	}
	missing, err := c.effectsMissing(ctx, p.Context, def)
	return api.SagaChecked{Name: def.Name, Warnings: warnings, Effects: missing}, err
}

// effectsMissing warns of effects that no node has which is alive. It is a
// warning: one may be configured later. Names of other contexts' are not told.
func (c Caller) effectsMissing(ctx context.Context, tenant domain.TenantID, def *domain.SagaDefinition) ([]domain.Fault, error) {
	served, mine, err := c.effectsServed(ctx, tenant)
	if err != nil {
		return nil, err
	}
	var list []domain.Fault
	for _, l := range missing(def, served, mine) {
		list = append(list, l.fault())
	}
	return list, nil
}

const lookForEffects = "; `ramet effect list` shows those of a node"

// lacked is an effect that a saga asks for and no node has.
type lacked struct {
	path, name string
	near       string // the nearest name there is; "": none
}

// missing are the effects of a saga that are not among those served.
func missing(def *domain.SagaDefinition, served map[string]bool, mine []string) (list []lacked) {
	look := func(path string, names []string) {
		for i, name := range names {
			if !served[name] {
				list = append(list, lacked{fmt.Sprintf("%s[%d]", path, i), name, domain.Nearest(name, mine)})
			}
		}
	}
	look("effects", def.Effects)
	if def.Compensation != nil {
		look("compensation.effects", def.Compensation.Effects)
	}
	return list
}

func (l lacked) fault() domain.Fault {
	hint := lookForEffects
	if l.near != "" {
		hint = fmt.Sprintf("; did you mean %q?", l.near)
	}
	return domain.Fault{Path: l.path, Text: fmt.Sprintf("no node has an effect %q for this context%s", l.name, hint)}
}

// maxSagasLooked bounds the sagas whose effects an audit looks at.
const maxSagasLooked = 1000

// effectsLacking finds the sagas that ask for effects which no node has that is alive: what
// they ask for waits. It is no part of what is stuck: a node may come.
func (c Caller) effectsLacking(ctx context.Context, tenant domain.TenantID) (found []domain.Finding) {
	served, mine, err := c.effectsServed(ctx, tenant)
	if err != nil {
		return nil // who cannot be asked for the nodes says so elsewhere
	}
	for after, looked := "", 0; looked < maxSagasLooked; {
		list, next, err := c.api.parts.Sagas.Definitions(ctx, tenant, after, 100)
		if err != nil {
			return found
		}
		looked += len(list)
		for _, entry := range list {
			s, err := c.api.parts.Sagas.Definition(ctx, tenant, entry.Name, 0)
			if err != nil {
				continue
			}
			if lacks := missing(s.Definition, served, mine); len(lacks) > 0 {
				found = append(found, domain.Finding{Key: "saga " + entry.Name, Text: lacksText(lacks)})
			}
		}
		if after = next; after == "" {
			return found
		}
	}
	return found
}

// lackedMost is how many effects that a saga lacks are named.
const lackedMost = 5

// lacksText says all that a saga lacks in one: five effects are one thing to look at.
func lacksText(lacks []lacked) string {
	var names []string
	for _, l := range lacks {
		name := strconv.Quote(l.name)
		if l.near != "" {
			name += fmt.Sprintf(" (did you mean %q?)", l.near)
		}
		if !slices.Contains(names, name) { // one may stand among those of the compensation, too
			names = append(names, name)
		}
	}
	if len(names) == 1 {
		return lacks[0].fault().Text
	}
	more := ""
	if n := len(names) - lackedMost; n > 0 {
		names, more = names[:lackedMost], fmt.Sprintf(" and %d more", n)
	}
	return "no node has these effects for this context: " + strings.Join(names, ", ") + more + lookForEffects
}

// effectsServed are the effects that a node does for a context which is alive and on duty
// for that; mine are those of them that this node has.
func (c Caller) effectsServed(ctx context.Context, tenant domain.TenantID) (served map[string]bool, mine []string, err error) {
	nodes, err := c.nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	idle := func(off []domain.Off) bool {
		return slices.ContainsFunc(off, func(o domain.Off) bool { return o.Role == domain.RoleEffect })
	}
	served = map[string]bool{}
	for i := range nodes {
		for _, name := range nodes[i].Effects {
			served[name] = served[name] || nodes[i].Alive && !idle(nodes[i].Off)
		}
	}
	if engine := c.api.parts.Effects; engine != nil && !idle(c.api.parts.Info().Off) {
		for _, s := range engine.List(ctx) { // of this node: its record may be older
			if served[s.Name] = len(s.Contexts) == 0 || slices.Contains(s.Contexts, tenant); served[s.Name] {
				mine = append(mine, s.Name)
			}
		}
	}
	return served, mine, nil
}

// ListSagas lists a page, by name.
func (c Caller) ListSagas(ctx context.Context, p api.ListSagasParams) (api.SagaPage, error) {
	if _, err := c.may(ctx, domain.VerbRead, p.Context, "sagas"); err != nil {
		return api.SagaPage{}, err
	}
	engine, err := c.sagas()
	if err != nil {
		return api.SagaPage{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return api.SagaPage{}, err
	}
	list, next, err := engine.Definitions(ctx, p.Context, p.Cursor, p.Limit)
	return api.SagaPage{Sagas: list, Next: next}, err
}

// maySaga asks for a right on a saga.
func (c Caller) maySaga(ctx context.Context, verb domain.Verb, tenant domain.TenantID, name string) (Sagas, error) {
	if _, err := c.may(ctx, verb, tenant, "saga:"+name); err != nil {
		return nil, err
	}
	if err := domain.ValidateName("saga", name); err != nil {
		return nil, err
	}
	return c.sagas()
}

// ShowSaga reads one version.
func (c Caller) ShowSaga(ctx context.Context, p api.SagaParams) (domain.StoredSaga, error) {
	engine, err := c.maySaga(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return domain.StoredSaga{}, err
	}
	s, err := engine.Definition(ctx, p.Context, p.Name, p.Version)
	if err != nil {
		return s, err
	}
	_, err = c.api.parts.Bans.Get(ctx, sagaScope(p.Context, p.Name))
	if s.Paused = err == nil; errors.Is(err, domain.ErrNotFound) {
		err = nil
	}
	return s, err
}

// SagaVersions lists the versions of one, newest first.
func (c Caller) SagaVersions(ctx context.Context, p api.SagaVersionsParams) (api.SagaPage, error) {
	engine, err := c.maySaga(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.SagaPage{}, err
	}
	if err := checkLimit(p.Limit); err != nil {
		return api.SagaPage{}, err
	}
	below, err := versionCursor(p.Cursor)
	if err != nil {
		return api.SagaPage{}, err
	}
	list, next, err := engine.Versions(ctx, p.Context, p.Name, below, p.Limit)
	out := api.SagaPage{Sagas: list}
	if next > 0 {
		out.Next = strconv.Itoa(next)
	}
	return out, err
}

// DiffSaga compares two versions.
func (c Caller) DiffSaga(ctx context.Context, p api.DiffSagaParams) (api.SagaChanges, error) {
	engine, err := c.maySaga(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.SagaChanges{}, err
	}
	to, err := engine.Definition(ctx, p.Context, p.Name, p.To)
	if err != nil {
		return api.SagaChanges{}, err
	}
	if p.From == 0 {
		before, _, err := engine.Versions(ctx, p.Context, p.Name, to.Version, 1)
		if err != nil {
			return api.SagaChanges{}, err
		}
		if len(before) == 0 {
			return api.SagaChanges{}, domain.Invalidf("saga %q has no version before %d; name one to compare it with", p.Name, to.Version)
		}
		p.From = before[0].Version
	}
	from, err := engine.Definition(ctx, p.Context, p.Name, p.From)
	if err != nil {
		return api.SagaChanges{}, err
	}
	return api.SagaChanges{From: from.DocumentEntry, To: to.DocumentEntry, Changes: definition.Diff(from.Definition, to.Definition)}, nil
}

// SagaSchema is the JSON Schema of a saga's file.
func (c Caller) SagaSchema(ctx context.Context, _ api.SagaSchemaParams) (json.RawMessage, error) {
	if err := c.mayHere(ctx, domain.VerbKnow, "schema"); err != nil {
		return nil, err
	}
	return definition.Schema(), nil
}

// DeleteSaga removes a saga with its versions and instances.
func (c Caller) DeleteSaga(ctx context.Context, p api.DeleteSagaParams) (domain.SagaDeleted, error) {
	engine, err := c.maySaga(ctx, domain.VerbDelete, p.Context, p.Name)
	if err != nil {
		return domain.SagaDeleted{}, err
	}
	return engine.Delete(ctx, p.Context, p.Name, p.Force)
}

// SagaLag says how far a saga has come in its streams.
func (c Caller) SagaLag(ctx context.Context, p api.NameSagaParams) (api.SagaLags, error) {
	engine, err := c.maySaga(ctx, domain.VerbRead, p.Context, p.Name)
	if err != nil {
		return api.SagaLags{}, err
	}
	list, err := engine.Lags(ctx, p.Context, p.Name)
	return api.SagaLags{Lags: list}, err
}
