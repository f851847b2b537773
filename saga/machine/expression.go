package machine

import (
	"context"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai"
	"github.com/ramet-run/ramet/rhai/syntax"
	"github.com/ramet-run/ramet/rhai/value"
)

// expression is a compiled Rhai expression over one name.
type expression struct {
	path, name string
	script     *rhai.Script
}

// expression compiles one that stands at path of the definition.
func (c *compiler) expression(path, text, name string) *expression {
	s, err := engine().CompileExpression(text, rhai.NewScope().SetConst(name, value.Unit))
	if err != nil {
		c.rhai(path, err)
		return nil
	}
	l := linter{c: c, path: path, out: output{m: c.m}, data: true}
	for _, n := range s.Tree().Body {
		l.walk(n)
	}
	return &expression{path, name, s}
}

func (e *expression) of(v value.Value) (out value.Value, err error) {
	defer survive(&err)
	out, err = e.script.Run(context.Background(), rhai.NewScope().SetConst(e.name, v))
	if err != nil {
		p := programError(err)
		p.Path = e.path
		return value.Value{}, p
	}
	return out, nil
}

func (c *compiler) correlation() {
	text := c.m.def.Correlation
	if text == "" {
		return
	}
	if c.m.correlation = c.expression("correlation", text, "event"); c.m.correlation == nil {
		return
	}
	l := linter{c: c, path: "correlation"}
	for _, n := range c.m.correlation.script.Tree().Body {
		syntax.Walk(n, func(n syntax.Node) bool {
			l.eventField(n)
			return true
		})
	}
}

// Correlate says which instance an event is for: by the definition's
// expression or header. Results of its own effects, timers, and what is sent to
// an instance by name know it themselves.
//
// Errors: *[ProgramError]; [domain.ErrInvalid] for what cannot be the id of an
// instance.
func (m *Machine) Correlate(ev *domain.Event) (string, error) {
	id, err := m.correlate(ev)
	if err != nil {
		return "", err
	}
	return id, domain.ValidateCorrelation(id)
}

func (m *Machine) correlate(ev *domain.Event) (string, error) {
	switch {
	case m.own(ev):
		return ev.Correlation, nil
	case m.correlation != nil:
		return m.computed(ev)
	case m.def.CorrelationHeader != "":
		return ev.Metadata[m.def.CorrelationHeader], nil
	case ev.Metadata[domain.MetaCorrelation] != "":
		return ev.Metadata[domain.MetaCorrelation], nil
	}
	return ev.Correlation, nil
}

// own reports that an event names its instance itself.
func (m *Machine) own(ev *domain.Event) bool {
	switch {
	case ev.Timer != 0 || ev.Source == domain.SourceWorkflow:
		return true
	case ev.Source != domain.SourceResult || ev.Correlation == "":
		return false
	}
	return ev.Saga == m.def.Name || ev.Saga == "" && !m.Takes(ev)
}

func (m *Machine) computed(ev *domain.Event) (string, error) {
	v, err := EventValue(ev, ev.At())
	if err != nil {
		return "", err
	}
	if v, err = m.correlation.of(v); err != nil {
		return "", err
	}
	switch {
	case v.Is(value.StringKind), v.Is(value.IntKind):
		return v.Display(), nil
	}
	return "", &ProgramError{Path: "correlation", Text: "it gave a " + v.TypeName() + ", want a text or a whole number"}
}
