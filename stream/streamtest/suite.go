// Package streamtest proves that a stream driver keeps the contract of package
// stream. A driver's own test file is about 20 lines:
//
//	func TestLog(t *testing.T) { streamtest.Run(t, factory) }
//
// Every test has streams of its own, without faults but those that the test
// makes itself.
package streamtest

import (
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/stream"
)

// Factory makes brokers of one driver.
type Factory struct {
	// Open returns a broker with empty streams, which ends with the test.
	Open     func(t *testing.T) Broker
	Features Features
}

// Broker is what the nodes of one test share.
type Broker struct {
	// Log opens a node's way to the broker. The suite closes it.
	Log func(t *testing.T) stream.Log
	// Restart ends the broker and starts it anew with what it holds. Nil where
	// a test cannot make that happen.
	Restart func(t *testing.T)
}

// Features are what a driver cannot do, or can in a test.
type Features struct {
	// Bubble: it works in a bubble of testing/synctest, so time is exact and
	// costs nothing.
	Bubble bool
	// Alone: why there is only one way to the broker.
	Alone string
}

// test is one test of the suite.
type test struct {
	name string
	run  func(r *rig)
}

// Run runs the whole suite.
func Run(t *testing.T, f Factory) {
	for _, tests := range [][]test{publishTests, refusalTests, readerTests, ownerTests, queueTests, troubleTests, storeTests, awayTests} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				if f.Features.Bubble {
					synctest.Test(t, func(t *testing.T) { c.run(open(t, f)) })
				} else {
					c.run(open(t, f))
				}
			})
		}
	}
}
