package webhook

import (
	"errors"

	"github.com/ramet-run/ramet/domain"
)

// What becomes of a delivery, for metrics. Each is decided here, but for those that the door
// turns away before it has read them.
const (
	Started     = "started"
	Duplicate   = "duplicate"   // its flow was there: the sender tried again
	Ignored     = "ignored"     // `when` does not hold
	Unsigned    = "unsigned"    // the signature is wrong
	TooOld      = "too_old"     // it is right, and its time is too far away
	Unknown     = "unknown"     // there is no such webhook
	TooLarge    = "too_large"   // at the door
	Cut         = "cut"         // at the door: the body did not come whole
	RateReached = "too_often"   // more than `per_minute`
	NoRoom      = "no_room"     // at the door, or for its flow
	Paused      = "paused"      // the webhook is
	Locked      = "locked"      // its secret cannot be opened here
	Failed      = "failed"      // an expression does
	Refused     = "refused"     // no blueprint, no right
	Unavailable = "unavailable" // the board is away
)

// Outcomes are all of them.
var Outcomes = []string{Started, Duplicate, Ignored, Unsigned, TooOld, Unknown, TooLarge, Cut,
	RateReached, NoRoom, Paused, Locked, Failed, Refused, Unavailable}

// Observer is told what becomes of deliveries. It must be quick.
type Observer interface {
	// Delivered is told of a delivery's outcome, one of [Outcomes]. webhook is "" where there is
	// none of the name that was asked for, or nobody looked. made says that a flow is there for it.
	Delivered(tenant domain.TenantID, webhook, outcome string, made bool)
}

type noObserver struct{}

func (noObserver) Delivered(domain.TenantID, string, string, bool) {}

// Observe has o told what becomes of deliveries from now on. Call it before the first.
func (s *Store) Observe(o Observer) { s.observer = o }

// TurnedAway counts a delivery that the door did not read.
func (s *Store) TurnedAway(outcome string) { s.observer.Delivered(0, "", outcome, false) }

// count tells the observer of a delivery.
func (s *Store) count(tenant domain.TenantID, a Asked, err error) {
	name, became := "", outcome(a, err)
	if a.Webhook != nil {
		name = a.Webhook.Name
	}
	s.observer.Delivered(tenant, name, became, became == Started || became == Duplicate)
}

// outcome is what became of a delivery.
func outcome(a Asked, err error) string {
	switch {
	case err == nil && a.Request == nil:
		return Ignored
	case err == nil && a.Existing:
		return Duplicate
	case err == nil:
		return Started
	case a.refused != "":
		return a.refused
	case errors.Is(err, domain.ErrUnauthenticated):
		return Unknown
	case errors.Is(err, domain.ErrExhausted), errors.Is(err, domain.ErrLimit):
		return NoRoom
	case errors.Is(err, domain.ErrInvalid):
		return Failed
	case errors.Is(err, domain.ErrUnavailable):
		return Unavailable
	}
	return Refused
}
