package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/start"
)

const (
	// maxSignatures bounds the signatures that a delivery may bring: senders have two while
	// they change their secret.
	maxSignatures = 16
	// maxID bounds the id of a delivery in bytes.
	maxID = 256
	// madeBytes is the length of secrets that are made here.
	madeBytes = 32
	// standardPrefix begins secrets of the standard, which are base64 behind it.
	standardPrefix = "whsec_"
)

// Delivery is what a program outside sends.
type Delivery struct {
	Header http.Header
	Body   []byte
}

// scheme is a way to prove where a delivery comes from.
type scheme struct {
	// read finds what is to be proven, and the proofs; an error says what is missing.
	read func(d Delivery) (proof, error)
	// id names a delivery that was proven, by what its proof covers.
	id func(d Delivery) string
	// key is the bytes of a secret with which is signed.
	key func(secret string) ([]byte, error)
	// fresh makes a secret.
	fresh func() string
}

// proof is what a delivery brings as one.
type proof struct {
	// stamp is when it was signed, in seconds since 1970; "": the scheme has none.
	stamp string
	// signed are the bytes that are signed.
	signed []byte
	// bare says that the signature is the secret itself.
	bare bool
	// signatures are the proofs, of which one must be right.
	signatures [][]byte
}

var schemes = map[domain.WebhookScheme]scheme{
	domain.WebhookStandard: {readStandard, standardID, standardKey, standardSecret},
	domain.WebhookGitHub:   {readGitHub, bodyID, textKey, hexSecret},
	domain.WebhookStripe:   {readStripe, eventID, textKey, hexSecret},
	domain.WebhookToken:    {readToken, senderID, textKey, hexSecret},
}

func random() []byte {
	b := make([]byte, madeBytes)
	_, _ = rand.Read(b) // it never fails
	return b
}

func standardSecret() string { return standardPrefix + base64.StdEncoding.EncodeToString(random()) }

func hexSecret() string { return hex.EncodeToString(random()) }

func textKey(secret string) ([]byte, error) { return []byte(secret), nil }

// standardKey is the key of a secret of the standard.
//
// Source: Standard Webhooks 1.0.0: 24 to 64 bytes, base64, behind "whsec_".
func standardKey(secret string) ([]byte, error) {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, standardPrefix))
	if err != nil || len(key) < domain.MinWebhookSecret {
		return nil, domain.Invalidf("a secret of scheme standard is whsec_ and base64 of %d bytes or more, as `openssl rand -base64 32` makes them",
			domain.MinWebhookSecret)
	}
	return key, nil
}

// checkSecret looks at a secret that somebody gives.
//
// Errors: [domain.ErrInvalid], which does not say it.
func checkSecret(s domain.WebhookScheme, secret string) error {
	if n := len(secret); n < domain.MinWebhookSecret || n > domain.MaxWebhookSecret {
		return domain.Invalidf("the secret has %d bytes: want %d to %d, or none, and one is made", n, domain.MinWebhookSecret, domain.MaxWebhookSecret)
	}
	if strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return domain.Invalidf("the secret has blanks or control characters; want a single word")
	}
	_, err := schemes[s].key(secret)
	return err
}

// verify checks a delivery with each of some secrets, all of them, whichever is right, and by
// the same steps in all schemes. It returns the delivery's id. What the error says is for who owns the webhook, not for who
// sends.
func (s scheme) verify(d Delivery, secrets []string, now time.Time) (id string, err error) {
	p, err := s.read(d)
	right := 0
	for _, secret := range secrets {
		key, bad := s.key(secret)
		if bad != nil {
			return "", bad
		}
		mac := hmac.New(sha256.New, key)
		mac.Write(p.signed)
		want := mac.Sum(nil)
		if p.bare {
			want = key
		}
		for _, given := range p.signatures {
			// Of sums, as lengths may differ.
			a, b := sha256.Sum256(given), sha256.Sum256(want)
			right |= subtle.ConstantTimeCompare(a[:], b[:])
		}
	}
	switch {
	case err != nil:
		return "", err
	case right != 1:
		return "", errors.New("the signature is wrong: the sender has another secret, or the body was changed on its way")
	case p.stamp == "":
		return s.id(d), nil
	}
	seconds, err := strconv.ParseInt(p.stamp, 10, 64)
	if err != nil {
		return "", errors.New("the time that is signed is no number of seconds")
	}
	if off := now.Sub(time.Unix(seconds, 0)); off > domain.WebhookTolerance || off < -domain.WebhookTolerance {
		return "", &tooOld{"the time that is signed is " + off.Truncate(time.Second).String() + " away from this node's clock; want " +
			domain.WebhookTolerance.String() + " at most"}
	}
	return s.id(d), nil
}

// tooOld says that a signature is right, of a time that is too far away.
type tooOld struct{ text string }

func (e *tooOld) Error() string { return e.text }

func missing(header string) error { return errors.New("there is no header " + header) }

// readStandard reads webhook-id, webhook-timestamp and webhook-signature.
//
// Source: Standard Webhooks 1.0.0, "Signature scheme".
func readStandard(d Delivery) (p proof, err error) {
	id := standardID(d)
	p.stamp = d.Header.Get("Webhook-Timestamp")
	for _, text := range strings.Fields(d.Header.Get("Webhook-Signature")) {
		version, sum, _ := strings.Cut(text, ",")
		if given, bad := base64.StdEncoding.DecodeString(sum); version == "v1" && bad == nil && len(p.signatures) < maxSignatures {
			p.signatures = append(p.signatures, given)
		}
	}
	p.signed = signed(id+"."+p.stamp+".", d.Body)
	switch {
	case id == "" || len(id) > maxID:
		return p, errors.New("want a header Webhook-Id of 1 to 256 bytes")
	case p.stamp == "":
		return p, missing("Webhook-Timestamp")
	case len(p.signatures) == 0:
		return p, errors.New("want a header Webhook-Signature of v1,<base64>")
	}
	return p, nil
}

func standardID(d Delivery) string { return d.Header.Get("Webhook-Id") }

func signed(before string, body []byte) []byte { return append([]byte(before), body...) }

// readGitHub reads X-Hub-Signature-256, which signs the body alone: X-GitHub-Delivery could be
// another each time that somebody sends again what was recorded.
//
// Source: docs.github.com, "Validating webhook deliveries".
func readGitHub(d Delivery) (p proof, err error) {
	p.signed = d.Body
	sum, ok := strings.CutPrefix(d.Header.Get("X-Hub-Signature-256"), "sha256=")
	given, bad := hex.DecodeString(sum)
	if !ok || bad != nil {
		return p, errors.New("want a header X-Hub-Signature-256 of sha256=<hex>")
	}
	p.signatures = [][]byte{given}
	return p, nil
}

func bodyID(d Delivery) string { return start.Sum(d.Body) }

// readStripe reads Stripe-Signature: t=<seconds>,v1=<hex>.
//
// Source: docs.stripe.com, "Verify webhook signatures manually".
func readStripe(d Delivery) (p proof, err error) {
	for part := range strings.SplitSeq(d.Header.Get("Stripe-Signature"), ",") {
		name, text, _ := strings.Cut(part, "=")
		switch given, bad := hex.DecodeString(text); {
		case name == "t" && p.stamp == "":
			p.stamp = text
		case name == "v1" && bad == nil && len(p.signatures) < maxSignatures:
			p.signatures = append(p.signatures, given)
		}
	}
	p.signed = signed(p.stamp+".", d.Body)
	if p.stamp == "" || len(p.signatures) == 0 {
		return p, errors.New("want a header Stripe-Signature of t=<seconds>,v1=<hex>")
	}
	return p, nil
}

// eventID is the id of the event in the body: what is tried again is signed anew.
func eventID(d Delivery) string {
	var event struct {
		ID string `json:"id"`
	}
	if json.Unmarshal(d.Body, &event) == nil && event.ID != "" && len(event.ID) <= maxID {
		return event.ID
	}
	return bodyID(d)
}

// readToken reads a secret that is sent as it is. Who has it may say anything, so an id of the
// sender's will do.
//
// Source: docs.gitlab.com, "Webhooks": X-Gitlab-Token, Idempotency-Key.
func readToken(d Delivery) (p proof, err error) {
	token := d.Header.Get("X-Gitlab-Token")
	if scheme, bearer, _ := strings.Cut(d.Header.Get("Authorization"), " "); token == "" && strings.EqualFold(scheme, "Bearer") {
		token = strings.TrimSpace(bearer)
	}
	p.bare, p.signed = true, d.Body
	p.signatures = [][]byte{[]byte(token)}
	if token == "" {
		return p, errors.New("want a header X-Gitlab-Token, or Authorization: Bearer")
	}
	return p, nil
}

// senderID is an id of the sender's own, or else one that no other delivery has.
func senderID(d Delivery) string {
	for _, name := range []string{"Idempotency-Key", "Webhook-Id"} {
		if id := d.Header.Get(name); id != "" && len(id) <= maxID {
			return id
		}
	}
	return uuid.NewString()
}

// unsaid are headers that no expression sees: proofs, and what browsers and proxies add to
// prove something.
var unsaid = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Gitlab-Token", "Webhook-Signature", "Stripe-Signature",
	"X-Hub-Signature", "X-Hub-Signature-256"}
