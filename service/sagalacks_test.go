package service

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestASagaThatLacksEffectsIsOneFinding, however many they are.
func TestASagaThatLacksEffectsIsOneFinding(t *testing.T) {
	def := &domain.SagaDefinition{Effects: []string{"card", "mail", "there"}, Compensation: &domain.SagaCompensation{Effects: []string{"card", "mial"}}}
	got := lacksText(missing(def, map[string]bool{"there": true, "mail": false}, []string{"mail2"}))
	want := `no node has an effect "card" for this context; no node has an effect "mail" for this context; did you mean "mail2"?; ` +
		"no node has an effect \"mial\" for this context; `ramet effect list` shows those of a node"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	def = &domain.SagaDefinition{Effects: []string{"a", "b", "c", "d", "e", "f", "g"}}
	want = `no node has an effect "a" for this context; no node has an effect "b" for this context; no node has an effect "c" for this context; ` +
		"no node has an effect \"d\" for this context; no node has an effect \"e\" for this context; `ramet effect list` shows those of a node; and 2 more"
	if got := lacksText(missing(def, nil, nil)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
