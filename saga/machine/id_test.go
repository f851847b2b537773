package machine_test

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestIdsAreThoseOfWhatHappened: where board and streams have lost a moment, a result and
// the event of a timer come once more, at another time and, where they stand in other
// streams, at another version. What comes of them has the ids that it had.
func TestIdsAreThoseOfWhatHappened(t *testing.T) {
	m := compiled(t, `
name: s
initial: open
correlation: event.aggregate_id
triggers: [{of: Thing, types: [Begin, Other]}]
effects: [do]
timers: [Tick]
states:
  open: {on: {"*": handle}}
  closed: {final: true}
script: |
  fn on_event(state, event) {
    switch event.type {
      "Begin" => #{work: [#{effect: "do", step: "first"}]},
      "Other" => #{},
      "Tick" => #{work: [#{effect: "do", step: "last"}]},
      _ => #{timers: [#{event: "Tick", after: "10s"}], work: [#{effect: "do", step: "next"}]}
    }
  }`)
	live := func(late int64, others int) (ids []string) {
		in := m.New("acme", "1", "hash")
		at := int64(1_700_000_000_000)
		take := func(ev domain.Event) {
			t.Helper()
			tr, err := m.Advance(in, &ev)
			if err != nil {
				t.Fatal(err)
			}
			in = tr.Instance
			for _, w := range tr.Work {
				ids = append(ids, w.ID)
			}
		}
		take(domain.Event{ID: "e1", Type: "Begin", Source: domain.SourceAggregate, AggregateType: "Thing", AggregateID: "1", StoredMs: at})
		for range others {
			take(domain.Event{ID: "other", Type: "Other", Source: domain.SourceAggregate, AggregateType: "Thing", AggregateID: "1", StoredMs: at + 1})
		}
		take(domain.Event{ID: "result:" + ids[0], Type: "do.Succeeded", Source: domain.SourceResult, Effect: "do", CommandID: ids[0], Saga: "s", Correlation: "1",
			StoredMs: at + 100 + late})
		timer := in.Timers[0]
		ids = append(ids, timer.ID)
		take(domain.Event{ID: timer.ID, Type: "Tick", Source: domain.SourceWorkflow, Saga: "s", Correlation: "1", Timer: timer.DueMs, StoredMs: timer.DueMs + late})
		return ids
	}
	before := live(0, 0)
	for _, after := range [][]string{live(5000, 0), live(0, 1), live(70, 2)} {
		if len(after) != 4 {
			t.Fatalf("got %q", after)
		}
		for i := range before {
			if before[i] == "" || after[i] != before[i] {
				t.Errorf("id %d: got %s, want %s", i, after[i], before[i])
			}
		}
	}
}
