package domain

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// TaskExplanation answers for a task: what it waits for, since when, and who holds
// it.
type TaskExplanation struct {
	Key      string     `json:"key"`
	Status   TaskStatus `json:"status"`
	Standing Standing   `json:"standing"`
	// Text is the answer in one sentence.
	Text string `json:"text"`
	// SinceMs is since when it stands like this, to the second.
	SinceMs int64 `json:"since_ms,omitzero"`
	// Holder is who works on it.
	Holder string `json:"holder,omitzero"`
	// NextMs is when it will be looked at again at the latest.
	NextMs int64 `json:"next_ms,omitzero"`
	// Circle is where it waits, Ahead how many stand before it there; -1 where
	// they are too many to count.
	Circle string `json:"circle,omitzero"`
	Ahead  int    `json:"ahead,omitzero"`
}

// FlowExplanation answers for a flow: what it waits for, since when, who holds it,
// what will wake it and when.
type FlowExplanation struct {
	Key      string     `json:"key"`
	Status   FlowStatus `json:"status"`
	Standing Standing   `json:"standing"`
	// Outlook is what becomes of it if nobody does anything; none once it has ended.
	Outlook Outlook `json:"outlook,omitzero"`
	// Text is the answer in one sentence.
	Text string `json:"text"`
	// SinceMs is since when it stands like this, where that is known.
	SinceMs int64  `json:"since_ms,omitzero"`
	Holder  string `json:"holder,omitzero"`
	// WaitsFor names jobs, and steps that wait for a decision.
	WaitsFor []string `json:"waits_for,omitzero"`
	NextMs   int64    `json:"next_ms,omitzero"`
}

// MessageExplanation says where a message stands.
type MessageExplanation struct {
	Key    string        `json:"key"`
	Status MessageStatus `json:"status"`
	// Outlook is what becomes of it if nobody does anything; none once it has ended.
	Outlook Outlook `json:"outlook,omitzero"`
	// Text is the answer in one sentence.
	Text string `json:"text"`
	// Holder is the supervisor that has it in its hands.
	Holder string `json:"holder,omitzero"`
	// PushMs is when it is pushed again, LateMs when its stage runs out.
	PushMs int64 `json:"push_ms,omitzero"`
	LateMs int64 `json:"late_ms,omitzero"`
}

// SagaExplanation answers for an instance: what it waits for, since when, and what
// will wake it.
type SagaExplanation struct {
	Key      string     `json:"key"`
	Status   SagaStatus `json:"status"`
	State    string     `json:"state"`
	Standing Standing   `json:"standing"`
	// Text is the answer in one sentence.
	Text string `json:"text"`
	// SinceMs is since when it stands like this.
	SinceMs int64 `json:"since_ms,omitzero"`
	// Holder is the worker that has its partition.
	Holder string `json:"holder,omitzero"`
	// NextMs is when a timer will wake it.
	NextMs int64 `json:"next_ms,omitzero"`
	// DeadLetter is the dead letter that holds it, Steps are the effects whose
	// results are awaited, Events the types of event that it would handle.
	DeadLetter string       `json:"letter,omitzero"`
	Steps      List[string] `json:"steps,omitzero"`
	Events     List[string] `json:"events,omitzero"`
	// Ended says of effects whose results its state waits for in vain how they ended.
	Ended List[string] `json:"ended,omitzero"`
	// Deferred are the types of the events that wait in it, in order.
	Deferred List[string] `json:"deferred,omitzero"`
	// Effects are the commands of Steps, and those without a step that have no result
	// yet; Unsent is its work that waits in the outbox.
	Effects List[AwaitedEffect] `json:"effects,omitzero"`
	Unsent  List[UnsentWork]    `json:"unsent,omitzero"`
}

// AwaitedEffect is an effect whose result an instance waits for.
type AwaitedEffect struct {
	Step      string `json:"step,omitzero"`
	Effect    string `json:"effect_name"`
	CommandID string `json:"command_id"`
	// Undoes is set where it undoes the step.
	Undoes bool `json:"undoes,omitzero"`
	// Attempts is how many the board was told of, the one that is being made
	// included; Error how the last that failed did, and NextMs when the next is due.
	Attempts int    `json:"attempts"`
	Error    string `json:"error,omitzero"`
	NextMs   int64  `json:"next_ms,omitzero"`
	// Decided is set when its result is known, and on its way to the instance.
	Decided bool `json:"decided,omitzero"`
	// DeadLetter is the dead letter that its command has become, whose cause is in Error.
	DeadLetter string `json:"letter,omitzero"`
	// Unserved is set where no node that is alive does the effect for the context. A
	// program that does effects by itself does not tell.
	Unserved bool `json:"unserved,omitzero"`
	// Breaker is the target whose breaker is open on the node that was asked, and Trial whether it
	// lets one call through to find out whether that answers again.
	Breaker string `json:"open_breaker,omitzero"`
	Trial   bool   `json:"on_trial,omitzero"`
	// Paused says why that node takes no commands of the effect, where it takes none.
	Paused string `json:"paused,omitzero"`
}

// String says how it stands.
func (a *AwaitedEffect) String() string {
	text := a.Effect
	switch {
	case a.Undoes:
		text += " (which undoes " + a.Step + ")"
	case a.Step != "":
		text = a.Step + " (" + a.Effect + ")"
	}
	text += ": " + attempts(a.Attempts, a.Error)
	if a.Decided {
		text += "; its result is known, and on its way"
	}
	if a.DeadLetter != "" {
		text += "; its command is a dead letter: replay or drop it"
	}
	if a.Unserved {
		text += "; no node that is alive and on duty as effect does it for this context: see `ramet effect list`"
	}
	switch {
	case a.Paused != "":
		text += "; " + a.Paused
	case a.Trial:
		text += "; the breaker of " + a.Breaker + " lets one call through"
	case a.Breaker != "":
		text += "; the breaker of " + a.Breaker + " is open"
	}
	return text
}

// Unserved marks the effects that nobody does of those whose results are not known, and
// says it where the instance waits for them.
func (x *SagaExplanation) Unserved(unserved func(effect string) bool) {
	var names []string
	for i := range x.Effects {
		a := &x.Effects[i]
		if a.Unserved = !a.Decided && a.DeadLetter == "" && unserved(a.Effect); a.Unserved && !slices.Contains(names, a.Effect) {
			names = append(names, a.Effect)
		}
	}
	if len(names) > 0 && slices.Contains([]Standing{StandingEffect, StandingEvents, StandingTimer}, x.Standing) {
		x.Text += "; no node that is alive does " + strings.Join(names, ", ")
	}
}

// UnsentWork is a work item that waits in the outbox.
type UnsentWork struct {
	What      string `json:"what"`
	CommandID string `json:"command_id"`
	// Attempts is how often the gateway did not take it (an outage, 5xx), and Error
	// what it answered last.
	Attempts int    `json:"attempts,omitzero"`
	Error    string `json:"error,omitzero"`
	// GiveUpMs is when it is given up, and MostAttempts after how many attempts at the latest; 0: not
	// before that time.
	GiveUpMs     int64 `json:"give_up_ms,omitzero"`
	MostAttempts int   `json:"most_attempts,omitzero"`
}

// String says how it stands.
func (u *UnsentWork) String() string {
	text := u.What + ": " + attempts(u.Attempts, u.Error)
	if u.GiveUpMs == 0 {
		return text
	}
	text += "; it is given up at " + time.UnixMilli(u.GiveUpMs).UTC().Format(time.RFC3339)
	if u.MostAttempts > 0 {
		text += fmt.Sprintf(", or after %d attempts", u.MostAttempts)
	}
	return text
}

func attempts(n int, last string) string {
	text := strconv.Itoa(n) + " attempts"
	switch n {
	case 0:
		return "no attempt has failed"
	case 1:
		text = "1 attempt"
	}
	if last == "" {
		return text
	}
	return text + ", the last error: " + last
}

// JobExplanation answers for a job: what it waits for, since when, who holds it,
// what will wake it and when.
type JobExplanation struct {
	Key      string    `json:"key"`
	Status   JobStatus `json:"status"`
	Standing Standing  `json:"standing"`
	// Outlook is what becomes of it if nobody does anything; none once it has ended.
	Outlook Outlook `json:"outlook,omitzero"`
	// Text is the answer in one sentence.
	Text string `json:"text"`
	// SinceMs is since when it stands like this, where that is known.
	SinceMs int64 `json:"since_ms,omitzero"`
	// Holder is who works on it.
	Holder string `json:"holder,omitzero"`
	// WaitsFor names jobs and prerequisites.
	WaitsFor []string `json:"waits_for,omitzero"`
	// NextMs is when it will be looked at again at the latest.
	NextMs int64 `json:"next_ms,omitzero"`
	// Ahead is how many stand before it in its queue; -1 where the queue is
	// too long to count.
	Ahead int    `json:"ahead,omitzero"`
	Queue string `json:"queue,omitzero"`
	// SlotsTaken is how many slots there are of its type, and SlotContexts how many
	// contexts hold them, where it waits because all are taken.
	SlotsTaken   int `json:"slots_taken,omitzero"`
	SlotContexts int `json:"slot_contexts,omitzero"`
}

// TextAhead says how many stand before something in a queue; -1 stands for more than were
// counted.
func TextAhead(ahead, counted int, queue string) string {
	switch ahead {
	case -1:
		return fmt.Sprintf("more than %d stand before it in %s", counted, queue)
	case 0:
		return "it is the next in " + queue
	case 1:
		return "one stands before it in " + queue
	}
	return fmt.Sprintf("%d stand before it in %s", ahead, queue)
}
