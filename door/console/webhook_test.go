package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/webhook"
)

func TestWebhooksAndWhatTheyStarted(t *testing.T) {
	const token = "0123456789abcdef"
	r := newRig(t)
	r.store(hello)
	b := r.as(reader)
	b.has(b.get(200, path("webhooks")), "No program outside starts flows here.", "ramet webhook create deploy", "--context 7")
	do(r, admin, api.WebhookCreate, api.WebhookCreateParams{Context: 7, Secret: token, Webhook: domain.Webhook{Name: "push", Blueprint: "hello",
		Scheme: domain.WebhookToken, Summary: "a <b>push</b>", Params: map[string]string{"who": "body.who"}}})
	send := func(key, body string) {
		t.Helper()
		_, settle, _ := r.api.Deliver(t.Context(), "7", "push", webhook.Delivery{Header: http.Header{"X-Gitlab-Token": {key}}, Body: []byte(body)})
		settle()
	}
	send(token, `{"who":"ann"}`)
	b.has(b.get(200, path("webhooks")), "push", "token", "hello", "flow:1", "a &lt;b&gt;push&lt;/b&gt;", "ramet webhook list")
	send("wrong", `{}`)
	a := b.get(200, path("webhooks"))
	b.has(a, "the signature is wrong")
	b.hasNot(a, "refused last") // of one that works that is no news: everybody who knows its address can do it
	page := b.get(200, path("webhook?name=push"))
	b.has(page, "/v1/hooks/7/push", "flow:1", "body.who", "the signature is wrong", "ramet webhook show push --context 7")
	b.hasNot(page, token)
	b.get(404, path("webhook?name=none"))
	r.as(stranger).get(403, path("webhooks"))
}

func TestListenersAndWhatTheyWaitFor(t *testing.T) {
	r := newRig(t)
	r.store(hello)
	b := r.as(reader)
	b.has(b.get(200, path("listeners")), "No event of a stream starts flows here.", "ramet listener apply")
	do(r, admin, api.ListenerApply, api.ListenerApplyParams{Context: 7, Listener: domain.Listener{Name: "came", Blueprint: "hello",
		On: domain.SagaTrigger{Of: "Guest", Types: []string{"Came"}}, Summary: "a <b>guest</b>", When: "event.payload.of > 3",
		Params: map[string]string{"who": "event.payload.name"}}})
	b.has(b.get(200, path("listeners")), "came", "Guest Came", "hello", "a &lt;b&gt;guest&lt;/b&gt;", "ramet listener list",
		`<a href="/console/c/7/listener?name=came">`)
	page := b.get(200, path("listener?name=came"))
	b.has(page, "Guest Came", "a &lt;b&gt;guest&lt;/b&gt;", "event.payload.of &gt; 3", "event.payload.name", "ramet listener show came --context 7")
	b.get(404, path("listener?name=none"))
	r.as(stranger).get(403, path("listener?name=came"))
	audit := r.as(admin)
	testwait.Until(t, "the audit log has who applied it, with a link", func() bool {
		return strings.Contains(audit.get(200, path("rights/audit")).text, `<a href="/console/c/7/listener?name=came">listener:came</a>`)
	})
	r.as(stranger).get(403, path("listeners"))
}
