package doctor

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// BehindText is how much a saga is behind in a stream, for people.
func BehindText(l domain.SagaLag) string {
	if l.Beyond > 0 {
		return "unknown"
	}
	return strconv.FormatUint(l.Behind, 10)
}

// StartStanding is how a webhook, a listener, a schedule or an instance of a routine stands: the first of these that holds. Lists, the
// console and doctor go by it.
type StartStanding string

// The standings.
const (
	StartLocked   StartStanding = "locked"   // its secret cannot be opened here, so that all is refused
	StartPaused   StartStanding = "paused"   //
	StartLate     StartStanding = "late"     // its time has come, and no node has dealt with it
	StartLacks    StartStanding = "lacks"    // no flow that it asks for is made now
	StartHeld     StartStanding = "waits"    // events wait for something that is not there, or a time for the flow before
	StartRefused  StartStanding = "refused"  // the last delivery of who has the secret, or the last time, started nothing
	StartDead     StartStanding = "dead"     // the last event became a dead letter
	StartUnproven StartStanding = "unproven" // nobody who has its secret has started a flow since that was set, and one was refused just now
	StartUnused   StartStanding = "unused"   // it has started nothing yet
	StartOver     StartStanding = "over"     // it has no further time
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
	case l.Lacks != "": // that its events wait comes of it
		return StartLacks, l.Lacks
	case l.State.HeldMs != 0:
		return StartHeld, l.State.HeldWhy
	case l.State.RefusedMs > l.State.LastMs:
		return StartDead, l.State.LastError
	case l.State.LastMs == 0:
		return StartUnused, ""
	}
	return StartOn, ""
}

// ScheduleStands is how a schedule stands, and why.
func ScheduleStands(s *api.Schedule, now time.Time) (is StartStanding, why string) {
	switch {
	case s.Paused:
		return StartPaused, ""
	case s.Late(now):
		return StartLate, "its time " + clock(s.State.NextMs) + " has come, and no node has dealt with it"
	case s.Lacks != "":
		return StartLacks, s.Lacks
	case s.State.InTrouble():
		return StartRefused, s.State.LastError
	case s.State.NextMs == 0:
		return StartOver, ""
	case s.State.LookedMs >= s.State.NextMs:
		return StartHeld, "a time waits until the flow of the one before has ended"
	}
	return StartOn, ""
}

// roundLate is after how long a round that should have begun is late: more than the pause between two
// looks of a node that takes over from one that died.
const roundLate = time.Minute

// RoutineStands is how an instance of a routine stands, and why.
func RoutineStands(r *domain.Routine, i *domain.RoutineInstance, now time.Time) (is StartStanding, why string) {
	switch {
	case r.Paused:
		return StartPaused, ""
	case i.Held != "":
		return StartHeld, i.Held
	case i.Job == "" && i.NextMs != 0 && now.Sub(time.UnixMilli(i.NextMs)) > roundLate:
		return StartLate, "its round of " + clock(i.NextMs) + " has not begun, and no node has dealt with it"
	case i.Error != "":
		return StartRefused, i.Error
	case i.Round == 0:
		return StartUnused, ""
	}
	return StartOn, ""
}
