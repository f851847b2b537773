package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// TestWhatWouldBeStartedAndRunByNobodyIsFound, by an audit and by a look, before there is a job
// that says so; once somebody serves it, is paused or gone, it is another matter.
func TestWhatWouldBeStartedAndRunByNobodyIsFound(t *testing.T) {
	r := newRig(t)
	if _, err := r.applyText(`{"name":"inner","steps":[{"name":"a","script_type":"lua","script":"x","affinity":{"card":"yes"}}]}`); err != nil {
		t.Fatal(err)
	}
	if _, err := r.applyText(`{"name":"outer","steps":[{"name":"b","flow":{"blueprint":"inner"}}]}`); err != nil {
		t.Fatal(err)
	}
	as := r.api.As(admin)
	hook := domain.Webhook{Name: "push", Blueprint: "outer"}
	if _, err := as.CreateWebhook(t.Context(), api.WebhookCreateParams{Context: house, Webhook: hook}); err != nil {
		t.Fatal(err)
	}
	want := func(when, text string) {
		t.Helper()
		audit, err := as.RunAudit(t.Context(), api.AuditParams{Context: house})
		if err != nil {
			t.Fatal(err)
		}
		look, err := as.LookForFindings(t.Context(), api.LookParams{Context: house})
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range []domain.List[domain.Finding]{audit.Lacking, look.Lacking} {
			switch {
			case text == "" && len(found) == 0:
			case text == "" || len(found) != 1 || found[0].Key != "webhook push" || !strings.Contains(found[0].Text, text):
				t.Errorf("%s: got %+v, want %q", when, found, text)
			}
		}
	}
	serve := func(labels domain.Labels) {
		t.Helper()
		runner := domain.Runner{ID: 12, Node: "n", SeenMs: time.Now().UnixMilli(), Labels: labels, Serves: []domain.Service{{ScriptType: "lua", Served: true}}}
		var b board.Batch
		if err := r.board.Commit(t.Context(), *b.Set(layout.Runner(12), layout.EncodeRunner(runner)...)); err != nil {
			t.Fatal(err)
		}
	}
	want("without a node", `step "a" of its flows, of blueprint "inner", would wait: no node that is alive serves lua`)
	serve(nil)
	want("with one that lacks the label", "no node that is alive serves lua")
	serve(domain.Labels{"card": "yes"})
	want("served", "")
	if _, err := as.DeleteBlueprint(t.Context(), api.NameBlueprintParams{Context: house, Name: "inner"}); err != nil {
		t.Fatal(err)
	}
	want("gone", `blueprint "inner", which is gone`)
	paused := api.WebhookUpdateParams{WebhookParams: api.WebhookParams{Context: house, Name: "push"},
		WebhookChange: api.WebhookChange{Blueprint: "outer", Paused: true}}
	if _, err := as.UpdateWebhook(t.Context(), paused); err != nil {
		t.Fatal(err)
	}
	want("paused", "")
}
