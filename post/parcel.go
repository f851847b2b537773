package post

import (
	"bytes"
	"crypto/ed25519"
	"encoding/json"
	"slices"
	"time"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/intake"
)

// parcelMark begins every parcel: another program's, or another version's, is
// told apart at once.
const parcelMark = "ramet2"

// oldMark began those of versions before, whose signatures had another form.
const oldMark = "ramet1"

// Limits of a parcel.
const (
	// maxParcelItems bounds what one parcel brings: each message costs a
	// signature to check.
	maxParcelItems = 512
	// parcelRoom is what messages may fill: the rest is for what goes around.
	parcelRoom = bus.MaxParcel - 2<<10
	// parcelAge is how old a parcel may be: a bus may keep it for days, and the
	// messages in it have their own time.
	parcelAge = 31 * 24 * time.Hour
)

// parcel is what travels between two nodes.
type parcel struct {
	From string `json:"from"` // public keys of nodes
	To   string `json:"to"`
	AtMs int64  `json:"at_ms"`
	// Messages are signed messages.
	Messages []json.RawMessage `json:"letters,omitempty"`
	// Receipts answer messages of an earlier parcel in the other direction.
	Receipts []receipt `json:"receipts,omitempty"`
	// Notes are what jobs have said whose message came the other way.
	Notes []note `json:"notes,omitempty"`
}

// receipt says what became of a message.
type receipt struct {
	Context domain.TenantID      `json:"context"` // of the sender
	Key     string               `json:"key"`     // "message:12:101", there
	Digest  string               `json:"digest"`
	Status  domain.MessageStatus `json:"status"` // acknowledged or error
	Error   string               `json:"error,omitzero"`
}

// note is a run of log lines of one job.
type note struct {
	Context domain.TenantID `json:"context"`
	Key     string          `json:"key"`
	Digest  string          `json:"digest"`
	// From is how many lines of all jobs came before.
	From  int          `json:"from"`
	Lines []domain.Log `json:"lines"`
}

// seal writes a parcel as it goes over a bus: the mark, the signature of the
// node, and JSON.
func seal(k identity.Key, to string, now time.Time, p parcel) ([]byte, error) {
	p.From, p.To, p.AtMs = k.Pubkey(), to, now.UnixMilli()
	body, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	signature, err := identity.SignParcel(k, body)
	if err != nil {
		return nil, err
	}
	return slices.Concat([]byte(parcelMark), signature, body), nil
}

// unseal reads a parcel and checks that the node it names has signed it, and
// that it is for the node self.
//
// Errors: [domain.ErrInvalid] for what is no parcel, [domain.ErrForbidden] for
// one that is not what it says.
func unseal(text []byte, self string, now time.Time) (parcel, error) {
	const head = len(parcelMark) + ed25519.SignatureSize
	switch {
	case len(text) > bus.MaxParcel:
		return parcel{}, domain.Invalidf("parcel of %d bytes, the limit is %d", len(text), bus.MaxParcel)
	case bytes.HasPrefix(text, []byte(oldMark)):
		return parcel{}, domain.Invalidf("parcel of an earlier version of ramet: let the nodes of that site have the version of this one")
	case len(text) < head || string(text[:len(parcelMark)]) != parcelMark:
		return parcel{}, domain.Invalidf("no parcel of ours")
	}
	var p parcel
	if err := intake.Read(text[head:], &p, intake.Limits{Bytes: bus.MaxParcel}); err != nil {
		return parcel{}, domain.Invalidf("parcel cannot be read: %v", err)
	}
	if n := len(p.Messages) + len(p.Receipts) + len(p.Notes); n > maxParcelItems {
		return parcel{}, domain.Invalidf("parcel with %d things, the limit is %d", n, maxParcelItems)
	}
	if err := identity.VerifyParcel(p.From, text[head:], text[len(parcelMark):head]); err != nil {
		return parcel{}, err
	}
	if p.To != self {
		return parcel{}, domain.Forbiddenf("parcel of node %s is for node %s", p.From, p.To)
	}
	if age := now.Sub(time.UnixMilli(p.AtMs)); age > parcelAge || age < -clockLeeway {
		return parcel{}, domain.Forbiddenf("parcel of node %s is %v old", p.From, age.Round(time.Second))
	}
	return p, nil
}

// clockLeeway is how far the clocks of two sites may be apart.
const clockLeeway = 10 * time.Minute
