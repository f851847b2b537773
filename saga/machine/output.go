package machine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// decision is what a program wants. Nothing of it is done yet.
type decision struct {
	data       json.RawMessage // nil: it stays
	next       string
	work       []domain.WorkItem // without what the transition says
	timers     []domain.SagaTimer
	cancel     []string
	compensate bool
}

// output reads what a program gave. Where it is about a place in that, path is
// where: "work[1].metadata".
type output struct {
	m    *Machine
	now  int64
	undo bool // it undoes a step
}

// wrong is a fault in what a program gave.
func wrong(path, format string, args ...any) *ProgramError {
	return failf("what the program gave: %s: %s", path, fmt.Sprintf(format, args...))
}

// decision reads the answer of on_event.
func (o output) decision(v value.Value) (*decision, error) {
	d := new(decision)
	if v.IsUnit() {
		return d, nil
	}
	if !v.Is(value.MapKind) {
		return nil, failf("the program gave a %s, want () or a map with %s", v.TypeName(), known(decisionKeys))
	}
	for _, e := range v.AsMap().Entries() {
		if !slices.Contains(decisionKeys, e.Key) {
			return nil, unknown("", e.Key, decisionKeys)
		}
		if e.Value.IsUnit() {
			continue
		}
		if err := o.part(d, e.Key, e.Value); err != nil {
			return nil, err
		}
	}
	if d.compensate && d.next != "" {
		return nil, wrong("next", "it is given together with compensate, which has its own states; want one of them")
	}
	return d, nil
}

var decisionKeys = []string{"cancel", "compensate", "next", "state", "timers", "work"}

func (o output) part(d *decision, key string, v value.Value) (err error) {
	switch key {
	case "state":
		if !v.Is(value.MapKind) {
			return wrong(key, "it is a %s, want a map", v.TypeName())
		}
		if d.data, err = canonical(v, domain.MaxSagaData); err != nil {
			return wrong(key, "%v", err)
		}
	case "next":
		if d.next, err = o.text(key, v); err == nil && o.m.states[d.next] == nil {
			return wrong(key, "there is no state %q%s", d.next, o.m.meant(d.next))
		}
	case "compensate":
		if !v.Is(value.BoolKind) {
			return wrong(key, "it is a %s, want true or false", v.TypeName())
		}
		if d.compensate = v.AsBool(); d.compensate && o.m.def.Compensation == nil {
			return wrong(key, "the definition has no compensation")
		}
	case "work":
		if v.Is(value.ArrayKind) && len(v.AsArray().Items) > domain.MaxWork {
			return wrong(key, "it has %d items, one transition may ask for %d: ask for the others when results of these come",
				len(v.AsArray().Items), domain.MaxWork)
		}
		err = each(key, v, domain.MaxWork, func(path string, v value.Value) error {
			item, err := o.item(path, v)
			d.work = append(d.work, item)
			return err
		})
	case "timers":
		err = each(key, v, domain.MaxSagaTimers, func(path string, v value.Value) error {
			t, err := o.timer(path, v)
			d.timers = append(d.timers, t)
			return err
		})
	case "cancel":
		err = each(key, v, domain.MaxSagaTimers, func(path string, v value.Value) error {
			name, err := o.timerName(path, v)
			d.cancel = append(d.cancel, name)
			return err
		})
	}
	return err
}

// each goes through a list.
func each(path string, v value.Value, most int, do func(path string, v value.Value) error) error {
	if !v.Is(value.ArrayKind) {
		return wrong(path, "it is a %s, want an array", v.TypeName())
	}
	items := v.AsArray().Items
	if len(items) > most {
		return wrong(path, "it has %d items, the limit is %d", len(items), most)
	}
	for i, item := range items {
		if err := do(fmt.Sprintf("%s[%d]", path, i), item.Flatten()); err != nil {
			return err
		}
	}
	return nil
}

func (o output) text(path string, v value.Value) (string, error) {
	if !v.Is(value.StringKind) {
		return "", wrong(path, "it is a %s, want a text", v.TypeName())
	}
	return v.AsString(), nil
}

// payload is any value; () is none.
func (o output) payload(path string, v value.Value) (json.RawMessage, error) {
	if v.IsUnit() {
		return nil, nil
	}
	text, err := canonical(v, domain.MaxWorkBytes)
	if err != nil {
		return nil, wrong(path, "%v", err)
	}
	return text, nil
}

// timer reads #{event, after | at_ms, payload}.
func (o output) timer(path string, v value.Value) (t domain.SagaTimer, err error) {
	if !v.Is(value.MapKind) {
		return t, wrong(path, "it is a %s, want a map with %s", v.TypeName(), known(timerKeys))
	}
	due := int64(-1)
	for _, e := range v.AsMap().Entries() {
		at := path + "." + e.Key
		switch e.Key {
		case "event":
			t.Event, err = o.timerName(at, e.Value)
		case "after":
			if due >= 0 {
				return t, wrong(path, "after and at_ms are both given; want one of them")
			}
			due, err = o.after(at, e.Value)
		case "at_ms":
			if due >= 0 {
				return t, wrong(path, "after and at_ms are both given; want one of them")
			}
			if !e.Value.Is(value.IntKind) {
				return t, wrong(at, "it is a %s, want Unix milliseconds", e.Value.TypeName())
			}
			due = max(e.Value.AsInt(), 0)
		case "payload":
			t.Payload, err = o.payload(at, e.Value)
		default:
			return t, unknown(path, e.Key, timerKeys)
		}
		if err != nil {
			return t, err
		}
	}
	switch {
	case t.Event == "":
		return t, wrong(path, "it has no event")
	case due < 0:
		return t, wrong(path, "it has no time; want `after`, as \"30m\", or at_ms")
	}
	t.DueMs = due
	return t, nil
}

var timerKeys = []string{"after", "at_ms", "event", "payload"}

// after is the instant after a span: seconds, or a text such as "1h30m".
func (o output) after(path string, v value.Value) (int64, error) {
	var span domain.Span
	switch {
	case v.Is(value.IntKind) && v.AsInt() >= 0 && v.AsInt() < 1<<32:
		span = domain.Span(v.AsInt())
	case v.Is(value.StringKind):
		var err error
		if span, err = domain.ParseSpan(v.AsString()); err != nil {
			return 0, wrong(path, "%v", err)
		}
	default:
		return 0, wrong(path, "want a span: whole seconds, or a text such as \"30m\"")
	}
	return o.now + int64(span.Time()/time.Millisecond), nil
}

func (o output) timerName(path string, v value.Value) (string, error) {
	name, err := o.text(path, v)
	if err == nil && !o.m.timers[name] {
		return "", wrong(path, "%q is none of the definition's timers%s", name, nearest(name, o.m.def.Timers))
	}
	return name, err
}

// meant suggests a state.
func (m *Machine) meant(name string) string {
	names := make([]string, len(m.def.States))
	for i := range m.def.States {
		names[i] = m.def.States[i].Name
	}
	return nearest(name, names)
}

func nearest(name string, names []string) string {
	if near := domain.Nearest(name, names); near != "" {
		return fmt.Sprintf("; did you mean %q?", near)
	}
	if len(names) == 0 {
		return "; it has none"
	}
	return "; there are " + known(names)
}

// maxKnown bounds how many names are told.
const maxKnown = 12

func known(names []string) string {
	if len(names) > maxKnown {
		return strings.Join(names[:maxKnown], ", ") + ", …"
	}
	return strings.Join(names, ", ")
}

func unknown(path, key string, keys []string) *ProgramError {
	return wrong(join(path, domain.PlainText(key, maxKey)), "there is no such key%s", nearest(key, keys))
}

// maxKey bounds a key that is told.
const maxKey = 100

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
