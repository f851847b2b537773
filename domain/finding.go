package domain

import (
	"errors"
	"strconv"
)

// Audit is what a round of an auditor found in one context.
type Audit struct {
	// Looked is how many unfinished things it looked at.
	Looked int `json:"looked"`
	// Repaired lists what was brought back, with the reason.
	Repaired List[Finding] `json:"repaired"`
	// Stuck lists what nothing would ever move and no rule is known for.
	Stuck List[Finding] `json:"stuck"`
	// Lacking lists what is in order, and waits for somebody who is not there: a finding
	// for each reason.
	Lacking List[Finding] `json:"lacking"`
	// Partial is whether the time was not enough for all: of what is unfinished the
	// oldest was looked at.
	Partial bool `json:"partial,omitzero"`
	// Unfinished is whether there is something that the next audit has to look at, too.
	Unfinished bool `json:"-"`
}

// Outlook is what becomes of an unfinished thing if nobody does anything about it.
// Explain says it, the auditor acts by it, and both have it from the same place.
type Outlook string

// The outlooks.
const (
	OutlookMoves   Outlook = "moves"   // somebody who is there will move it, or an alarm
	OutlookWaits   Outlook = "waits"   // what moves it is itself unfinished, or open: ask that
	OutlookHeld    Outlook = "held"    // somebody has to decide: to end a ban, say
	OutlookLacking Outlook = "lacking" // nobody who is there would move it: a node has to come
	OutlookMended  Outlook = "mended"  // nothing would move it; the next audit brings it back
	OutlookStuck   Outlook = "stuck"   // nothing would ever move it, and the audit says so
)

// With adds what another audit found.
func (a Audit) With(b Audit) Audit {
	return Audit{a.Looked + b.Looked, append(a.Repaired, b.Repaired...), append(a.Stuck, b.Stuck...), append(a.Lacking, b.Lacking...),
		a.Partial || b.Partial, a.Unfinished || b.Unfinished}
}

// Lacks counts what waits for somebody who is not there.
func (a Audit) Lacks() (n int) {
	for _, f := range a.Lacking {
		n += 1 + f.More
	}
	return n
}

// Strange names a thing among whose records lies something else, if that is what err
// says: another program has written there. Any other error is returned: it is not the
// thing's.
func (a *Audit) Strange(key string, err error) error {
	if !errors.Is(err, ErrInvalid) {
		return err
	}
	a.Stuck = append(a.Stuck, Finding{Key: key, Text: "another kind of thing lies where a record was: " + err.Error()})
	return nil
}

// Finding is one unfinished thing that had no reason to be alive, or lacks somebody.
type Finding struct {
	Key  string `json:"key"`
	Text string `json:"text"`
	// More is of how many others the same is true.
	More int `json:"more,omitzero"`
}

// Keys is the finding's key, with how many there are beside it.
func (f Finding) Keys() string {
	if f.More == 0 {
		return f.Key
	}
	return f.Key + " and " + strconv.Itoa(f.More) + " more"
}
