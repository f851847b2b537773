package service_test

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/webhook"
	"github.com/ramet-run/ramet/work"
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

// TestATypeThatNobodyMadeKnownIsOneThing for audits, lists and deliveries: no flow is made, which is
// not the sender's fault.
func TestATypeThatNobodyMadeKnownIsOneThing(t *testing.T) {
	r := newRigOf(t, work.Config{Served: func(typ domain.ScriptType) bool { return typ != "lua" }})
	for name, text := range map[string]string{
		"a-step": `"steps":[{"name":"a","script_type":"lua","script":"x"}]`,
		"a-hook": `"steps":[{"name":"a","script_type":"shell","script":"x"}],"on":{"failed":{"script_type":"lua","script":"x"}}`,
	} {
		if _, err := r.applyText(`{"name":"` + name + `",` + text + `}`); err != nil {
			t.Fatal(err)
		}
		as := r.api.As(admin)
		const secret = "0123456789abcdef"
		hook := domain.Webhook{Name: name, Blueprint: name, Scheme: domain.WebhookToken}
		if _, err := as.CreateWebhook(t.Context(), api.WebhookCreateParams{Context: house, Webhook: hook, Secret: secret}); err != nil {
			t.Fatal(err)
		}
		const unknown = `script type "lua" is not known here`
		audit, err := as.RunAudit(t.Context(), api.AuditParams{Context: house, All: true})
		if err != nil || !slices.ContainsFunc(audit.Lacking, func(f domain.Finding) bool { return strings.Contains(f.Text, unknown) }) {
			t.Errorf("%s: the audit found %+v, %v", name, audit.Lacking, err)
		}
		for _, f := range audit.Lacking {
			if strings.Contains(f.Text, "would wait") && strings.Contains(f.Text, "lua") {
				t.Errorf("%s: the audit says that it would wait, and it is refused: %s", name, f.Text)
			}
		}
		shown, err := as.ShowWebhook(t.Context(), api.WebhookParams{Context: house, Name: name})
		list, lerr := as.ListWebhooks(t.Context(), api.WebhookListParams{Context: house})
		if err != nil || lerr != nil || !strings.Contains(shown.Lacks, unknown) || !strings.Contains(shown.Lacks, "no flow of blueprint") ||
			!slices.ContainsFunc(list.Webhooks, func(w api.Webhook) bool { return w.Name == name && w.Lacks == shown.Lacks }) {
			t.Errorf("%s: shown as %+v, %v, listed as %+v, %v", name, shown, err, list, lerr)
		}
		d := webhook.Delivery{Header: http.Header{"Authorization": {"Bearer " + secret}}, Body: []byte(`{}`)}
		_, settle, err := r.api.Deliver(t.Context(), strconv.FormatUint(uint64(house), 10), name, d)
		if settle(); !errors.Is(err, domain.ErrConflict) || errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), unknown) {
			t.Errorf("%s: a delivery got %v, want a conflict", name, err)
		}
	}
}

// TestABlueprintThatCannotBeReadIsAFinding of what starts it, and of nothing else.
func TestABlueprintThatCannotBeReadIsAFinding(t *testing.T) {
	r := newRig(t)
	for _, name := range []string{"bad", "absent"} {
		if _, err := r.applyText(`{"name":"` + name + `","steps":[{"name":"a","script_type":"lua","script":"x"}]}`); err != nil {
			t.Fatal(err)
		}
	}
	as := r.api.As(admin)
	for _, name := range []string{"bad", "absent"} {
		hook := domain.Webhook{Name: "of-" + name, Blueprint: name}
		if _, err := as.CreateWebhook(t.Context(), api.WebhookCreateParams{Context: house, Webhook: hook}); err != nil {
			t.Fatal(err)
		}
	}
	key, space := layout.BlueprintKeys.At("bad", 1), board.Space(house)
	stored, err := r.board.Get(t.Context(), space, key)
	if err != nil {
		t.Fatal(err)
	}
	torn := board.Batch{Space: space}
	for _, f := range stored[0] {
		torn.Set(key, board.Field{Name: f.Name, Value: "{torn"})
	}
	kind := board.Batch{Space: space}
	kind.Delete(key).PushLeft(key, "x")
	for what, damage := range map[string]board.Batch{"a damaged text": torn, "a key of another kind": kind} {
		whole := board.Batch{Space: space}
		if err := r.board.Commit(t.Context(), *whole.Delete(key).Set(key, stored[0]...)); err != nil {
			t.Fatal(err)
		}
		if err := r.board.Commit(t.Context(), damage); err != nil {
			t.Fatal(err)
		}
		audit, err := as.RunAudit(t.Context(), api.AuditParams{Context: house, All: true})
		if err != nil {
			t.Errorf("%s: audit: %v", what, err)
		}
		look, err := as.LookForFindings(t.Context(), api.LookParams{Context: house})
		if err != nil {
			t.Errorf("%s: look: %v", what, err)
		}
		found := audit.Lacking
		if len(found) != 2 || found[0].Key != "webhook of-absent" || found[1].Key != "webhook of-bad" ||
			!strings.Contains(found[1].Text, `blueprint "bad", which cannot be read`) {
			t.Errorf("%s: got %+v", what, found)
		}
		if !look.Partial && len(look.Lacking) != 2 {
			t.Errorf("%s: a look found %+v", what, look.Lacking)
		}
	}
}

// TestOneReasonIsOneFinding however many schedules have it, and a look that was cut short says so.
func TestOneReasonIsOneFinding(t *testing.T) {
	r := newRig(t)
	as := r.api.As(admin)
	for _, name := range []string{"one", "two"} {
		if _, err := r.applyText(`{"name":"` + name + `","steps":[{"name":"a","script_type":"lua","script":"x"}]}`); err != nil {
			t.Fatal(err)
		}
		for _, of := range []string{"day", "night"} {
			s := domain.Schedule{Name: name + "-" + of, Blueprint: name, Every: 3600}
			if _, err := as.ApplySchedule(t.Context(), api.ScheduleApplyParams{Context: house, Schedule: api.Schedule{Schedule: s}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	audit, err := as.RunAudit(t.Context(), api.AuditParams{Context: house, All: true})
	if found := audit.Lacking; err != nil || audit.Partial || len(found) != 1 || found[0].More != 3 ||
		!strings.HasPrefix(found[0].Text, "a step of their flows would wait: no node that is alive serves lua") {
		t.Errorf("got %+v, %v", audit, err)
	}
}
