package console

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/durable"
)

// This file has what the durable script of a job remembers: its steps, sleeps and waits, what
// each gave and how long it took; and what can be done with that: to send what it waits for,
// and to do it again from one of its steps.

// memoryMost is how many events a page has, valueMost how much of a value it shows, in bytes.
const (
	memoryMost = 200
	valueMost  = 4 << 10
)

// memory is what a job remembers.
type memory struct {
	Rows    []memoryRow
	Signals []memoryRow // sent, and not waited for yet
	// Total is how many events there are; Next leads to those behind this page.
	Total int
	Next  string
}

// memoryRow is an event.
type memoryRow struct {
	At         moment
	Kind, Name string
	State      state
	Took       string
	Says       string // in a sentence
	Child      string // a job or a flow that it made
	Link       string // where that is shown; ""
	Value      string // what it gave, as JSON
	Fork       *action
}

// durableJob reports whether a job's script remembers, or may be sent something.
func durableJob(j *domain.Job) bool { return j.Remembered > 0 || j.Suspended != nil }

// memoryOf reads a page of what a job remembers.
func (v *visit) memoryOf(p api.JobParams, j *domain.Job) (*memory, error) {
	from, err := v.numberIn("events_from")
	if err != nil {
		return nil, err
	}
	page, err := call(v, api.JobHistory, api.JobHistoryParams{JobParams: p, From: int(from), Limit: memoryMost})
	if err != nil {
		return nil, err
	}
	m := &memory{Total: page.Total}
	last := j.StartedMs // of a later page it is the time of the first that is not known
	if from > 0 {
		last = 0
	}
	for i := range page.Events {
		e := &page.Events[i]
		row := memoryRow{At: v.past(e.AtMs), Kind: e.Kind, Name: eventName(e), State: eventState(e), Says: eventSays(e),
			Child: e.Child, Link: v.objectLink(e.Child)}
		if e.Kind == durable.DoWait {
			row.Child = "its page" // the sentence names it
		}
		if e.Failure == nil && len(e.Value) > 0 && !e.Cut {
			row.Value = domain.CutText(indented(string(e.Value)), valueMost)
		}
		if last != 0 && e.AtMs >= last {
			row.Took = v.took(last, e.AtMs)
		}
		last = e.AtMs
		if e.Kind == durable.DoStep && v.may(api.JobFork.Operation) {
			row.Fork = v.forkAction(j, row.Name)
		}
		m.Rows = append(m.Rows, row)
	}
	for i := range page.Signals {
		s := &page.Signals[i]
		m.Signals = append(m.Signals, memoryRow{At: v.past(s.AtMs), Kind: "signal", Name: s.Name, State: state{"sent", waiting},
			Says: "sent by " + actorText(s.By) + ", and not waited for yet"})
	}
	if n := int(from) + len(page.Events); n < page.Total {
		m.Next = v.path("jobs/%d/%d?tab=memory&events_from=%d", p.Caller, p.ID, n)
	}
	return m, nil
}

// eventName is the step's, with which of that name it is.
func eventName(e *domain.HistoryEvent) string {
	if e.N > 1 {
		return fmt.Sprintf("%s#%d", e.Name, e.N)
	}
	return e.Name
}

func eventState(e *domain.HistoryEvent) state {
	switch {
	case e.Failure != nil && e.Kind == durable.EventFailed:
		return state{"tried again", failed}
	case e.Failure != nil:
		return state{"failed", failed}
	case e.TimedOut:
		return state{"timed out", failed}
	case (e.Kind == durable.DoSleep || e.Kind == durable.DoWait || e.Kind == durable.DoCall) && !e.Ended:
		return state{"began", waiting}
	}
	return state{"done", succeeded}
}

// eventSays is what an event remembers beside its value.
func eventSays(e *domain.HistoryEvent) string {
	until := ""
	if e.UntilMs != 0 {
		until = momentOf(e.UntilMs, time.UnixMilli(e.UntilMs)).Exact
	}
	switch {
	case e.Failure != nil && e.Kind == durable.EventFailed:
		return e.Failure.Text + "; tried again from " + until
	case e.Failure != nil:
		return e.Failure.Text
	case e.Cut:
		return "the archive has left its value out"
	case e.Kind == durable.DoSleep:
		return "until " + until
	case e.Kind == durable.DoWait && !e.Ended && !e.TimedOut:
		text := "for " + e.WaitsFor()
		if until != "" {
			text += ", until " + until
		}
		return text
	}
	return ""
}

// forkAction does a job again from a step on.
func (v *visit) forkAction(j *domain.Job, step string) *action {
	return &action{Name: "Fork", Verb: "Make 1 new job", Post: v.path("jobs/%d/%d/fork", j.CallerID, j.ID), Fields: []field{{"from", step}},
		Will:    "A new job runs the same script. It remembers what this one did before " + step + ", and does that step and all behind it itself.",
		Command: v.command("job", "fork", shortKey(j), "--from", step)}
}

// signalAction sends what a script waits for, or will wait for.
func (v *visit) signalAction(j *domain.Job) action {
	name := formField{Name: "signal", Label: "Signal", Hint: "click", Needed: true, Help: "What the script waits for, by its name."}
	if s := j.Suspended; s != nil && len(s.Signals) > 0 {
		name.Value, name.Suggest = s.Signals[0], s.Signals
	}
	payload := formField{Name: "payload", Label: "Payload, JSON", Hint: "null", Area: 4,
		Help: "What its wait gives, such as {\"by\": \"ann\"}, 48 or \"yes\". Left empty, it gives null.", wrong: payloadFault}
	return action{Name: "Send a signal", Verb: "Send 1 signal", Inputs: []formField{name, payload}, Primary: name.Value != "",
		Will:    "The script is told, and goes on where it waits for this signal. One that it does not wait for yet is kept for it.",
		Command: v.command("job", "signal", shortKey(j), cmp.Or(name.Value, "NAME"))}
}

// shortKey is a job's key as people type it.
func shortKey(j *domain.Job) string { return strings.TrimPrefix(j.Key().String(), "job:") }

// payloadFault says what is wrong with what is to be sent; "" is nothing.
func payloadFault(text string) string {
	if text = strings.TrimSpace(text); text == "" || json.Valid([]byte(text)) {
		return ""
	}
	return `This is no JSON. A text stands in quotes: "yes".`
}

// sendSignal sends a signal that was typed.
func (v *visit) sendSignal(p api.JobParams) (*domain.Job, error) {
	text := v.typedIn("payload")
	if payloadFault(text) != "" {
		return nil, domain.Invalidf("the payload is no JSON")
	}
	s := api.SignalParams{JobParams: p, Name: v.typedIn("signal")}
	if text != "" {
		s.Payload = json.RawMessage(text)
	}
	return call(v, api.JobSignal, s)
}
