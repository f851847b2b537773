package domain

import (
	"slices"
	"strings"
)

// Isolation says how much of the machine a script sees; "" says nothing.
type Isolation string

// The levels of isolation, from the tightest to the widest.
const (
	// Sealed is walled, in a network of its own: loopback only, or the hosts
	// that the operator lists.
	Sealed Isolation = "sealed"
	// Walled: user, mount, process and IPC namespaces of its own. System folders
	// are read-only, its work folder, a bounded /tmp and /dev/shm and its own /proc
	// are its own; nothing else exists. All that it started ends with it.
	Walled Isolation = "walled"
	// Open is the node's view, less data folder and socket, with resource limits.
	Open Isolation = "open"
)

// Isolations are all of them, from the tightest to the widest.
var Isolations = []Isolation{Sealed, Walled, Open}

// Tightest is the tightest of some levels; "" says nothing.
func Tightest(levels ...Isolation) Isolation {
	for _, level := range Isolations {
		if slices.Contains(levels, level) {
			return level
		}
	}
	return ""
}

// Validate checks a level that a person wrote; "" is the default.
//
// Errors: [ErrInvalid].
func (l Isolation) Validate() error {
	if l == "" || slices.Contains(Isolations, l) {
		return nil
	}
	words := make([]string, len(Isolations))
	for i, level := range Isolations {
		words[i] = string(level)
	}
	return Invalidf("isolation %q: want %s", PlainText(string(l), MaxAlias), strings.Join(words, ", "))
}

// ValidateOfContext checks the level of a context, which can only make its
// scripts see less than the nodes would let them.
//
// Errors: [ErrInvalid].
func (l Isolation) ValidateOfContext() error {
	if l == "" || l == Walled || l == Sealed {
		return nil
	}
	return Invalidf(`isolation %q of a context: want walled or sealed, or "" for what the nodes have; a context never loosens that`,
		PlainText(string(l), MaxAlias))
}
