package layout

import (
	"strings"

	"github.com/ramet-run/ramet/board"
)

// SecretPrefix begins the keys of the records of a context's secrets, in its own space.
const SecretPrefix = "ramet:secret:"

// Secret is the record of a context's secret.
func Secret(name string) string { return SecretPrefix + name }

// Its fields.
const (
	SecretSealed = "sealed" // the value, encrypted, in base64
	SecretKey    = "key"    // the operator's secret with which it is; "": the node's own key
	SecretSetMs  = "set_ms"
	SecretBy     = "by" // who set it
)

// SealedByNode reports whether a record has a secret, of a context or of a webhook, that the own key of a node
// has sealed.
func SealedByNode(key string, rec board.Record) bool {
	text, by := SecretSealed, SecretKey
	switch {
	case strings.HasPrefix(key, WebhookPrefix):
		text, by = WebhookSecret, WebhookSecretKey
	case !strings.HasPrefix(key, SecretPrefix):
		return false
	}
	return rec.Get(text) != "" && rec.Get(by) == ""
}
