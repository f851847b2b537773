package doctor

import (
	"time"

	"github.com/ramet-run/ramet/api"
)

// StartStanding is how a webhook or a listener stands: the first of these that holds. Lists, the
// console and doctor go by it.
type StartStanding string

// The standings.
const (
	StartLocked   StartStanding = "locked"   // its secret cannot be opened here, so that all is refused
	StartPaused   StartStanding = "paused"   //
	StartHeld     StartStanding = "waits"    // events wait for something that is not there
	StartLacks    StartStanding = "lacks"    // no flow that it asks for is made now
	StartRefused  StartStanding = "refused"  // the last delivery of who has the secret started nothing
	StartDead     StartStanding = "dead"     // the last event became a dead letter
	StartUnproven StartStanding = "unproven" // nobody who has its secret has started a flow since that was set, and one was refused just now
	StartUnused   StartStanding = "unused"   // it has started nothing yet
	StartOn       StartStanding = "on"       //
)

// strangersTold is how long it is told of a webhook that nobody has used yet that a delivery was not
// signed rightly. Of one that works that is no news: everybody who knows its address can have that refused.
const strangersTold = time.Hour

// WebhookStands is how a webhook stands, and why.
func WebhookStands(w *api.Webhook, now time.Time) (is StartStanding, why string) {
	s := &w.State
	switch {
	case w.Locked != "":
		return StartLocked, w.Locked
	case w.Paused:
		return StartPaused, ""
	case w.Lacks != "":
		return StartLacks, w.Lacks
	case s.ProvenRefused():
		return StartRefused, s.LastError
	case s.LastMs < s.RotatedMs && now.Sub(time.UnixMilli(s.RefusedMs)) < strangersTold:
		return StartUnproven, s.LastError
	case s.LastMs == 0:
		return StartUnused, ""
	}
	return StartOn, ""
}

// ListenerStands is how a listener stands, and why.
func ListenerStands(l *api.Listener) (is StartStanding, why string) {
	switch {
	case l.Paused:
		return StartPaused, ""
	case l.State.HeldMs != 0:
		return StartHeld, l.State.HeldWhy
	case l.Lacks != "":
		return StartLacks, l.Lacks
	case l.State.RefusedMs > l.State.LastMs:
		return StartDead, l.State.LastError
	case l.State.LastMs == 0:
		return StartUnused, ""
	}
	return StartOn, ""
}
