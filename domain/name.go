package domain

import "regexp"

// MaxNameBytes bounds the name of what people name.
const MaxNameBytes = 64

// namePattern is that of names that become parts of keys and variables.
var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`)

// triggerPattern is that of triggers: dates and numbers come first in them.
var triggerPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// ValidateName checks the name of a blueprint, a step, a schedule or a routine.
//
// Errors: [ErrInvalid].
//
// Source: seed 004, "jobName", "stepName".
func ValidateName(what, name string) error {
	if len(name) > MaxNameBytes || !namePattern.MatchString(name) {
		return Invalidf("%s %q: want a letter or '_' first, then letters, digits, '_' and '-', up to %d in all", what, name, MaxNameBytes)
	}
	return nil
}

// ValidateTrigger checks a trigger.
//
// Errors: [ErrInvalid].
//
// Source: seed 004, "trigger".
func ValidateTrigger(trigger string) error {
	if len(trigger) > MaxNameBytes || !triggerPattern.MatchString(trigger) {
		return Invalidf("trigger %q: want a letter, a digit or '_' first, then also '-' and '.', up to %d in all", trigger, MaxNameBytes)
	}
	return nil
}
