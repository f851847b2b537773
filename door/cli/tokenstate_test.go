package cli

import (
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// A token that is over is not called good, although nodes take it for a minute more.
func TestTokenState(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	for want, token := range map[string]domain.Token{
		"good": {ExpiresAt: 1_000_000}, "over": {ExpiresAt: 999_999}, "revoked": {ExpiresAt: 999_999, Revoked: true},
	} {
		if got := tokenState(token, now); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
