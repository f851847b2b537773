package script

import "github.com/ramet-run/ramet/domain"

// Level says how much of the machine a script sees; see [domain.Isolation].
type Level = domain.Isolation

// The levels, from the tightest to the widest.
const (
	Sealed = domain.Sealed
	Walled = domain.Walled
	Open   = domain.Open
)

// Levels are all of them, from the tightest to the widest.
var Levels = domain.Isolations
