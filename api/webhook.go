package api

import (
	"strconv"

	"github.com/ramet-run/ramet/domain"
)

// The operations on webhooks: addresses at which programs outside start flows. A delivery to
// one is no operation, as it has no token: it is sent to /v1/hooks/{context}/{name}.
var (
	WebhookCreate = op[WebhookMade](Operation{
		Name: "webhook.create", Method: "POST", Path: "/v1/contexts/{context}/webhooks", Right: domain.VerbGrant, ByHand: true,
		Keyed: true, Secret: true,
		Summary: "Make a webhook, whose deliveries start flows in the caller's name. The answer alone tells its secret; repeated under its " +
			"Idempotency-Key it is told again, until it is rotated.",
	}, WebhookCreateParams{Context: 7, Webhook: domain.Webhook{Name: "deploy", Scheme: domain.WebhookGitHub, Blueprint: "nightly",
		When: `headers["x-github-event"] == "push"`, Params: map[string]string{"region": "body.repository.name"}}})
	WebhookUpdate = op[Webhook](Operation{
		Name: "webhook.update", Method: "POST", Path: "/v1/contexts/{context}/webhooks/{webhook}", Right: domain.VerbGrant, ByHand: true,
		Holds:   "webhook.show",
		Summary: "Change all of a webhook but its name, scheme and secret; its flows are in the caller's name from then on.",
	}, WebhookUpdateParams{WebhookParams: WebhookParams{Context: 7, Name: "deploy"}, WebhookChange: WebhookChange{Blueprint: "nightly", Paused: true}})
	WebhookList = op[Webhooks](Operation{
		Name: "webhook.list", Method: "GET", Path: "/v1/contexts/{context}/webhooks", Right: domain.VerbRead, Much: true,
		Summary: "List the webhooks of a context, with what they started last and why they refused.",
	}, WebhookListParams{Context: 7})
	WebhookShow = op[Webhook](Operation{
		Name: "webhook.show", Method: "GET", Path: "/v1/contexts/{context}/webhooks/{webhook}", Right: domain.VerbRead,
		Summary: "Show a webhook, without its secret.",
	}, WebhookParams{Context: 7, Name: "deploy"})
	WebhookDelete = op[Webhook](Operation{
		Name: "webhook.delete", Method: "DELETE", Path: "/v1/contexts/{context}/webhooks/{webhook}", Right: domain.VerbGrant, ByHand: true,
		Holds:   "webhook.show",
		Summary: "Remove a webhook; its flows stay.",
	}, WebhookParams{Context: 7, Name: "deploy"})
	WebhookRotate = op[WebhookMade](Operation{
		Name: "webhook.rotate", Method: "POST", Path: "/v1/contexts/{context}/webhooks/{webhook}/rotate", Right: domain.VerbGrant, ByHand: true,
		Keyed: true, Secret: true,
		Summary: "Give a webhook another secret, and take the one before for a while, too. The answer alone tells the new one; repeated under its " +
			"Idempotency-Key it is told again, until it is rotated.",
	}, WebhookRotateParams{WebhookParams: WebhookParams{Context: 7, Name: "deploy"}})
)

// Webhook is a webhook as callers get it: without its secret.
type Webhook struct {
	domain.Webhook
	// Path is where deliveries are sent, at each node's HTTP door.
	Path string `json:"path"`
	// URL is that with the node's public address, where it has one.
	URL string `json:"url,omitzero"`
	// Locked says why the node that answers cannot open its secret, and so refuses deliveries: "" where it can.
	Locked string `json:"locked,omitzero"`
	// Lacks says why no flow that it asks for is made now; only where webhooks are listed and shown.
	Lacks string `json:"lacks,omitzero"`
}

// Webhooks is the answer to webhook.list.
type Webhooks struct {
	Webhooks []Webhook `json:"webhooks"`
}

// WebhookMade is a webhook with the secret that was made for it; none where one was given. It is told once, and again
// to who repeats the request under its Idempotency-Key while it is the webhook's secret: once it was rotated it is told to
// nobody, and `ramet webhook rotate` makes another.
type WebhookMade struct {
	Webhook
	Secret string `json:"secret,omitzero"`
	// Rotated says, where a request is repeated under its Idempotency-Key, why the secret is not told again.
	Rotated string `json:"rotated,omitzero"`
}

// WebhookParams name a webhook.
type WebhookParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	Name    string          `json:"-" path:"webhook"`
}

// WebhookListParams are the parameters of webhook.list.
type WebhookListParams struct {
	Context domain.TenantID `json:"-" path:"context"`
}

// WebhookCreateParams are the parameters of webhook.create. What callers hand in of caller_id,
// created_at, updated_at and state is not looked at.
type WebhookCreateParams struct {
	Context domain.TenantID `json:"-" path:"context"`
	domain.Webhook
	// Secret is one that the sender has already, of 16 to 512 bytes. Default: one is made.
	Secret string `json:"secret,omitzero"`
}

// WebhookUpdateParams are the parameters of webhook.update.
type WebhookUpdateParams struct {
	WebhookParams
	WebhookChange
}

// WebhookChange is what a webhook is to be. What is left out becomes the default.
type WebhookChange struct {
	Summary   string            `json:"summary,omitzero"`
	Blueprint string            `json:"blueprint"`
	Version   int               `json:"version,omitzero"`
	When      string            `json:"when,omitzero"`
	Params    map[string]string `json:"params,omitzero"`
	PerMinute int               `json:"per_minute,omitzero"`
	Paused    bool              `json:"paused,omitzero"`
}

// WebhookRotateParams are the parameters of webhook.rotate.
type WebhookRotateParams struct {
	WebhookParams
	// Secret is the new one. Default: one is made.
	Secret string `json:"secret,omitzero"`
	// Keep is for how long the one before is taken, too, up to 30 days; 0: not at all.
	// Default: [domain.DefaultWebhookKeep].
	Keep *domain.Span `json:"keep,omitzero"`
}

// AuditDetail is what the audit log says besides.
func (p *WebhookRotateParams) AuditDetail() string {
	if p.Keep == nil {
		return ""
	}
	return "the one before is taken for " + strconv.FormatInt(int64(*p.Keep), 10) + " s"
}

// Delivered is the answer to a delivery that was taken.
type Delivered struct {
	Flow string `json:"flow,omitzero"` // flow:<id>; none where it was ignored
	// Existing is true where the delivery came before, and that flow was made then.
	Existing bool `json:"existing,omitzero"`
	// Ignored is true where the webhook's `when` did not hold.
	Ignored bool `json:"ignored,omitzero"`
}
