package console

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// textOf is a table as its cells' texts, by rows.
func textOf(t *table) (rows []string) {
	for _, r := range t.Rows {
		var cells []string
		for _, e := range r.Cells {
			text := e.Text
			if e.State.Word != "" {
				text = e.State.Word
			} else if e.At.Ms != 0 {
				text = e.At.distance()
			}
			cells = append(cells, text)
		}
		rows = append(rows, strings.Join(cells, "|"))
	}
	return rows
}

// TestWhatAnInstanceWaitsForIsATable: effects with their attempts, each once; the outbox; timers, the next first.
func TestWhatAnInstanceWaitsForIsATable(t *testing.T) {
	now := time.UnixMilli(1_800_000_000_000)
	in := func(d time.Duration) int64 { return now.Add(d).UnixMilli() }
	v := &visit{now: now, tenant: domain.Tenant{ID: 7}}
	i := &domain.SagaInstance{Steps: []domain.SagaStep{{Name: "room", Effect: "book-room", CommandID: "c1", State: domain.StepCompleted},
		{Name: "seat", Effect: "book-seat", CommandID: "c2", State: domain.StepAsked}, {Name: "meal", Effect: "order", CommandID: "c3", State: domain.StepAsked},
		{Name: "car", Effect: "rent", CommandID: "c4", Undo: "u4", UndoEffect: "return-car", State: domain.StepUndoing}},
		Timers:   []domain.SagaTimer{{Event: "Late", DueMs: in(2 * time.Hour)}, {Event: "Soon", DueMs: in(time.Minute), State: "booking"}},
		Deferred: []domain.Event{{Type: "Cancelled", ID: "e9", AggregateType: "Trip", AggregateID: "ann"}}}
	x := &domain.SagaExplanation{Ended: domain.List[string]{"book-room ended"}, Effects: domain.List[domain.AwaitedEffect]{
		{Step: "seat", Effect: "book-seat", CommandID: "c2", Attempts: 3, Error: "503", NextMs: in(30 * time.Second)},
		{Step: "meal", Effect: "order", CommandID: "c3", Attempts: 9, Error: "no such dish", DeadLetter: "deadletter:acme:effect:c3:x"},
		{Step: "car", Effect: "return-car", CommandID: "u4", Undoes: true, Unserved: true}, {Effect: "mail", CommandID: "c5", Decided: true}},
		Unsent: domain.List[domain.UnsentWork]{{What: "effect:pay", CommandID: "w1", Attempts: 2, Error: "away", GiveUpMs: in(time.Hour), MostAttempts: 5},
			{What: "command:x", CommandID: "w2"}}}
	effects := v.instanceEffects(i, x)
	want := []string{"room|book-room|completed||||c1", "seat|book-seat|asked for|3|in 30 s|503|c2",
		"meal|order|given up on|9||its command is a dead letter: replay or drop it; no such dish|c3",
		"car|return-car|being undone|0||no node that is alive does it for this context; undoes car|u4", "|mail|asked for|0||its result is known, and on its way|c5"}
	for n, got := range textOf(effects.Table) {
		if n >= len(want) || got != want[n] {
			t.Errorf("effects: got %q, want %q", got, want[min(n, len(want)-1)])
		}
	}
	if len(effects.Table.Rows) != len(want) || !strings.Contains(effects.Intro, "in vain: book-room ended") {
		t.Errorf("got %d effects, %q", len(effects.Table.Rows), effects.Intro)
	}
	if link := effects.Table.Rows[2].Link; link != "/console/c/7/letter?id=c3%3Ax&kind=effect" {
		t.Errorf("the dead letter is at %q", link)
	}
	for name, c := range map[string]struct {
		of   section
		want string
	}{
		"outbox":   {v.instanceOutbox(x), "effect:pay|not taken yet|2 of 5|in 1 h 00 m|away|w1\ncommand:x|to be sent||||w2"},
		"timers":   {v.instanceTimers(i), "Soon|in 1 m 00 s|the time-out of booking|\nLate|in 2 h 00 m|its program|"},
		"deferred": {v.instanceDeferred(i), "1|Cancelled|Trip/ann||e9"},
	} {
		if got := strings.Join(textOf(c.of.Table), "\n"); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

// TestAnInstanceThatFailedSaysWhichEffectsDid: that it has ended and failed is all that it says of itself.
func TestAnInstanceThatFailedSaysWhichEffectsDid(t *testing.T) {
	for want, steps := range map[string][]domain.SagaStep{
		"": {{Name: "reserve", Effect: "reserve-stock", State: domain.StepUndone}},
		"Effect charge-card of step pay failed: no funds.": {{Name: "reserve", Effect: "reserve-stock", State: domain.StepUndone},
			{Name: "pay", Effect: "charge-card", State: domain.StepFailedEffect, Result: json.RawMessage(`{"error": "no funds."}`)}},
		"Effect book of step room failed. Effect cancel of step seat could not be undone.": {{Name: "room", Effect: "book", State: domain.StepFailedEffect,
			Result: json.RawMessage(`[1]`)}, {Name: "seat", Effect: "cancel", State: domain.StepNotUndone}},
	} {
		if got := failedSteps(&domain.SagaInstance{Steps: steps}); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
