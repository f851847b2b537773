package layout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// goldListener has a value in every field that is written with the definition.
func goldListener() *domain.Listener {
	return &domain.Listener{Name: "shipped", Summary: "s", On: domain.SagaTrigger{Source: domain.SourceAggregate, Of: "Order", Types: []string{"OrderShipped"}},
		When: "true", Blueprint: "ship", Version: 3, Params: map[string]string{"order": "event.id"}, Paused: true, CallerID: 12, CreatedAt: 1, UpdatedAt: 2,
		State: domain.ListenerState{Revision: 11, MadeMs: 12, After: 13}}
}

func TestGoldenListener(t *testing.T) {
	var b strings.Builder
	b.WriteString(layout.Listener("shipped") + "\n")
	for _, f := range layout.EncodeListener(goldListener()) {
		b.WriteString(f.Name + "=" + f.Value + "\n")
	}
	golden(t, "listener", b.String())
}

func TestListenerRoundTrip(t *testing.T) {
	want := goldListener()
	rec := append(board.Record(layout.EncodeListener(want)), board.Field{Name: "started", Value: "4"}, board.Field{Name: "held_why", Value: "no"})
	want.State.Started, want.State.HeldWhy = 4, "no"
	got, err := layout.DecodeListener(layout.Listener(want.Name), rec)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	member := layout.ListedListener(7, "shipped", 11)
	if tenant, name, ok := layout.ParseListedListener(member); tenant != 7 || name != "shipped" || !ok {
		t.Errorf("%s is read as %d, %q, %v", member, tenant, name, ok)
	}
	for _, bad := range []string{"", "7:shipped", "x:shipped:1", "7:no name:1", "7:a:b:c"} {
		if _, _, ok := layout.ParseListedListener(bad); ok {
			t.Errorf("%q is a listener", bad)
		}
	}
}
