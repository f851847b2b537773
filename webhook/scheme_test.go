package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/start"
)

var now = time.Unix(1_614_265_330, 0)

func headers(namesAndValues ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(namesAndValues); i += 2 {
		h.Set(namesAndValues[i], namesAndValues[i+1])
	}
	return h
}

func mac(key, text string) string {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(text))
	return string(m.Sum(nil))
}

// The example of the standard, whose signature others have computed.
//
// Source: Standard Webhooks 1.0.0, and its reference libraries' tests.
const (
	standardExample = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	standardBody    = `{"test": 2432232314}`
)

func standardDelivery(id, stamp, body, signature string) Delivery {
	return Delivery{headers("webhook-id", id, "webhook-timestamp", stamp, "webhook-signature", signature), []byte(body)}
}

func TestSchemes(t *testing.T) {
	stamp := strconv.FormatInt(now.Unix(), 10)
	hexed := func(key, text string) string { return hex.EncodeToString([]byte(mac(key, text))) }
	right := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
	stripe := func(t, key string) Delivery {
		return Delivery{headers("Stripe-Signature", "t="+t+",v1="+hexed("other", "x")+",v1="+hexed(key, t+`.{"id":"evt_1"}`)), []byte(`{"id":"evt_1"}`)}
	}
	old := strconv.FormatInt(now.Add(-domain.WebhookTolerance-time.Second).Unix(), 10)
	ahead := strconv.FormatInt(now.Add(domain.WebhookTolerance+time.Second).Unix(), 10)
	key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(standardExample, "whsec_"))
	sign := func(id, stamp, body string) string {
		return "v1," + base64.StdEncoding.EncodeToString([]byte(mac(string(key), id+"."+stamp+"."+body)))
	}
	for _, tc := range []struct {
		name    string
		scheme  domain.WebhookScheme
		d       Delivery
		secrets []string
		id      string
		bad     string // part of the reason
	}{
		{"the standard's own example", domain.WebhookStandard, standardDelivery("msg_p5jXN8AQM9LWM0D4loKWxJek", stamp, standardBody, right),
			[]string{standardExample}, "msg_p5jXN8AQM9LWM0D4loKWxJek", ""},
		{"one of several signatures", domain.WebhookStandard, standardDelivery("a", stamp, "x", "v1,AAAA v1a,zzzz "+sign("a", stamp, "x")),
			[]string{standardExample}, "a", ""},
		{"the secret before", domain.WebhookStandard, standardDelivery("a", stamp, "x", sign("a", stamp, "x")),
			[]string{standardSecret(), standardExample}, "a", ""},
		{"another body", domain.WebhookStandard, standardDelivery("a", stamp, "y", sign("a", stamp, "x")), []string{standardExample}, "", "wrong"},
		{"another id", domain.WebhookStandard, standardDelivery("b", stamp, "x", sign("a", stamp, "x")), []string{standardExample}, "", "wrong"},
		{"another time", domain.WebhookStandard, standardDelivery("a", "1614265331", "x", sign("a", stamp, "x")), []string{standardExample}, "", "wrong"},
		{"another version of signatures", domain.WebhookStandard, standardDelivery("a", stamp, "x", "v2"+sign("a", stamp, "x")[2:]),
			[]string{standardExample}, "", "v1"},
		{"another secret", domain.WebhookStandard, standardDelivery("a", stamp, "x", sign("a", stamp, "x")), []string{standardSecret()}, "", "wrong"},
		{"old", domain.WebhookStandard, standardDelivery("a", old, "x", sign("a", old, "x")), []string{standardExample}, "", "5m1s away"},
		{"ahead", domain.WebhookStandard, standardDelivery("a", ahead, "x", sign("a", ahead, "x")), []string{standardExample}, "", "-5m1s away"},
		{"a time that is none", domain.WebhookStandard, standardDelivery("a", "noon", "x", sign("a", "noon", "x")), []string{standardExample}, "", "no number"},
		{"nothing", domain.WebhookStandard, Delivery{}, []string{standardExample}, "", "Webhook-Id"},
		{"GitHub's own example", domain.WebhookGitHub, Delivery{headers("X-Hub-Signature-256",
			"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"), []byte("Hello, World!")},
			[]string{"It's a Secret to Everybody"}, start.Sum([]byte("Hello, World!")), ""},
		{"GitHub, with another name and the same body", domain.WebhookGitHub, Delivery{headers("X-GitHub-Delivery", "made up", "X-Hub-Signature-256",
			"sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"), []byte("Hello, World!")},
			[]string{"It's a Secret to Everybody"}, start.Sum([]byte("Hello, World!")), ""},
		{"GitHub by SHA-1", domain.WebhookGitHub, Delivery{headers("X-Hub-Signature", "sha1=00"), []byte("x")}, []string{"k"}, "", "X-Hub-Signature-256"},
		{"GitHub, cut", domain.WebhookGitHub, Delivery{headers("X-Hub-Signature-256", "sha256="+hexed("k", "x")[:10]), []byte("x")}, []string{"k"}, "", "wrong"},
		{"GitHub, empty", domain.WebhookGitHub, Delivery{headers("X-Hub-Signature-256", "sha256="), []byte("x")}, []string{"k"}, "", "wrong"},
		{"Stripe", domain.WebhookStripe, stripe(stamp, "whsec_k"), []string{"whsec_k"}, "evt_1", ""},
		{"Stripe, old", domain.WebhookStripe, stripe(old, "whsec_k"), []string{"whsec_k"}, "", "away"},
		{"Stripe, of another", domain.WebhookStripe, stripe(stamp, "no"), []string{"whsec_k"}, "", "wrong"},
		{"GitLab", domain.WebhookToken, Delivery{headers("X-Gitlab-Token", "0123456789abcdef", "Idempotency-Key", "i"), nil},
			[]string{"0123456789abcdef"}, "i", ""},
		{"a bearer", domain.WebhookToken, Delivery{headers("Authorization", "Bearer 0123456789abcdef", "Webhook-Id", "j"), nil},
			[]string{"0123456789abcdef"}, "j", ""},
		{"a wrong token", domain.WebhookToken, Delivery{headers("X-Gitlab-Token", "0123456789abcdeg"), nil}, []string{"0123456789abcdef"}, "", "wrong"},
		{"no token", domain.WebhookToken, Delivery{}, []string{"0123456789abcdef"}, "", "X-Gitlab-Token"},
		{"the sum of a secret is no token", domain.WebhookToken, Delivery{headers("X-Gitlab-Token", mac("0123456789abcdef", "")), nil},
			[]string{"0123456789abcdef"}, "", "wrong"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, err := schemes[tc.scheme].verify(tc.d, tc.secrets, now)
			if tc.bad == "" && (err != nil || id != tc.id) {
				t.Fatalf("got %q, %v, want %q", id, err, tc.id)
			}
			if tc.bad != "" && (err == nil || !strings.Contains(err.Error(), tc.bad)) {
				t.Fatalf("got %q, %v, want an error with %q", id, err, tc.bad)
			}
		})
	}
}

func TestDeliveriesWithoutAnIDAreNeverTheSame(t *testing.T) {
	d := Delivery{headers("X-Gitlab-Token", "0123456789abcdef"), []byte("x")}
	a, _ := schemes[domain.WebhookToken].verify(d, []string{"0123456789abcdef"}, now)
	b, _ := schemes[domain.WebhookToken].verify(d, []string{"0123456789abcdef"}, now)
	if a == "" || a == b {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestTriggers(t *testing.T) {
	for id, want := range map[string]string{
		"evt_1":                  "w.evt_1",
		".e":                     "w." + start.Sum([]byte(".e")), // of no listener
		"a b":                    "w." + start.Sum([]byte("a b")),
		strings.Repeat("x", 100): "w." + start.Sum([]byte(strings.Repeat("x", 100))),
	} {
		got := start.Trigger("w", id)
		if got != want || domain.ValidateTrigger(got) != nil {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	longest := strings.Repeat("n", domain.MaxWebhookName)
	if got := start.Trigger(longest, "a b"); domain.ValidateTrigger(got) != nil {
		t.Errorf("%q is no trigger", got)
	}
}

func TestSecretsThatAreGiven(t *testing.T) {
	for _, tc := range []struct {
		scheme domain.WebhookScheme
		secret string
		bad    string
	}{
		{domain.WebhookStandard, standardExample, ""},
		{domain.WebhookStandard, "whsec_0123456789abcdef", "base64 of 16"},
		{domain.WebhookStandard, "whsec_!!!!!!!!!!!!!!!!!!", "base64"},
		{domain.WebhookGitHub, "0123456789abcdef", ""},
		{domain.WebhookGitHub, "short", "has 5 bytes"},
		{domain.WebhookGitHub, "0123456789 abcdef", "blanks"},
		{domain.WebhookToken, strings.Repeat("x", domain.MaxWebhookSecret+1), "bytes"},
	} {
		err := checkSecret(tc.scheme, tc.secret)
		if tc.bad == "" && err != nil || tc.bad != "" && (err == nil || !strings.Contains(err.Error(), tc.bad)) {
			t.Errorf("%s %q: got %v", tc.scheme, tc.secret, err)
		}
		if err != nil && strings.Contains(err.Error(), tc.secret) {
			t.Errorf("the error tells the secret: %v", err)
		}
	}
	for scheme, s := range schemes {
		if err := checkSecret(scheme, s.fresh()); err != nil {
			t.Errorf("%s: what is made is refused: %v", scheme, err)
		}
	}
}

// FuzzDelivery: nothing panics, and nothing is let in that has no right signature.
func FuzzDelivery(f *testing.F) {
	f.Add("webhook-signature", "v1,AAAA", "a", "1614265330", []byte("{}"))
	f.Add("stripe-signature", "t=1614265330,v1=00", "", "", []byte(`{"id":7}`))
	f.Add("x-hub-signature-256", "sha256=00", "", "", []byte(`[`))
	f.Fuzz(func(t *testing.T, name, proof, id, stamp string, body []byte) {
		h := http.Header{"Webhook-Id": {id}, "Webhook-Timestamp": {stamp}}
		h.Set(name, proof)
		d := Delivery{h, body}
		for scheme, s := range schemes {
			if id, err := s.verify(d, []string{standardExample, s.fresh()}, now); err == nil && scheme != domain.WebhookToken {
				t.Errorf("%s let %q in", scheme, id)
			}
		}
		_, _ = values(d, id)
	})
}
