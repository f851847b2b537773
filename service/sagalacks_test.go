package service

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestASagaThatLacksEffectsIsOneFinding, however many they are.
func TestASagaThatLacksEffectsIsOneFinding(t *testing.T) {
	def := &domain.SagaDefinition{Effects: []string{"card", "mail", "there"}, Compensation: &domain.SagaCompensation{Effects: []string{"card", "mial"}}}
	got := lacksText(missing(def, map[string]bool{"there": true, "mail": false}, []string{"mail2"}))
	want := "no node has these effects for this context: \"card\", \"mail\" (did you mean \"mail2\"?), \"mial\"; `ramet effect list` shows those of a node"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	def = &domain.SagaDefinition{Effects: []string{"a", "b", "c", "d", "e", "f", "g"}}
	want = "no node has these effects for this context: \"a\", \"b\", \"c\", \"d\", \"e\" and 2 more; `ramet effect list` shows those of a node"
	if got := lacksText(missing(def, nil, nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
