package console

import (
	"testing"

	"github.com/ramet-run/ramet/blueprint"
)

// TestNoLabelStandsOnALine draws a saga of seven states in which three lead to one, and one whose labels are as long as
// states stand apart, and holds that no line goes through a label, and that none touches a state.
func TestNoLabelStandsOnALine(t *testing.T) {
	labelsStandFree(t, 12, [][3]string{{"new", "quoting", "Asked"}, {"quoting", "quoted", "Quoted"}, {"quoted", "paying", "Accepted"},
		{"paying", "under-way", "Paid"},
		{"under-way", "ended", "Back"}, {"refunding", "ended", "Refunded"}, {"quoting", "refunding", "Cancelled"}, {"quoted", "refunding", "Cancelled"},
		{"paying", "refunding", "Cancelled"}, {"under-way", "refunding", "Cancelled"}, {"quoted", "quoting", "Asked"}, {"paying", "quoted", "Quoted"}})
	labelsStandFree(t, 7, [][3]string{{"new", "reserving", "OrderPlaced"}, {"reserving", "paying", "reserve-stock.Succeeded"},
		{"paying", "shipping", "charge-card.Succeeded"}, {"shipping", "shipped", "ship-parcel.Succeeded"}, {"reserving", "cancelled", "reserve-stock.Failed"},
		{"paying", "cancelled", "OrderCancelled"}, {"shipping", "cancelled", "ship-parcel.Failed"}, {"reserving", "stuck", "OrderCancelled"}})
}

func labelsStandFree(t *testing.T, want int, ways [][3]string) {
	t.Helper()
	s := &sketch{at: map[string]int{}, legs: map[leg]*along{}}
	for _, w := range ways {
		a := s.leg(w[0], w[1])
		a.events = append(a.events, w[2])
	}
	m := s.drawn()
	labels, lines := 0, [][]blueprint.Spot{}
	for _, w := range m.Ways {
		lines = append(lines, pointsOf(w.Path))
	}
	for i := range m.Ways {
		w := &m.Ways[i]
		if w.Label == "" {
			continue
		}
		labels++
		others := make([]*drawnWay, 0, len(m.Ways))
		for n := range m.Ways {
			if n != i && m.Ways[n].Label != "" {
				others = append(others, &m.Ways[n])
			}
		}
		if !w.free(lines, others, m.Nodes) {
			t.Errorf("%s, at %.0f %.0f, stands on a line, on a state or on another label", w.Title, w.X, w.Y)
		}
	}
	if labels < want {
		t.Errorf("got %d labels", labels)
	}
}

// TestHowAnEffectEndedIsNotCut: ways that differ in that alone would read alike.
func TestHowAnEffectEndedIsNotCut(t *testing.T) {
	for name, want := range map[string]string{"OrderPlaced": "OrderPlaced", "reserve-stock.Succeeded": "reserve-stoc…Succeeded",
		"reserve-stock-at-all-shops.Failed": "reserve-stock-a…Failed", "AnEventWithANameThatIsLong": "AnEventWithANameThatI…",
		"a.AnEventWithANameThatIsLong": "a.AnEventWithANameTha…"} {
		if got := shortEvent(name, eventLetters); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}
