// Package archivetest proves that an archive driver keeps the contract of
// package archive. A driver's own test file is about 20 lines:
//
//	func TestArchive(t *testing.T) { archivetest.Run(t, factory) }
//
// Every test opens an archive of its own.
package archivetest

import (
	"testing"

	"github.com/ramet-run/ramet/archive"
)

// Factory makes archives of one driver.
type Factory struct {
	// Open returns a fresh, empty archive. The suite closes it.
	Open func(t *testing.T) archive.Archive
	// Reopen opens the data of a again, which is closed or, as after a crash,
	// open still. The suite closes what it returns.
	Reopen func(t *testing.T, a archive.Archive) archive.Archive
	// Durability is what the driver must say of itself once it was reached.
	Durability string
}

// test is one test of the suite.
type test struct {
	name string
	run  func(t *testing.T, f Factory)
}

// Run runs the whole suite.
func Run(t *testing.T, f Factory) {
	for _, tests := range [][]test{putTests, searchTests, textTests, pageTests, deleteTests, nameTests, markTests, closeTests} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, f)
			})
		}
	}
}
