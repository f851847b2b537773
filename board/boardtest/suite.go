// Package boardtest proves that a board driver keeps the contract of package
// board. A driver's own test file is about 20 lines:
//
//	func TestBoard(t *testing.T) { boardtest.Run(t, factory) }
//	func TestModel(t *testing.T) { boardtest.Model(t, factory) }
//
// Every test opens a board of its own and, unless [Features.Serial] says
// otherwise, runs beside the others: leases last at least a second, and the
// tests that wait for one to run out wait together.
package boardtest

import (
	"testing"

	"github.com/ramet-run/ramet/board"
)

// Factory makes boards of one driver.
type Factory struct {
	// Open returns a fresh, empty board. The suite closes it.
	Open func(t *testing.T) board.Board
	// Reopen opens the data of b again, which may be open still: then as
	// after a crash. The suite closes what it returns, and does not use b any
	// more. Nil: nothing is left after the process.
	Reopen func(t *testing.T, b board.Board) board.Board
	// Features says what the driver does otherwise.
	Features Features
}

// Features are what a driver cannot do, each with the reason, or does in its
// own way.
type Features struct {
	// Serial: boards cannot be open side by side, so tests run one by one.
	Serial string
	// FewSpaces: there cannot be a thousand spaces. All tests but one use 0 to 15.
	FewSpaces string
	// SmallRecords: a record or batch cannot be as large as board.MaxRecord.
	SmallRecords string
	// NoOverflow: a watcher cannot be made to fall behind.
	NoOverflow string
	// LeasesVoidAtOpen: Reopen fences the earlier process: all leases have
	// run out.
	LeasesVoidAtOpen bool
}

// test is one test of the suite.
type test struct {
	name string
	run  func(t *testing.T, f Factory)
}

// Run runs the whole suite.
func Run(t *testing.T, f Factory) {
	for _, tests := range [][]test{
		guardTests, opTests, batchTests, limitTests, keyTests, readTests,
		queueTests, circleTests, claimTests, turnTests, capTests, leaseTests, occupyTests,
		alarmTests, expireTests, watchTests, changedTests, walkTests, closeTests, reopenTests,
	} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				if f.Features.Serial == "" {
					t.Parallel()
				}
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
