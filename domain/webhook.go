package domain

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limits of webhooks.
const (
	// MaxWebhookName bounds the name of a webhook or a listener in bytes: its flows' triggers
	// begin with it, and have one or two dots and half a SHA-256 behind it where an id does not fit.
	MaxWebhookName = MaxNameBytes - 2 - 32
	// MaxWebhooksOf bounds the webhooks of a context.
	MaxWebhooksOf = 200
	// MaxWebhookBytes bounds its definition as JSON.
	MaxWebhookBytes = 64 << 10
	// MaxWebhookBody bounds what is sent to one.
	MaxWebhookBody = 1 << 20
	// MaxWebhookParams bounds the params that are made of a delivery.
	MaxWebhookParams = 64
	// DefaultWebhookRate is how many deliveries a minute one takes, of each node, and
	// MaxWebhookRate the most that can be asked for.
	DefaultWebhookRate = 600
	MaxWebhookRate     = 60_000
	// MinWebhookSecret and MaxWebhookSecret bound a webhook's secret in bytes.
	MinWebhookSecret = 16
	MaxWebhookSecret = 512
	// WebhookTolerance is how old or how far ahead a signed time may be.
	WebhookTolerance = 5 * time.Minute
	// DefaultWebhookKeep is for how long the secret before is taken after a rotation, and
	// MaxWebhookKeep the most that can be asked for.
	DefaultWebhookKeep = Span(24 * 3600)
	MaxWebhookKeep     = Span(30 * 24 * 3600)
)

// WebhookScheme is how a delivery proves that it comes from who has the secret.
type WebhookScheme string

// The schemes.
const (
	// WebhookStandard signs id, time and body: webhook-id, webhook-timestamp, webhook-signature.
	//
	// Source: Standard Webhooks 1.0.0, "Signature scheme".
	WebhookStandard WebhookScheme = "standard"
	// WebhookGitHub signs the body: X-Hub-Signature-256.
	WebhookGitHub WebhookScheme = "github"
	// WebhookStripe signs time and body: Stripe-Signature.
	WebhookStripe WebhookScheme = "stripe"
	// WebhookToken signs nothing: X-Gitlab-Token, or a bearer token, is the secret itself.
	WebhookToken WebhookScheme = "token"
)

// WebhookSchemes are all of them.
var WebhookSchemes = []WebhookScheme{WebhookStandard, WebhookGitHub, WebhookStripe, WebhookToken}

// Webhook is an address at which a program outside starts flows of a blueprint.
type Webhook struct {
	Name    string `json:"name"`
	Summary string `json:"summary,omitzero"`
	// Scheme is standard, github, stripe or token. Default: standard.
	Scheme WebhookScheme `json:"scheme,omitzero"`
	// Blueprint is the name of a stored one, Version which of it; 0 is the newest at the time.
	Blueprint string `json:"blueprint"`
	Version   int    `json:"version,omitzero"`
	// When is a Rhai expression over body, headers and id: where it does not hold, the delivery
	// is taken and starts nothing. Default: all of them start one.
	When string `json:"when,omitzero"`
	// Params are Rhai expressions over body, headers and id, by the names of params that they
	// are the values of: {ref: body.ref}. What is no text becomes JSON.
	Params map[string]string `json:"params,omitzero"`
	// PerMinute is how many deliveries a minute it takes, of each node. Default: [DefaultWebhookRate].
	PerMinute int `json:"per_minute,omitzero"`
	// Paused ones refuse what comes, so that its sender tries again.
	Paused bool `json:"paused,omitzero"`

	// CallerID is who made it: its flows are in that actor's name.
	CallerID  ActorID      `json:"caller_id,omitzero"`
	CreatedAt UnixTime     `json:"created_at,omitzero"`
	UpdatedAt UnixTime     `json:"updated_at,omitzero"`
	State     WebhookState `json:"state,omitzero"`
}

// WebhookState is what has become of a webhook; nobody hands it in.
type WebhookState struct {
	// Revision is one more with each change of its definition or secrets.
	Revision int64 `json:"-"`
	// MadeMs is when it was made: by this it is known from one of its name before. 0: by an earlier version.
	MadeMs int64 `json:"-"`
	// Started, Ignored and Refused count deliveries: those that started a flow, those that were
	// signed and for which `when` did not hold, and those that started none for another reason,
	// wrong signatures among them. Ignored and Refused are written at most every ten seconds.
	Started int64 `json:"started,omitzero"`
	Ignored int64 `json:"ignored,omitzero"`
	Refused int64 `json:"refused,omitzero"`
	// LastMs and LastFlow are of the last flow, RefusedMs and LastError of the last delivery that was refused.
	LastMs    int64  `json:"last_ms,omitzero"`
	LastFlow  FlowID `json:"last_flow,omitzero"`
	RefusedMs int64  `json:"refused_ms,omitzero"`
	LastError string `json:"last_error,omitzero"`
	// ProvenMs is of the last delivery that was refused though its sender has the secret; 0: all that were refused came from somebody who could not prove it.
	ProvenMs int64 `json:"proven_ms,omitzero"`
	// RotatedMs is when its secret was set last; OldUntilMs until when the one before is taken, too.
	RotatedMs  int64 `json:"rotated_ms,omitzero"`
	OldUntilMs int64 `json:"old_until_ms,omitzero"`
}

// ProvenRefused reports whether the last delivery of a sender who has the secret was refused.
func (s *WebhookState) ProvenRefused() bool { return s.ProvenMs != 0 && s.ProvenMs >= s.LastMs }

// Defined is the webhook without what nobody hands in.
func (w Webhook) Defined() Webhook {
	w.CallerID, w.CreatedAt, w.UpdatedAt, w.State = 0, 0, 0, WebhookState{}
	return w
}

// SchemeOr is its scheme.
func (w *Webhook) SchemeOr() WebhookScheme {
	if w.Scheme == "" {
		return WebhookStandard
	}
	return w.Scheme
}

// Rate is how many deliveries a minute it takes, of each node.
func (w *Webhook) Rate() int {
	if w.PerMinute == 0 {
		return DefaultWebhookRate
	}
	return w.PerMinute
}

// Path is where its deliveries are sent, at a node's HTTP door.
func (w *Webhook) Path(tenant TenantID) string { return fmt.Sprintf("/v1/hooks/%d/%s", tenant, w.Name) }

// ValidateWebhookName checks the name of a webhook or a listener.
//
// Errors: [ErrInvalid].
func ValidateWebhookName(what, name string) error {
	if err := ValidateName(what, name); err != nil {
		return err
	}
	if len(name) > MaxWebhookName {
		return Invalidf("%s %q: want up to %d characters, because the triggers of its flows begin with it", what, name, MaxWebhookName)
	}
	return nil
}

// Validate checks the definition, but for its expressions.
//
// Errors: [ErrInvalid].
func (w *Webhook) Validate() error {
	if err := ValidateWebhookName("webhook", w.Name); err != nil {
		return err
	}
	if err := w.validate(); err != nil {
		return fmt.Errorf("webhook %q: %w", w.Name, err)
	}
	return nil
}

func (w *Webhook) validate() error {
	if !slices.Contains(WebhookSchemes, w.SchemeOr()) {
		all := make([]string, len(WebhookSchemes))
		for i, s := range WebhookSchemes {
			all[i] = string(s)
		}
		near := ""
		if n := Nearest(string(w.Scheme), all); n != "" {
			near = fmt.Sprintf("; did you mean %q?", n)
		}
		return Invalidf("scheme %q: want one of %s%s", w.Scheme, strings.Join(all, ", "), near)
	}
	if w.PerMinute < 0 || w.PerMinute > MaxWebhookRate {
		return Invalidf("per_minute %d: want 1 to %d, or 0 for %d", w.PerMinute, MaxWebhookRate, DefaultWebhookRate)
	}
	return validateStart(w.Blueprint, w.Version, w.When, w.Params)
}

// validateStart checks what something outside starts, but for the expressions.
func validateStart(blueprint string, version int, when string, params map[string]string) error {
	if err := ValidateName("blueprint", blueprint); err != nil {
		return err
	}
	switch {
	case version < 0:
		return Invalidf("version %d: want 1 or more, or 0 for the newest", version)
	case len(when) > MaxWhenBytes:
		return Invalidf("when: %d bytes, the limit is %d", len(when), MaxWhenBytes)
	case len(params) > MaxWebhookParams:
		return Invalidf("params: %d, the limit is %d", len(params), MaxWebhookParams)
	}
	return ValidateParams(params)
}
