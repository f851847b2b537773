package webhook_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/secret"
	"github.com/ramet-run/ramet/webhook"
)

// told is what an observer was told, in order.
type told []string

func (o *told) Delivered(_ domain.TenantID, name, outcome string, made bool) {
	*o = append(*o, fmt.Sprintf("%s %s %v", name, outcome, made))
}

// stripe is a delivery as Stripe signs it, so long ago.
func stripe(key, body string, ago time.Duration) webhook.Delivery {
	stamp := fmt.Sprint(time.Now().Add(-ago).Unix())
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(stamp + "." + body))
	return webhook.Delivery{Header: http.Header{"Stripe-Signature": {"t=" + stamp + ",v1=" + hex.EncodeToString(m.Sum(nil))}}, Body: []byte(body)}
}

func TestEachDeliveryHasOneOutcome(t *testing.T) {
	ping := stripe(given, "{}", 0)
	for _, tt := range []struct {
		name  string
		hook  domain.Webhook
		send  webhook.Delivery
		lost  bool                       // the key of its secret
		makes func(*webhook.Asked) error // what making its flow answers
		want  string
	}{
		{name: "a flow", send: ping, want: "deploy started true"},
		{name: "its flow was there", send: ping, makes: func(a *webhook.Asked) error { a.Existing = true; return nil }, want: "deploy duplicate true"},
		{name: "when does not hold", hook: domain.Webhook{When: "false"}, send: ping, want: "deploy ignored false"},
		{name: "another secret", send: stripe("another secret...", "{}", 0), want: "deploy unsigned false"},
		{name: "nothing is signed", send: webhook.Delivery{Header: http.Header{}}, want: "deploy unsigned false"},
		{name: "signed an hour ago", send: stripe(given, "{}", time.Hour), want: "deploy too_old false"},
		{name: "signed an hour ago, by a stranger", send: stripe("another secret...", "{}", time.Hour), want: "deploy unsigned false"},
		{name: "paused", hook: domain.Webhook{Paused: true}, send: ping, want: "deploy paused false"},
		{name: "its secret does not open", send: ping, lost: true, want: "deploy locked false"},
		{name: "an expression fails", hook: domain.Webhook{Params: map[string]string{"n": "body.n + 1"}}, send: stripe(given, `{"n":[]}`, 0),
			want: "deploy failed false"},
		{name: "no room for its flow", send: ping, makes: func(*webhook.Asked) error { return domain.Exhaustedf("full") }, want: "deploy no_room false"},
		{name: "no blueprint", send: ping, makes: func(*webhook.Asked) error { return domain.Conflictf("gone") }, want: "deploy refused false"},
		{name: "the board is away", send: ping, makes: func(*webhook.Asked) error { return domain.Unavailablef("away") },
			want: "deploy unavailable false"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := newRig(t)
			tt.hook.Scheme = domain.WebhookStripe
			r.create(tt.hook)
			if tt.lost {
				r.hooks = webhook.New(r.b, secret.New(r.b, secret.Config{KeyFile: t.TempDir() + "/key"}), nil)
			}
			var got told
			r.hooks.Observe(&got)
			a, err := r.hooks.Receive(t.Context(), tenant, "deploy", tt.send)
			if err == nil && tt.makes != nil {
				err = tt.makes(&a)
			}
			r.hooks.Settle(t.Context(), tenant, a, err)
			if !slices.Equal(got, told{tt.want}) {
				t.Errorf("got %q, want %q; the error was %v", got, tt.want, err)
			}
		})
	}
}

// TestStrangersMakeNoNames: what they ask for is no webhook's name.
func TestStrangersMakeNoNames(t *testing.T) {
	r := newRig(t)
	var got told
	r.hooks.Observe(&got)
	for _, name := range []string{"nothing", "", "no name!"} {
		a, err := r.hooks.Receive(t.Context(), tenant, name, signed(given, "{}"))
		r.hooks.Settle(t.Context(), tenant, a, err)
	}
	r.hooks.TurnedAway(webhook.TooLarge)
	if want := (told{" unknown false", " unknown false", " unknown false", " too_large false"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWhatIsBeyondItsRateIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.create(domain.Webhook{PerMinute: 1})
		var got told
		r.hooks.Observe(&got)
		for _, body := range []string{"{}", "[]"} {
			_, _ = r.send(signed(given, body))
		}
		if want := (told{"deploy started true", "deploy too_often false"}); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
