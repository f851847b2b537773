package sagatest

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/saga/definition"
	"github.com/ramet-run/ramet/saga/machine"
)

// RunFile runs a file of tests.
//
// Errors: *[document.Error] for a file, of tests or of the saga, that is wrong;
// those of [domain.FileErrorf]. Cases that fail are no error.
func RunFile(path string) (Report, error) {
	f, err := read(path)
	if err != nil {
		return Report{}, err
	}
	m, err := machine.Compile(f.def)
	if err != nil {
		return Report{}, err
	}
	report := Report{File: path, Saga: f.def.Name, SagaFile: filepath.Join(filepath.Dir(path), f.Saga), Warnings: f.warnings}
	hash := definition.Hash(f.def)
	for i := range f.Cases {
		report.Cases = append(report.Cases, run(m, hash, int64(f.Start), &f.Cases[i]))
	}
	return report, nil
}

// maxTimers bounds how many timers come in one move: some set themselves again.
const maxTimers = 10_000

// rig is a case that runs.
type rig struct {
	m    *machine.Machine
	in   *domain.SagaInstance
	now  int64
	made int            // events
	rung map[int64]bool // timers that came, by their instants
	out  Case

	asked []domain.WorkItem // all that was
	// Of the move that is being made:
	work    []domain.WorkItem
	changed bool
	err     error
}

// run runs a case up to the first move that is not as expected: what comes
// after would be so neither.
func run(m *machine.Machine, hash string, start int64, c *testCase) Case {
	r := &rig{m: m, in: m.New("", c.Correlation, hash), now: start, rung: map[int64]bool{}, out: Case{Name: c.Name}}
	for _, part := range []struct {
		name  string
		moves []move
	}{{"given", c.Given}, {"then", c.Then}} {
		for i := range part.moves {
			mv := &part.moves[i]
			r.out.Moves++
			if lines := r.move(mv); len(lines) > 0 {
				r.out.Failure = &Failure{Move: fmt.Sprintf("%s[%d]", part.name, i), What: mv.what(), Line: mv.line, Lines: lines}
				return r.out
			}
		}
	}
	return r.out
}

// move makes one, and says what is not as expected.
func (r *rig) move(mv *move) []string {
	r.work, r.changed, r.err = nil, false, nil
	switch {
	case mv.After != nil:
		r.pass(r.now + mv.After.Time().Milliseconds())
	case mv.At != nil:
		if int64(*mv.At) < r.now {
			return []string{"at: the instant is in the past"}
		}
		r.pass(int64(*mv.At))
	}
	ev, err := r.event(mv)
	if err != nil {
		return []string{err.Error()}
	}
	if ev != nil {
		r.send(ev)
	}
	return r.compare(mv.Expect)
}

// pass lets time pass, with the timers that come. One whose event waits stays
// set, but does not come again.
func (r *rig) pass(until int64) {
	for range maxTimers {
		next := -1
		for i, t := range r.in.Timers {
			if t.DueMs <= until && !r.rung[t.DueMs] && (next < 0 || t.DueMs < r.in.Timers[next].DueMs) {
				next = i
			}
		}
		if next < 0 {
			break
		}
		t := r.in.Timers[next]
		r.rung[t.DueMs] = true
		r.now = max(r.now, t.DueMs)
		r.send(&domain.Event{ID: r.id(), Type: t.Event, Timer: t.DueMs, Saga: r.in.Saga, Correlation: r.in.Correlation,
			SchemaVersion: 1, TimeMs: t.DueMs, Payload: t.Payload})
	}
	r.now = until
}

func (r *rig) id() string {
	r.made++
	return "e" + strconv.Itoa(r.made)
}

// send gives the instance an event.
func (r *rig) send(ev *domain.Event) {
	tr, err := r.advance(ev)
	r.err = errors.Join(r.err, err)
	for i := range tr.Poison {
		r.err = errors.Join(r.err, fmt.Errorf("deferred event %s: %w", tr.Poison[i].Event.Type, tr.Poison[i].Err))
	}
	if tr.Instance == nil || tr.Ignored {
		return
	}
	r.changed = true
	r.in = tr.Instance
	r.work = append(r.work, tr.Work...)
	r.asked = append(r.asked, tr.Work...)
}

// advance does what the node would do.
func (r *rig) advance(ev *domain.Event) (machine.Transition, error) {
	err := r.m.Upcast(ev)
	var version *machine.VersionError
	if errors.As(err, &version) {
		switch r.m.Definition().OnVersion {
		case domain.VersionIgnore:
			return machine.Transition{}, nil
		case domain.VersionCompensate:
			tr, err := r.m.Compensate(r.in, ev)
			if err != nil {
				return r.m.Fail(r.in, ev, err), err
			}
			return tr, nil
		}
		return machine.Transition{}, err
	}
	var tr machine.Transition
	if err == nil {
		tr, err = r.m.Advance(r.in, ev)
	}
	var refused *machine.ResultError
	if errors.As(err, &refused) {
		return machine.Transition{}, err
	}
	if err != nil {
		return r.m.Fail(r.in, ev, err), err
	}
	return tr, nil
}

// event makes the event of a move; nil where it has none.
func (r *rig) event(mv *move) (*domain.Event, error) {
	var ev *domain.Event
	var err error
	switch {
	case mv.Event != nil:
		ev, err = r.trigger(mv.Event)
	case mv.Result != nil:
		ev, err = r.result(mv.Result)
	}
	if ev == nil || err != nil {
		return nil, err
	}
	ev.TimeMs = r.now
	if ev.ID == "" {
		ev.ID = r.id()
	}
	if id, err := r.m.Correlate(ev); err != nil {
		return nil, fmt.Errorf("correlation: %w", err)
	} else if id != r.in.Correlation {
		return nil, fmt.Errorf("the event is for instance %q, and this case is about %q", id, r.in.Correlation)
	}
	return ev, nil
}

// trigger makes an event of the trigger that takes it.
func (r *rig) trigger(e *event) (*domain.Event, error) {
	def := r.m.Definition()
	ev := &domain.Event{ID: e.ID, Type: e.Type, SchemaVersion: max(e.Version, 1), Payload: e.Payload, Metadata: e.Metadata}
	if ev.Metadata[domain.MetaCorrelation] == "" && def.Correlation == "" {
		ev.Metadata = map[string]string{domain.MetaCorrelation: r.in.Correlation}
		if def.CorrelationHeader != "" {
			ev.Metadata = map[string]string{def.CorrelationHeader: r.in.Correlation}
		}
		for name, text := range e.Metadata {
			ev.Metadata[name] = text
		}
	}
	id := e.AggregateID
	if id == "" {
		id = r.in.Correlation
	}
	for _, step := range def.Commands {
		if e.Type == domain.RefusedEvent(step) { // needs no trigger
			ev.Source, ev.Saga, ev.Correlation, ev.Life = domain.SourceWorkflow, def.Name, r.in.Correlation, r.in.Life
			return ev, r.sent(step)
		}
	}
	for i := range def.Triggers {
		t := &def.Triggers[i]
		source, of := t.Source, t.Of
		if source == "" {
			source = domain.SourceAggregate
		}
		if e.Source != "" && e.Source != source {
			continue
		}
		if e.Of != "" || of == domain.AnyEvent {
			of = e.Of
		}
		try := *ev
		try.Source = source
		switch source {
		case domain.SourceAggregate:
			try.AggregateType, try.AggregateID = of, id
		case domain.SourceFact:
			try.Saga, try.Correlation = of, r.in.Correlation
		case domain.SourceResult:
			try.Effect = of
		case domain.SourceWorkflow:
			try.Saga, try.Correlation = def.Name, r.in.Correlation
		}
		if r.m.Takes(&try) {
			return &try, nil
		}
	}
	return nil, fmt.Errorf("no trigger takes event %q", e.Type)
}

// sent checks that a command of a step was sent: else nobody can have refused it.
func (r *rig) sent(step string) error {
	for i := range r.asked {
		if w := &r.asked[i]; w.Kind == domain.WorkCommand && w.Step == step {
			return nil
		}
	}
	return fmt.Errorf("no command was sent under step %q", step)
}

// result makes the event of a result.
func (r *rig) result(res *result) (*domain.Event, error) {
	typ := res.Type
	if typ == "" {
		typ = domain.ResultSucceeded
	}
	item, err := r.awaited(res)
	if err != nil {
		return nil, err
	}
	return &domain.Event{Type: domain.ResultEvent(item.Effect, typ), Source: domain.SourceResult, Effect: item.Effect, CommandID: item.ID,
		Saga: r.in.Saga, Correlation: r.in.Correlation, SchemaVersion: 1, Payload: res.Payload, Metadata: item.Metadata}, nil
}

// awaited finds the effect that a result is of: the newest that was asked for.
func (r *rig) awaited(res *result) (*domain.WorkItem, error) {
	for i := range slices.Backward(r.asked) {
		w := &r.asked[i]
		if w.Kind != domain.WorkEffect {
			continue
		}
		if res.Step != "" && w.Step == res.Step || res.Undo != "" && w.Compensates == res.Undo ||
			res.Effect != "" && w.Effect == res.Effect {
			return w, nil
		}
	}
	var names []string
	for i := range r.asked {
		if w := &r.asked[i]; w.Kind == domain.WorkEffect {
			names = append(names, w.Effect)
		}
	}
	text, _ := json.Marshal(names)
	return nil, fmt.Errorf("no such effect was asked for; there were %s", text)
}
