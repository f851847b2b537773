package script

import (
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Level says how much of the machine a script sees.
type Level string

// The levels, from the tightest to the widest.
const (
	// Sealed is walled, in a network of its own: loopback only, or the hosts
	// that the operator lists.
	Sealed Level = "sealed"
	// Walled: user, mount, process and IPC namespaces of its own. System folders
	// are read-only, its work folder, a bounded /tmp and /dev/shm and its own /proc
	// are its own; nothing else exists. All that it started ends with it.
	Walled Level = "walled"
	// Open is the node's view, less data folder and socket, with resource limits.
	Open Level = "open"
)

// Levels are all of them, from the tightest to the widest.
var Levels = []Level{Sealed, Walled, Open}

// Tightest is the tightest of some levels; "" says nothing.
func Tightest(levels ...Level) Level {
	for _, level := range Levels {
		if slices.Contains(levels, level) {
			return level
		}
	}
	return ""
}

// Validate checks a level that a person wrote; "" is the default.
//
// Errors: [domain.ErrInvalid].
func (l Level) Validate() error {
	if l == "" || slices.Contains(Levels, l) {
		return nil
	}
	words := make([]string, len(Levels))
	for i, level := range Levels {
		words[i] = string(level)
	}
	return domain.Invalidf("isolation %q: want %s", string(l), strings.Join(words, ", "))
}
