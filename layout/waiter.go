package layout

import (
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/queue"
)

// This file has who waits for the end of a job, beside the jobs that follow it. Whoever
// waits says so on the job's record, so that any node which ends the job tells it in the
// same commit, also one that does not run the engine which waits. A flow, which wants
// to know how each of its jobs ended, is told in package work.

// Waiter is what the end of a job does for one who waits for it.
type Waiter struct {
	// Alarm is set to the instant of the end; "" is none.
	Alarm string
	// Key is a record whose number Field is counted down; who makes it zero puts Key on
	// Queue. "" is none.
	Key, Field, Queue string
}

// Waiters are those who wait for the end of a job: the message that it came with, the
// routine whose round it is, and the script that has called it. Names that nobody waits under are left out: an alarm
// would stay for ever, and a foreign program may have written anything.
func Waiters(j *domain.Job) (all []Waiter) {
	if j.Message != "" && j.At == "" { // with a place it was sent by that message, and is ended by it
		// Jobs are their message's caller's.
		if key, err := domain.ParseMessageKey(j.Message); err == nil && key.Caller == j.CallerID && key.String() == j.Message {
			all = append(all, Waiter{Key: j.Message, Field: MessageOpen, Queue: queue.PostResult})
		}
	}
	if j.Routine != "" {
		if alarm := RoutineAlarm(j.Routine); isRoutineAlarm(alarm) {
			all = append(all, Waiter{Alarm: alarm})
		}
	}
	if alarm := CalledAlarm(j.CalledBy, j.CallerID); alarm != "" {
		all = append(all, Waiter{Alarm: alarm})
	}
	return all
}

// CalledAlarm is the alarm of the job whose script has called what has ended now; "" where
// there is none: a script calls in the name of its job's caller alone.
func CalledAlarm(by *domain.CalledBy, caller domain.ActorID) string {
	if by == nil {
		return ""
	}
	key, err := domain.ParseJobKey(by.Job)
	if err != nil || key.Caller != caller || key.String() != by.Job {
		return ""
	}
	return Alarm(AlarmCalled, key)
}

func isRoutineAlarm(alarm string) bool {
	_, _, ok := ParseRoutineAlarm(alarm)
	return ok
}

// TellWaiters adds to b, the commit that ends j, what that does for those who wait.
func TellWaiters(b *board.Batch, j *domain.Job, now time.Time) {
	for _, w := range Waiters(j) {
		if w.Alarm != "" {
			b.SetAlarm(w.Alarm, now)
		} else {
			b.Countdown(w.Key, w.Field, w.Queue, w.Key)
		}
	}
}
