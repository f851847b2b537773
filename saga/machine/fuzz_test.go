package machine_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/saga/machine"
)

// FuzzAdvance lets a saga of random reactions have random events, and people
// do random things to it. Whatever happens, what must hold holds.
func FuzzAdvance(f *testing.F) {
	for seed := range uint64(4) {
		f.Add(seed, uint16(60))
	}
	f.Fuzz(func(t *testing.T, seed uint64, events uint16) {
		c := newChaos(t, rand.New(rand.NewPCG(seed, 1)))
		for range min(events, 300) {
			c.step()
		}
	})
}

// TestWhateverHappens is the same for many seeds, each short.
func TestWhateverHappens(t *testing.T) {
	watched.Alone(t)
	reached := map[string]bool{}
	for seed := range uint64(20) {
		c := newChaos(t, rand.New(rand.NewPCG(seed, 2)))
		for range 80 {
			c.step()
		}
		reached[string(c.in.Status)+" "+c.in.State] = true
		for word := range c.seen {
			reached[word] = true
		}
	}
	// A chaos that never gets anywhere shows nothing.
	for _, want := range []string{"ended end", "ended broken", "running undone", "compensating one", "poison", "held", "resumed", "stale", "undone"} {
		if !reached[want] {
			t.Errorf("no seed led to %q: %v", want, reached)
		}
	}
}

// chaos is an instance to which anything happens.
type chaos struct {
	*rig
	rand *rand.Rand
	ids  map[string]string
	n    int64 // of the last work item
	old  []*domain.Event
	dead []*domain.Event
	seen map[string]bool
}

func newChaos(t testing.TB, r *rand.Rand) *chaos {
	text := counter
	for _, typ := range []string{"Wait", "Skip", "Bad"} {
		reactions := []string{"handle", "defer", "ignore", "fail"}
		text = strings.Replace(text, "two:\n    on: {", "two:\n    on: {"+typ+": "+reactions[r.IntN(4)]+", ", 1)
		text = strings.Replace(text, "three:\n    on: {", "three:\n    on: {"+typ+": "+reactions[r.IntN(4)]+", ", 1)
	}
	// Those with two reactions to Skip get one.
	text = strings.ReplaceAll(text, "Skip: ignore, ", "")
	if r.IntN(2) == 0 {
		text += "on_poison: skip\n"
	}
	return &chaos{rig: newRig(t, text), rand: r, ids: map[string]string{}, seen: map[string]bool{}}
}

func (c *chaos) one(of ...string) string { return of[c.rand.IntN(len(of))] }

// payload is what the program is to answer, or what it cannot.
func (c *chaos) payload() string {
	var parts []string
	for range c.rand.IntN(4) {
		switch c.rand.IntN(8) {
		case 0, 1:
			parts = append(parts, fmt.Sprintf(`"next":%q`, c.one("one", "two", "three", "one", "two", "three", "end", "nowhere")))
		case 2, 3:
			var items []string
			for range c.rand.IntN(4) {
				items = append(items, c.one(`{"effect":"work"}`, `{"effect":"work","step":"a"}`, `{"effect":"work","step":"b","payload":{"nothing":1}}`,
					`{"effect":"work","step":"c"}`, `{"effect":"work","step":"b","payload":{"fault":1}}`, `{"fact":"F","payload":[1]}`, `{"effect":"none"}`))
			}
			parts = append(parts, `"work":[`+strings.Join(items, ",")+`]`)
		case 4:
			parts = append(parts, fmt.Sprintf(`"timers":[{"event":%q,"after":%d}]`, c.one("Tick", "Tock"), c.rand.IntN(3)))
		case 5:
			parts = append(parts, `"cancel":["Tick"]`)
		case 6:
			parts = append(parts, `"compensate":true`)
		case 7:
			parts = append(parts, c.one(`"fault":"x"`, `"unknown":1`, `"cancel":[]`))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// event is any that may come, also twice.
func (c *chaos) any() *domain.Event {
	c.now += c.rand.Int64N(3000) - 500 // clocks differ
	switch k := c.rand.IntN(10); {
	case k < 2 && len(c.in.Timers) > 0:
		t := c.in.Timers[c.rand.IntN(len(c.in.Timers))]
		return &domain.Event{ID: c.id(), Type: t.Event, Timer: t.DueMs, Saga: "counter", Correlation: "17", TimeMs: t.DueMs, Payload: t.Payload}
	case k < 6 && len(c.work) > 0:
		w := &c.work[c.rand.IntN(len(c.work))]
		if w.Kind == domain.WorkEffect {
			result := domain.ResultTypes[c.rand.IntN(3)]
			return &domain.Event{ID: c.id(), Type: domain.ResultEvent(w.Effect, result), Source: domain.SourceResult, Effect: w.Effect,
				CommandID: w.ID, Saga: "counter", Correlation: "17", TimeMs: c.now, Payload: raw(c.one("", `{}`, `{"fault":1}`, "{"))}
		}
	case k == 6 && len(c.old) > 0:
		return c.old[c.rand.IntN(len(c.old))]
	}
	return c.rig.event(c.one("Do", "Do", "Wait", "Wait", "Skip", "Bad"), c.payload())
}

func (c *chaos) step() {
	before := mustJSON(c.in)
	in := c.in
	var tr machine.Transition
	switch c.rand.IntN(30) {
	case 0:
		tr = c.m.Pause(in, c.now)
	case 1, 2:
		tr = c.m.Resume(in, c.now)
	case 3, 4, 5:
		if len(c.dead) == 0 {
			return
		}
		ev := c.dead[len(c.dead)-1]
		c.dead = c.dead[:len(c.dead)-1]
		if tr = c.m.Drop(in, ev, c.now); c.rand.IntN(2) == 0 {
			var err error
			if tr, err = c.m.Replay(in, ev, c.now); err != nil {
				c.dead = append(c.dead, ev)
				return
			}
		}
	case 6:
		ev := c.any()
		var err error
		if tr, err = c.m.Compensate(in, ev); err != nil {
			return
		}
	default:
		ev := c.any()
		c.old = append(c.old, ev)
		var err error
		tr, err = c.m.Advance(in, ev)
		again, err2 := c.m.Advance(in, ev)
		if got, want := mustJSON(again)+fmt.Sprint(err2), mustJSON(tr)+fmt.Sprint(err); got != want {
			c.t.Fatalf("the same event does another thing:\n%s\n%s", want, got)
		}
		if refused := (*machine.ResultError)(nil); errors.As(err, &refused) {
			c.seen["refused"] = true
			return
		}
		if err != nil {
			var program *machine.ProgramError
			if !errors.As(err, &program) {
				c.t.Fatalf("%T %v", err, err)
			}
			c.dead = append(c.dead, ev)
			tr = c.m.Fail(in, ev, err)
		}
	}
	if after := mustJSON(in); after != before {
		c.t.Fatalf("the instance that was given was changed:\n%s\n%s", before, after)
	}
	for i := range tr.Poison {
		c.seen["poison"] = true
		c.dead = append(c.dead, &tr.Poison[i].Event)
	}
	c.holds(in, tr)
	c.in = tr.Instance
	c.work = append(c.work, tr.Work...)
}

// holds checks what must hold of every transition.
func (c *chaos) holds(in *domain.SagaInstance, tr machine.Transition) {
	out := tr.Instance
	wrong := func(format string, args ...any) {
		c.t.Helper()
		c.t.Fatalf("%s\nbefore %s\nafter  %s\nwith   %s", fmt.Sprintf(format, args...), mustJSON(in), mustJSON(out), mustJSON(tr.Entries))
	}
	if tr.Ignored {
		if out != in || len(tr.Work)+len(tr.Entries)+len(tr.Set)+len(tr.Clear)+len(tr.Poison) > 0 {
			wrong("something came of an event that was ignored")
		}
		return
	}
	if out.Version != in.Version+1 || len(tr.Entries) == 0 {
		wrong("the version went from %d to %d, with %d entries", in.Version, out.Version, len(tr.Entries))
	}
	here := map[string]bool{}
	for i := range tr.Work {
		w := &tr.Work[i]
		// The same event asks for the same, however often it comes.
		of, there := c.ids[w.ID]
		if c.n++; there && (of != w.Metadata["causation_id"] || here[w.ID]) || w.N != c.n || w.Metadata["correlation_id"] != "17" {
			wrong("work %+v after %d", w, c.n-1)
		}
		c.ids[w.ID], here[w.ID] = w.Metadata["causation_id"], true
	}
	if out.Work != c.n {
		wrong("it counts %d items of %d", out.Work, c.n)
	}
	// Timers: those before, without what is cleared and with what is set.
	set := map[int64]bool{}
	for _, x := range in.Timers {
		set[x.DueMs] = true
	}
	for _, x := range tr.Clear {
		if !set[x.DueMs] {
			wrong("timer %+v is cleared, which was not set", x)
		}
		delete(set, x.DueMs)
	}
	for _, x := range tr.Set {
		if set[x.DueMs] || x.DueMs <= out.UpdatedMs {
			wrong("timer %+v is set", x)
		}
		set[x.DueMs] = true
	}
	timeouts := 0
	for _, x := range out.Timers {
		if !set[x.DueMs] {
			wrong("timer %+v is set, and nobody is told", x)
		}
		delete(set, x.DueMs)
		if x.State != "" {
			if timeouts++; x.State != out.State || out.Status != domain.SagaRunning {
				wrong("the time-out of state %s is set", x.State)
			}
		}
	}
	if len(set) > 0 || timeouts > 1 {
		wrong("timers %v are cleared, and nobody is told", set)
	}
	undoing := 0
	for _, s := range out.Steps {
		if s.State == domain.StepUndoing {
			undoing++
		}
		if s.State == domain.StepUndone {
			c.seen["undone"] = true
		}
		if (s.State == domain.StepCompleted) && s.Order == 0 {
			wrong("step %s has completed in no order", s.Name)
		}
	}
	switch out.Status {
	case domain.SagaEnded:
		if len(out.Timers)+len(out.Deferred) > 0 || out.Outcome == "" {
			wrong("it has ended, and not all has")
		}
	case domain.SagaCompensating:
		if undoing > 1 {
			wrong("%d steps are undone at once", undoing)
		}
		waits := undoing == 1
		for _, s := range out.Steps {
			waits = waits || s.State == domain.StepAsked
		}
		if !waits {
			wrong("it compensates, and waits for nothing")
		}
	default:
		if undoing > 0 {
			wrong("a step is undone of an instance that is not compensated")
		}
	}
	if out.Held != "" {
		c.seen["held"] = true
	}
	for _, e := range tr.Entries {
		if strings.Contains(e.Note, "not set any more") {
			c.seen["stale"] = true
		}
		if e.Note == "resumed" {
			c.seen["resumed"] = true
		}
	}
	again := new(domain.SagaInstance)
	if err := json.Unmarshal([]byte(mustJSON(out)), again); err != nil || mustJSON(again) != mustJSON(out) {
		wrong("as JSON it is another one: %v", err)
	}
}
