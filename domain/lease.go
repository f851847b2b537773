package domain

import "time"

// What works under leases, wherever it does: in a node, in a program with functions of
// its own. Who configures neither gets these.
const (
	// DefaultLease is how long work stays with one who is not heard of.
	DefaultLease = 30 * time.Second
	// DefaultGrace is how long work in hand may go on when who does it is told to stop.
	DefaultGrace = 30 * time.Second
)
