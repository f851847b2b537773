package sagatest

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// differences collects lines that say what is not as expected.
type differences []string

func (d *differences) add(path, got, want string) {
	*d = append(*d, fmt.Sprintf("%s: got %s, want %s", path, got, want))
}

// compare says what is not as expected after a move; nil expects nothing but
// that there was no error.
func (r *rig) compare(e *expect) []string {
	var d differences
	if e == nil {
		e = &expect{}
	}
	switch {
	case r.err != nil && e.Error == "":
		d.add("error", quote(r.err.Error()), "none")
	case e.Error != "" && r.err == nil:
		d.add("error", "none", quote(e.Error))
	case e.Error != "" && !strings.Contains(r.err.Error(), e.Error):
		d.add("error", quote(r.err.Error()), "one with "+quote(e.Error))
	}
	d.text("state", r.in.State, e.State)
	d.text("status", string(r.in.Status), e.Status)
	d.text("outcome", string(r.in.Outcome), e.Outcome)
	if e.Data != nil {
		d.json("data", r.in.Data, e.Data, false)
	}
	if e.DataIs != nil {
		d.json("data", r.in.Data, e.DataIs, true)
	}
	if e.Work != nil {
		d.work(r.work, *e.Work)
	}
	if e.Timers != nil {
		d.timers(r.in.Timers, r.now, *e.Timers)
	}
	d.steps(r.in.Steps, e.Steps)
	if e.Deferred != nil {
		types := []string{}
		for i := range r.in.Deferred {
			types = append(types, r.in.Deferred[i].Type)
		}
		if !slices.Equal(types, *e.Deferred) {
			d.add("deferred", fmt.Sprint(types), fmt.Sprint(*e.Deferred))
		}
	}
	d.flag("ignored", !r.changed && r.err == nil, e.Ignored)
	d.flag("held", r.in.Held != "", e.Held)
	return d
}

func quote(s string) string { return fmt.Sprintf("%q", s) }

func (d *differences) text(path, got string, want *string) {
	if want != nil && *want != got {
		d.add(path, quote(got), quote(*want))
	}
}

func (d *differences) flag(path string, got bool, want *bool) {
	if want != nil && *want != got {
		d.add(path, fmt.Sprint(got), fmt.Sprint(*want))
	}
}

// json compares JSON texts. Unless all is meant, objects may have more.
func (d *differences) json(path string, got, want []byte, all bool) {
	d.values(path, decode(got), decode(want), all)
}

func decode(text []byte) any {
	if len(text) == 0 {
		return nil
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		panic("BUG: what was read or made is no JSON: " + err.Error())
	}
	return v
}

func (d *differences) values(path string, got, want any, all bool) {
	switch want := want.(type) {
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if have, there := got[name]; there {
				d.values(path+"."+name, have, want[name], all)
			} else {
				d.add(path+"."+name, "nothing", compact(want[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(got)) {
			if _, wanted := want[name]; all && !wanted {
				d.add(path+"."+name, compact(got[name]), "nothing")
			}
		}
		return
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			d.values(fmt.Sprintf("%s[%d]", path, i), got[i], want[i], all)
		}
		return
	}
	if g, w := compact(got), compact(want); g != w {
		d.add(path, g, w)
	}
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: JSON cannot be written: " + err.Error())
	}
	return string(text)
}

// work compares the items that were asked for.
func (d *differences) work(got []domain.WorkItem, want []json.RawMessage) {
	if len(got) != len(want) {
		d.add("work", items(got), fmt.Sprintf("%d items", len(want)))
		return
	}
	for i := range got {
		d.json(fmt.Sprintf("work[%d]", i), item(&got[i]), want[i], false)
	}
}

// items lists items for people.
func items(list []domain.WorkItem) string {
	if len(list) == 0 {
		return "none"
	}
	texts := make([]string, len(list))
	for i := range list {
		texts[i] = string(item(&list[i]))
	}
	return fmt.Sprintf("%d items: %s", len(list), strings.Join(texts, ", "))
}

// item is an item of work as a test has it.
func item(w *domain.WorkItem) []byte {
	m := map[string]any{}
	text := func(name, s string) {
		if s != "" {
			m[name] = s
		}
	}
	switch w.Kind {
	case domain.WorkCommand:
		m["command"] = map[string]any{"aggregate_type": w.AggregateType, "aggregate_id": w.AggregateID}
	case domain.WorkFact:
		text("fact", w.Type)
	default:
		text("event", w.Type)
	}
	text("effect", w.Effect)
	text("step", w.Step)
	text("compensates", w.Compensates)
	text("saga", w.ToSaga)
	text("correlation", w.ToID)
	if w.Payload != nil {
		m["payload"] = w.Payload
	}
	m["metadata"] = w.Metadata
	return []byte(compact(m))
}

// timers compares when the timers come that are set.
func (d *differences) timers(got []domain.SagaTimer, now int64, want map[string]string) {
	have := map[string][]string{}
	for _, t := range got {
		have[t.Event] = append(have[t.Event], (time.Duration(t.DueMs-now) * time.Millisecond).String())
	}
	for _, event := range slices.Sorted(maps.Keys(want)) {
		span, err := domain.ParseSpan(want[event])
		switch {
		case err != nil:
			d.add("timers."+event, quote(want[event]), "a span of time, as 30m")
		case len(have[event]) == 0:
			d.add("timers."+event, "none", span.Time().String())
		case len(have[event]) > 1 || have[event][0] != span.Time().String():
			d.add("timers."+event, strings.Join(have[event], " and "), span.Time().String())
		}
		delete(have, event)
	}
	for _, event := range slices.Sorted(maps.Keys(have)) {
		d.add("timers."+event, strings.Join(have[event], " and "), "none")
	}
}

// steps compares the newest step of each name.
func (d *differences) steps(got []domain.SagaStep, want map[string]string) {
	have := map[string]domain.StepState{}
	for i := range got {
		have[got[i].Name] = got[i].State
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		switch is, there := have[name]; {
		case !there:
			d.add("steps."+name, "none", quote(want[name]))
		case string(is) != want[name]:
			d.add("steps."+name, quote(string(is)), quote(want[name]))
		}
	}
}
