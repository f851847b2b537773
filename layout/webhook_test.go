package layout_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// goldWebhook has a value in every field that is written with the definition.
func goldWebhook() *domain.Webhook {
	return &domain.Webhook{Name: "deploy", Summary: "pushes", Scheme: domain.WebhookGitHub, Blueprint: "deploy", Version: 3, When: `body.ref == "x"`,
		Params: map[string]string{"ref": "body.ref"}, PerMinute: 7, Paused: true, CallerID: 12, CreatedAt: 1, UpdatedAt: 2,
		State: domain.WebhookState{Revision: 11, MadeMs: 10, RotatedMs: 12, OldUntilMs: 13}}
}

func TestGoldenWebhook(t *testing.T) {
	var b strings.Builder
	b.WriteString(layout.Webhook("deploy") + "\n")
	for _, f := range layout.EncodeWebhook(goldWebhook()) {
		b.WriteString(f.Name + "=" + f.Value + "\n")
	}
	golden(t, "webhook", b.String())
}

func TestWebhookRoundTrip(t *testing.T) {
	want := goldWebhook()
	rec := append(board.Record(layout.EncodeWebhook(want)), board.Field{Name: "secret", Value: "sealed"}, board.Field{Name: "started", Value: "4"},
		board.Field{Name: "last_flow", Value: "9"}, board.Field{Name: "last_error", Value: "no"})
	want.State.Started, want.State.LastFlow, want.State.LastError = 4, 9, "no"
	got, err := layout.DecodeWebhook(layout.Webhook(want.Name), rec)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	for _, f := range layout.EncodeWebhook(want) { // an update must not take back what was counted
		if f.Name == "started" || f.Name == "last_flow" || strings.Contains(f.Name, "secret") {
			t.Errorf("%s is written with the definition", f.Name)
		}
	}
}

func TestDamagedWebhooks(t *testing.T) {
	for _, f := range []board.Field{{Name: "definition", Value: "{"}, {Name: "started", Value: "many"}, {Name: "last_flow", Value: "-1"}} {
		if _, err := layout.DecodeWebhook("ramet:webhook:w", board.Record{f}); err == nil || !strings.Contains(err.Error(), f.Name) {
			t.Errorf("%s = %s: got %v", f.Name, f.Value, err)
		}
	}
}
