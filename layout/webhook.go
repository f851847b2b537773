package layout

import (
	"encoding/json"
	"strconv"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// WebhookPrefix begins the keys of webhooks, in their context's space.
const WebhookPrefix = "ramet:webhook:"

// Webhook is the key of a webhook's record.
func Webhook(name string) string { return WebhookPrefix + name }

// Fields of a webhook's record that are written by themselves: what becomes of deliveries
// changes nothing of the rest, and is counted by the board.
const (
	WebhookRevision  = "revision"
	WebhookRotatedMs = "rotated_ms"

	WebhookStarted   = "started"
	WebhookIgnored   = "ignored"
	WebhookRefused   = "refused"
	WebhookLastMs    = "last_ms"
	WebhookLastFlow  = "last_flow"
	WebhookRefusedMs = "refused_ms"
	WebhookLastError = "last_error"
	WebhookProvenMs  = "proven_ms"

	WebhookSecret       = "secret"         // sealed, in base64
	WebhookSecretKey    = "secret_key"     // the operator's secret with which it is; "": the node's own key
	WebhookOldSecret    = "old_secret"     // the one before, until old_until_ms
	WebhookOldSecretKey = "old_secret_key" // what seals that
)

const webhookDefinition = "definition" // JSON

var webhookTable = newTable(
	text("name", func(w *domain.Webhook) *string { return &w.Name }),
	number32("caller_id", func(w *domain.Webhook) *domain.ActorID { return &w.CallerID }),
	number32("created_at", func(w *domain.Webhook) *domain.UnixTime { return &w.CreatedAt }),
	number32("updated_at", func(w *domain.Webhook) *domain.UnixTime { return &w.UpdatedAt }),
	// It is read before the others, as it sets the whole.
	field[domain.Webhook]{name: webhookDefinition,
		write: func(w *domain.Webhook) (string, bool) { return mustJSON(w.Defined()), false }}.secret(),
	number(WebhookRevision, func(w *domain.Webhook) *int64 { return &w.State.Revision }),
	number("made_ms", func(w *domain.Webhook) *int64 { return &w.State.MadeMs }).ours(),
	number(WebhookRotatedMs, func(w *domain.Webhook) *int64 { return &w.State.RotatedMs }),
	number("old_until_ms", func(w *domain.Webhook) *int64 { return &w.State.OldUntilMs }),
	number(WebhookStarted, func(w *domain.Webhook) *int64 { return &w.State.Started }).readOnly(),
	number(WebhookIgnored, func(w *domain.Webhook) *int64 { return &w.State.Ignored }).readOnly(),
	number(WebhookRefused, func(w *domain.Webhook) *int64 { return &w.State.Refused }).readOnly(),
	number(WebhookLastMs, func(w *domain.Webhook) *int64 { return &w.State.LastMs }).readOnly(),
	number32(WebhookLastFlow, func(w *domain.Webhook) *domain.FlowID { return &w.State.LastFlow }).readOnly(),
	number(WebhookRefusedMs, func(w *domain.Webhook) *int64 { return &w.State.RefusedMs }).readOnly(),
	number(WebhookProvenMs, func(w *domain.Webhook) *int64 { return &w.State.ProvenMs }).readOnly(),
	text(WebhookLastError, func(w *domain.Webhook) *string { return &w.State.LastError }).secret().readOnly(),
	apart[domain.Webhook](WebhookSecret), apart[domain.Webhook](WebhookSecretKey),
	apart[domain.Webhook](WebhookOldSecret), apart[domain.Webhook](WebhookOldSecretKey),
)

// EncodeWebhook writes a webhook's definition. Its secrets and what has become of it stand in
// fields of their own.
func EncodeWebhook(w *domain.Webhook) []board.Field { return webhookTable.encode(w) }

// DecodeWebhook reads a webhook's record, without its secrets.
//
// Errors: [domain.ErrInvalid] naming the field.
func DecodeWebhook(key string, rec board.Record) (*domain.Webhook, error) {
	w := &domain.Webhook{}
	if text, ok := rec.Lookup(webhookDefinition); ok {
		if err := json.Unmarshal([]byte(text), w); err != nil {
			return nil, domain.Invalidf("%s: the definition cannot be read: %v", key, err)
		}
	}
	err := webhookTable.decode(decoder{key: keyText(key)}, w, rec)
	return w, err
}

// WebhookGuard guards that a webhook is as it was read, but for what became of deliveries.
func WebhookGuard(b *board.Batch, w *domain.Webhook) *board.Batch {
	return b.Equal(Webhook(w.Name), WebhookRevision, strconv.FormatInt(w.State.Revision, 10))
}
