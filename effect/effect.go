package effect

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Call is one attempt of an effect.
type Call struct {
	// Tenant is the context that asks; TenantName its number or alias as
	// subjects have it, "" in a deployment without contexts.
	Tenant     domain.TenantID
	TenantName string
	// CommandID is the same for every attempt: targets may know by it that
	// they did it already. It is 1 to 100 printable characters without spaces.
	CommandID string
	Effect    string
	Payload   json.RawMessage // JSON; empty: null
	Metadata  map[string]string
	Attempt   int // from 1 on
	// Secrets are in the payload and are hidden in whatever comes back.
	Secrets []string
}

// Provider does the effects of one definition. It is safe for concurrent use.
// effecttest proves providers alike.
type Provider interface {
	// Do makes one attempt. The answer is JSON that the saga gets.
	//
	// Errors: a *[Refused] when the target said no, or cannot be asked at all:
	// another attempt would end the same; every other error may be tried
	// again. The context's end is a time-out: the target may have done it.
	Do(ctx context.Context, call Call) (answer json.RawMessage, err error)

	// Check looks whether the target can be reached for a context, without an effect.
	Check(ctx context.Context, tenant domain.TenantID) error

	// Target names what it calls, as "https://api.example.com" or
	// "smtp://mail.example.com:587": breaker and cap are kept for it unless the
	// definition names another. It has no secrets.
	Target() string

	// Close ends what is kept for later calls. No call is in flight then.
	Close() error
}

// Host is what a node lends to providers.
type Host struct {
	// Secrets has what [Text] options ask for.
	Secrets *Secrets
	// Dialer opens all connections of providers: it holds the egress rules.
	Dialer *Dialer
	// Folders are those in which providers may open databases that are files.
	Folders []string
}

// Open makes the provider of a definition; it calls nothing yet. It takes its
// own options by [Definition.Decode].
//
// Errors: [domain.ErrInvalid] naming the option and what would be right.
type Open func(def Definition, host Host) (Provider, error)

// Refused is an answer that stays what it is however often one asks.
type Refused struct {
	Cause string
	// Answer is what the target said, as JSON; empty: nothing.
	Answer json.RawMessage
}

// Refusedf returns a [Refused] without an answer.
func Refusedf(format string, args ...any) *Refused {
	return &Refused{Cause: fmt.Sprintf(format, args...)}
}

func (e *Refused) Error() string { return e.Cause }

// Unwrap makes it of the kind [domain.ErrInvalid].
func (e *Refused) Unwrap() error { return domain.ErrInvalid }

// RetryAfter is an error with the time after which the target wants to be
// asked again.
type RetryAfter struct {
	Err   error
	After time.Duration
}

func (e *RetryAfter) Error() string { return e.Err.Error() }
func (e *RetryAfter) Unwrap() error { return e.Err }

// Limits of what effects carry.
const (
	MaxAnswer = 256 << 10 // bytes of an answer; a longer one is cut, and says so
)

// Body is what a target answered, as it stands in an answer: itself where it is
// JSON and the answer with it is within [MaxAnswer], else a JSON string, or an
// object that says that it was cut: {"truncated": true, "bytes": n, "text": …}.
// A reader that read no further than MaxAnswer gives the size of the whole, or
// 0 where it is not known.
func Body(text []byte, whole int64) json.RawMessage {
	const room = MaxAnswer - 4<<10 // for what is around it
	if whole <= int64(len(text)) && len(text) <= room && json.Valid(text) {
		return text
	}
	if whole <= int64(len(text)) && len(text) <= room/6 { // no escape is longer than 6 bytes
		return mustJSON(domain.CutText(string(text), len(text)))
	}
	for size := room; ; size /= 2 {
		out := mustJSON(cutBody{true, max(whole, int64(len(text))), domain.CutText(string(text), size)})
		if len(out) <= room {
			return out
		}
	}
}

type cutBody struct {
	Truncated bool   `json:"truncated"`
	Bytes     int64  `json:"bytes"`
	Text      string `json:"text"`
}

func mustJSON(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic("BUG: an answer cannot be written as JSON: " + err.Error())
	}
	return text
}
