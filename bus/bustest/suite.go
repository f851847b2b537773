// Package bustest proves that a bus driver keeps the contract of package bus.
// A driver's own test file is about 20 lines:
//
//	func TestBus(t *testing.T) { bustest.Run(t, factory) }
//
// Every test has a network of its own, without faults but those that the test
// makes itself. The contract lets a bus lose and double parcels; the suite
// wants that a healthy one does not.
package bustest

import (
	"testing"

	"github.com/ramet-run/ramet/bus"
)

// Factory makes networks of one driver.
type Factory struct {
	// Open returns a network without nodes, which ends with the test.
	Open     func(t *testing.T) Network
	Features Features
}

// Network is what nodes of one test are on.
type Network struct {
	// Join opens the bus of node 0, 1 or 2. Joining again is another process of
	// that node, or, after Close, the same started anew. The suite closes what
	// it gets.
	Join func(t *testing.T, node int) bus.Bus
	// Cut parts two nodes and Heal joins all again. Nil where a test cannot
	// make that happen.
	Cut  func(a, b int)
	Heal func()
}

// Features are what a driver cannot do, each with the reason.
type Features struct {
	// Forgets: a parcel for a node that is away is not kept for it.
	Forgets string
	// NoReturn: a parcel that was received and not done with does not come
	// again when its node starts anew.
	NoReturn string
	// Alone: a node cannot have several processes that share its parcels.
	Alone string
	// Nameless: it cannot tell who sent a parcel.
	Nameless string
	// NoSelf: a node cannot send to itself.
	NoSelf string
	// Doubles: a parcel may arrive twice on a healthy network.
	Doubles string
	// Few: it is too slow for hundreds of parcels.
	Few string
}

// test is one test of the suite.
type test struct {
	name string
	run  func(t *testing.T, f Factory)
}

// Run runs the whole suite.
func Run(t *testing.T, f Factory) {
	for _, tests := range [][]test{parcelTests, refusalTests, sharingTests, endTests, awayTests} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, f)
			})
		}
	}
}

// skip skips a test for which the driver has a reason.
func skip(t *testing.T, reason string) {
	t.Helper()
	if reason != "" {
		t.Skip(reason)
	}
}
