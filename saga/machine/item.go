package machine

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/value"
)

// itemKinds are the keys that say of which kind an item is, and what else one
// of that kind has.
var itemKinds = []struct {
	key  string
	kind domain.WorkKind
	keys []string
}{
	{"effect", domain.WorkEffect, []string{"effect", "metadata", "payload", "step"}},
	{"command", domain.WorkCommand, []string{"command", "metadata", "payload", "step"}},
	{"saga", domain.WorkInternal, []string{"correlation", "event", "metadata", "payload", "saga"}},
	{"fact", domain.WorkFact, []string{"fact", "metadata", "payload"}},
}

// item reads one of the items of work:
//
//	#{effect, step, payload, metadata}
//	#{command: #{aggregate_type, aggregate_id}, step, payload, metadata}
//	#{saga, correlation, event, payload, metadata}
//	#{fact, payload, metadata}
func (o output) item(path string, v value.Value) (w domain.WorkItem, err error) {
	if !v.Is(value.MapKind) {
		return w, wrong(path, "it is a %s, want a map with effect, command, saga or fact", v.TypeName())
	}
	m := v.AsMap()
	var keys []string
	for _, k := range itemKinds {
		if m.Find(k.key) < 0 {
			continue
		}
		if keys != nil {
			return w, wrong(path, "it has more than one of effect, command, saga and fact; want one")
		}
		w.Kind, keys = k.kind, k.keys
	}
	if keys == nil {
		return w, wrong(path, "it has none of effect, command, saga and fact; want one")
	}
	for _, e := range m.Entries() {
		if err := o.field(&w, path, e.Key, e.Value.Flatten(), keys); err != nil {
			return w, err
		}
	}
	return w, o.whole(&w, path)
}

var undoKeys = []string{"effect", "metadata", "payload"}

// undoItem reads what a compensation gave to undo a step:
// #{effect, payload, metadata}.
func (o output) undoItem(v value.Value, step string) (*domain.WorkItem, error) {
	if !v.Is(value.MapKind) {
		return nil, failf("compensate gave a %s for step %q, want () or a map with %s", v.TypeName(), step, known(undoKeys))
	}
	w := &domain.WorkItem{Kind: domain.WorkEffect, Compensates: step}
	o.undo = true
	for _, e := range v.AsMap().Entries() {
		if err := o.field(w, "", e.Key, e.Value.Flatten(), undoKeys); err != nil {
			return nil, err
		}
	}
	if w.Effect == "" {
		return nil, failf("compensate gave no effect for step %q", step)
	}
	return w, nil
}

// field reads one key of an item.
func (o output) field(w *domain.WorkItem, path, key string, v value.Value, keys []string) (err error) {
	at := join(path, key)
	switch {
	case !slices.Contains(keys, key):
		return unknown(path, key, keys)
	case v.IsUnit() && (key == "metadata" || key == "step"):
		return nil
	}
	switch key {
	case "effect":
		if w.Effect, err = o.text(at, v); err == nil {
			err = o.mayAsk(at, w.Effect)
		}
	case "step":
		if w.Step, err = o.text(at, v); err == nil {
			err = named(at, domain.ValidateName("step", w.Step))
			if err == nil && w.Kind == domain.WorkCommand && !o.m.commands[w.Step] {
				err = wrong(at, "%q is none of the definition's commands%s", w.Step, nearest(w.Step, o.m.def.Commands))
			}
		}
	case "command":
		return o.aggregate(w, at, v)
	case "saga":
		if w.ToSaga, err = o.text(at, v); err == nil {
			err = named(at, domain.ValidateName("saga", w.ToSaga))
		}
	case "correlation":
		if w.ToID, err = o.name(at, v); err == nil {
			err = named(at, domain.ValidateCorrelation(w.ToID))
		}
	case "event", "fact":
		if w.Type, err = o.text(at, v); err == nil {
			err = named(at, domain.ValidateEventType(w.Type))
		}
	case "payload":
		w.Payload, err = o.payload(at, v)
	case "metadata":
		w.Metadata, err = o.metadata(at, v)
	}
	return err
}

// mayAsk checks that the definition names an effect.
func (o output) mayAsk(path, effect string) error {
	if known, names := o.effects(); !known[effect] {
		return wrong(path, "%q is none of the definition's effects%s", effect, nearest(effect, names))
	}
	return nil
}

// effects are those that may be asked for.
func (o output) effects() (map[string]bool, []string) {
	if !o.undo {
		return o.m.effects, o.m.def.Effects
	}
	return o.m.undo, slices.Concat(o.m.def.Compensation.Effects, o.m.def.Effects)
}

// named says where a name is wrong.
func named(path string, err error) error {
	if err != nil {
		return wrong(path, "%v", err)
	}
	return nil
}

// whole checks that nothing is missing.
func (o output) whole(w *domain.WorkItem, path string) error {
	if w.Kind != domain.WorkInternal {
		return nil
	}
	switch {
	case w.ToID == "":
		return wrong(path, "it has no correlation: which instance it is for")
	case w.Type == "":
		return wrong(path, "it has no event")
	}
	return nil
}

// name is a text, or a number as such.
func (o output) name(path string, v value.Value) (string, error) {
	if v.Is(value.IntKind) {
		return v.Display(), nil
	}
	return o.text(path, v)
}

var aggregateKeys = []string{"aggregate_id", "aggregate_type"}

// aggregate reads whom a command is for.
func (o output) aggregate(w *domain.WorkItem, path string, v value.Value) (err error) {
	if !v.Is(value.MapKind) {
		return wrong(path, "it is a %s, want a map with aggregate_type and aggregate_id", v.TypeName())
	}
	for _, e := range v.AsMap().Entries() {
		at := path + "." + e.Key
		switch e.Key {
		case "aggregate_type":
			w.AggregateType, err = o.text(at, e.Value)
		case "aggregate_id":
			w.AggregateID, err = o.name(at, e.Value)
		default:
			return unknown(path, e.Key, aggregateKeys)
		}
		if err != nil {
			return err
		}
	}
	for _, part := range []struct{ name, text string }{{"aggregate_type", w.AggregateType}, {"aggregate_id", w.AggregateID}} {
		if part.text == "" || domain.PlainText(part.text, domain.MaxAggregateToken) != part.text {
			return wrong(path+"."+part.name, "want 1 to %d bytes of text", domain.MaxAggregateToken)
		}
	}
	return nil
}

// reserved are the metadata that the transition gives to every item.
var reserved = []string{domain.MetaCorrelation, domain.MetaTrace, domain.MetaSaga, domain.MetaStep, domain.MetaCausation}

// Bounds of metadata, in bytes: they travel in headers.
const (
	maxMetaName = 64
	maxMetaText = 256
)

func (o output) metadata(path string, v value.Value) (map[string]string, error) {
	if !v.Is(value.MapKind) {
		return nil, wrong(path, "it is a %s, want a map", v.TypeName())
	}
	if n := v.AsMap().Len(); n > domain.MaxWorkMetadata {
		return nil, wrong(path, "it has %d names, the limit is %d", n, domain.MaxWorkMetadata)
	}
	out := make(map[string]string, v.AsMap().Len()+len(reserved))
	for _, e := range v.AsMap().Entries() {
		at := path + "." + domain.PlainText(e.Key, maxMetaName)
		text, err := o.name(at, e.Value)
		switch {
		case err != nil:
			return nil, err
		case slices.Contains(reserved, e.Key):
			return nil, wrong(at, "it is set by the machine itself, as are %s", strings.Join(reserved, ", "))
		case e.Key == "" || domain.PlainText(e.Key, maxMetaName) != e.Key || domain.PlainText(text, maxMetaText) != text:
			return nil, wrong(at, "want a name of up to %d bytes and a text of up to %d", maxMetaName, maxMetaText)
		}
		out[e.Key] = text
	}
	return out, nil
}
