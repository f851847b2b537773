package machine

import (
	"slices"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// Machine is a compiled definition. It is safe for concurrent use.
type Machine struct {
	def    *domain.SagaDefinition
	states map[string]*state
	events map[string]*eventVersions
	// effects may be asked for by the program, undo by a compensation.
	effects, undo, timers map[string]bool
	commands, refusals    map[string]bool // steps of commands that may be refused, and the types of the events of that
	steps                 map[string]bool // that can be undone
	data                  []byte          // of a new instance, canonical
	program               *program
	warnings              []domain.Fault
	correlation           *expression // nil: by header
}

// state is a state with its reactions.
type state struct {
	*domain.SagaState
	other domain.Reaction // to what On does not name; "": none
}

// Compile makes a machine of a definition, which must not be changed after.
//
// Errors: [domain.ErrInvalid] with the first fault.
func Compile(def *domain.SagaDefinition) (*Machine, error) {
	m, faults := compile(def)
	if faults = append(faultsOf(def), faults...); len(faults) > 0 {
		return nil, domain.Invalidf("saga %q: %s", domain.PlainText(def.Name, domain.MaxNameBytes), faults[0])
	}
	return m, nil
}

// Check says all that is wrong with a definition, its programs and expressions
// included: of those, a fault's line and column are those within the text that
// its path names.
func Check(def *domain.SagaDefinition) []domain.Fault {
	_, faults := compile(def)
	return append(faultsOf(def), faults...)
}

// Warnings says what is not wrong but cannot do anything, or may fail when it
// comes to it.
func Warnings(def *domain.SagaDefinition) []domain.Fault {
	m, _ := compile(def)
	return append(idle(def), m.warnings...)
}

func compile(def *domain.SagaDefinition) (*Machine, []domain.Fault) {
	m := &Machine{
		def:      def,
		states:   make(map[string]*state, len(def.States)),
		effects:  setOf(def.Effects),
		timers:   setOf(def.Timers),
		commands: setOf(def.Commands),
		refusals: make(map[string]bool, len(def.Commands)),
	}
	for _, step := range def.Commands {
		m.refusals[domain.RefusedEvent(step)] = true
	}
	for i := range def.States {
		s := &def.States[i]
		m.states[s.Name] = &state{s, s.On[domain.AnyEvent]}
	}
	if c := def.Compensation; c != nil {
		m.steps, m.undo = setOf(c.Steps), setOf(append(slices.Clone(c.Effects), def.Effects...))
	}
	c := compiler{m: m, asked: map[string]bool{}}
	c.data()
	c.program()
	c.correlation()
	c.upcasts()
	c.steps()
	return m, c.faults
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, n := range names {
		set[n] = true
	}
	return set
}

// compiler collects what is wrong.
type compiler struct {
	m      *Machine
	faults []domain.Fault
	// asked are the steps under which the program's text asks for effects; computed
	// is whether some are not written out.
	asked    map[string]bool
	computed bool
}

// rhai says what the Rhai compiler did not like.
func (c *compiler) rhai(path string, err error) {
	e := programError(err)
	c.faults = append(c.faults, domain.Fault{Path: path, Text: e.Text, Line: e.Line, Column: e.Column})
}

func (c *compiler) fault(path, text string) {
	c.faults = append(c.faults, domain.Fault{Path: path, Text: text})
}

// data makes the data of a new instance canonical.
func (c *compiler) data() {
	c.m.data = []byte("{}")
	if len(c.m.def.Data) == 0 {
		return
	}
	v, err := value.ReadJSON(string(c.m.def.Data))
	switch {
	case err != nil:
		c.fault("data", "it is no JSON: "+err.Error())
	case !v.Is(value.MapKind):
		c.fault("data", "it is a "+v.TypeName()+", want names with values")
	default:
		if c.m.data, err = canonical(v, domain.MaxSagaData); err != nil {
			c.fault("data", err.Error())
		}
	}
}

// Definition is what the machine was made of. It must not be changed.
func (m *Machine) Definition() *domain.SagaDefinition { return m.def }

// New is an instance in which nothing has happened. hash is that of the
// definition.
func (m *Machine) New(tenant, correlation, hash string) *domain.SagaInstance {
	return &domain.SagaInstance{
		Saga: m.def.Name, Correlation: correlation, Tenant: tenant,
		Definition: m.def.Version, Hash: hash,
		State: m.def.Initial, Data: m.data, Status: domain.SagaRunning,
	}
}

// Takes reports whether an event is one of its triggers'. Results of its own
// effects and its timers need none.
func (m *Machine) Takes(ev *domain.Event) bool {
	for i := range m.def.Triggers {
		if takes(&m.def.Triggers[i], ev) {
			return true
		}
	}
	return false
}

func takes(t *domain.SagaTrigger, ev *domain.Event) bool {
	if ev.Timer != 0 || sourceOf(t) != ev.Source {
		return false
	}
	of, typ := "", ev.Type
	switch ev.Source {
	case domain.SourceAggregate:
		of = ev.AggregateType
	case domain.SourceFact:
		of = ev.Saga
	case domain.SourceResult:
		effect, r, ok := domain.ParseResultEvent(ev.Type)
		if !ok {
			return false
		}
		of, typ = effect, string(r)
		if len(t.Types) == 0 {
			return t.Of == domain.AnyEvent || t.Of == of
		}
	case domain.SourceWorkflow:
		return slices.Contains(t.Types, typ)
	}
	return (t.Of == domain.AnyEvent || t.Of == of) && slices.Contains(t.Types, typ)
}

func sourceOf(t *domain.SagaTrigger) domain.EventSource {
	if t.Source == "" {
		return domain.SourceAggregate
	}
	return t.Source
}
