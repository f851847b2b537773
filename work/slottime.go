package work

import (
	"time"

	"github.com/ramet-run/ramet/board"
)

// This file has contexts share the time of slots, and not only turns: a job of a
// minute takes as much from the others as sixty of a second. The board counts one
// turn for each job; what a job uses beyond that is told it with the next claim,
// also while the job runs.

// turnTime is how long a slot may be used for what one turn costs. Less than that
// is not counted: it is what a claim and a commit take.
const turnTime = 10 * time.Millisecond

// use is what one context has of a claimer's slots.
type use struct {
	slots int           // now
	time  time.Duration // of slots, beyond what was paid for and not charged yet
	since time.Time     // up to when that is counted
}

// change counts up to now, and n slots more from then on.
func (u *use) change(n int, now time.Time) {
	u.time += time.Duration(u.slots) * now.Sub(u.since)
	u.since, u.slots = now, u.slots+n
}

// begin counts one slot more, and that its first turn is paid for with the claim. What
// jobs that end sooner leave of that is not saved up for others.
func (u *use) begin(now time.Time) {
	u.change(1, now)
	u.time = max(u.time-turnTime, -turnTime*time.Duration(u.slots))
}

// charges is what contexts have used since they were charged last. Where there is
// but one it owes nobody anything. The caller holds the mutex.
func (l *claimer) charges(now time.Time) (due []board.Charge) {
	several := l.several()
	for space, u := range l.held {
		u.change(0, now)
		if !several {
			u.time = 0
		} else if u.time >= turnTime && len(due) < board.MaxCharge {
			n := min(u.time/turnTime, board.MaxItems)
			u.time -= n * turnTime
			due = append(due, board.Charge{Space: space, Items: int(n)})
		}
		if u.slots == 0 && u.time < turnTime {
			delete(l.held, space)
		}
	}
	return due
}
