package domain

import (
	"fmt"
	"strings"
	"time"
)

// Limits of a backfill.
const (
	// MaxBackfill is how many past times of a schedule one is about.
	MaxBackfill = 10_000
	// MaxBackfillAlive is how many of its flows are under way at once.
	MaxBackfillAlive = 100
)

// BackfillStatus says where a backfill stands.
type BackfillStatus string

// The statuses of backfills.
const (
	BackfillRunning   BackfillStatus = "running"
	BackfillFinished  BackfillStatus = "finished"  // its flows are made, and have ended
	BackfillCancelled BackfillStatus = "cancelled" // somebody ended it; its flows go on
	BackfillError     BackfillStatus = "error"     // a flow was refused, and the next would be, too
)

// Backfill makes the flows of a schedule's past times, oldest first, a few at once. A schedule
// has one at a time. A flow has the name that the schedule would have given it, so a time makes
// one flow, however often it is asked for.
type Backfill struct {
	// From and To bound the times; To is no part of them.
	From Instant `json:"from"`
	To   Instant `json:"to"`
	// Max is how many of its flows are under way at once, 1..[MaxBackfillAlive].
	Max    int            `json:"max"`
	Status BackfillStatus `json:"status"`
	// Total is how many times of the schedule are within the bounds.
	Total int `json:"total"`
	// Made is how many flows it made, Existing for how many times there was one before, on the
	// board or in the archive.
	Made     int `json:"made"`
	Existing int `json:"existing"`
	// Failed is how many of its flows ended badly.
	Failed int `json:"failed,omitzero"`
	// NextMs is the time whose flow is made next, Unix milliseconds; 0: there is none.
	NextMs int64 `json:"next_ms,omitzero"`
	// Alive are the flows of it that had not ended when it was looked at.
	Alive []FlowID `json:"alive,omitzero"`
	// Error is why no flow could be made; of one that runs, what it waits for.
	Error string `json:"error,omitzero"`
	// CallerID is who asked: its flows are in that actor's name.
	CallerID ActorID `json:"caller_id,omitzero"`
	BeganMs  int64   `json:"began_ms,omitzero"` // Unix milliseconds
	EndedMs  int64   `json:"ended_ms,omitzero"`
}

// Final reports whether it has ended.
func (b *Backfill) Final() bool { return b.Status != BackfillRunning }

// Validate checks what is asked for, but for the times.
//
// Errors: [ErrInvalid].
func (b *Backfill) Validate(now time.Time) error {
	switch {
	case b.Max < 1 || b.Max > MaxBackfillAlive:
		return Invalidf("max %d: want 1 to %d flows at once", b.Max, MaxBackfillAlive)
	case b.From == 0 || b.To == 0:
		return Invalidf("want from and to, as 2026-01-31T02:00:00Z: flows are made of the times from the one to before the other")
	case b.To <= b.From:
		return Invalidf("to %s is not after from %s", b.To, b.From)
	case b.To.Time().After(now):
		return Invalidf("to %s has not come yet: want up to now, %s; the schedule itself makes what comes", b.To, now.UTC().Format(time.RFC3339))
	}
	return nil
}

// String says in a line how far it has come.
func (b *Backfill) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s: %d of %d made", b.Status, b.Made, b.Total)
	for _, part := range []struct {
		n    int
		what string
	}{{b.Existing, "there already"}, {len(b.Alive), "under way"}, {b.Failed, "ended badly"}} {
		if part.n > 0 {
			fmt.Fprintf(&text, ", %d %s", part.n, part.what)
		}
	}
	if b.Error != "" {
		text.WriteString("; " + b.Error)
	}
	return text.String()
}
