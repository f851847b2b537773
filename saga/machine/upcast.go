package machine

import (
	"cmp"
	"fmt"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// eventVersions says what of a type of event is taken.
type eventVersions struct {
	min, max int
	upcast   map[int]*expression // by the version that it takes
}

func (c *compiler) upcasts() {
	c.m.events = make(map[string]*eventVersions, len(c.m.def.Events))
	for i := range c.m.def.Events {
		e := &c.m.def.Events[i]
		v := &eventVersions{e.MinVersion, e.MaxVersion, map[int]*expression{}}
		for _, u := range e.Upcast {
			v.upcast[u.From] = c.expression(fmt.Sprintf("events.%s.upcast.%d", e.Type, u.From), u.Expr, "payload")
		}
		c.m.events[e.Type] = v
	}
}

// Upcast makes an event's payload one of the newest schema version that the
// definition takes, and looks whether its version is taken at all.
//
// Errors: *[VersionError]; *[ProgramError] where an upcast fails.
func (m *Machine) Upcast(ev *domain.Event) error {
	e := m.events[ev.Type]
	if e == nil {
		return nil
	}
	version := cmp.Or(ev.SchemaVersion, 1)
	if version < e.min || e.max > 0 && version > e.max {
		return &VersionError{ev.Type, version, e.min, e.max}
	}
	if e.upcast[version] == nil {
		return nil
	}
	v, err := payloadValue(ev.Payload)
	if err != nil {
		return err
	}
	for u := e.upcast[version]; u != nil; u = e.upcast[version] {
		if v, err = u.of(v); err != nil {
			return err
		}
		version++
	}
	text, err := canonical(v, domain.MaxEventBytes)
	if err != nil {
		return failf("upcast to version %d: %v", version, err)
	}
	ev.Payload, ev.SchemaVersion = text, version
	return nil
}

func payloadValue(text []byte) (value.Value, error) {
	if len(text) == 0 {
		return value.Unit, nil
	}
	v, err := value.ReadJSON(string(text))
	if err != nil {
		return v, failf("the event's payload is no JSON: %v", err)
	}
	return v, nil
}
