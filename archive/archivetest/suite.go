// Package archivetest proves that an archive driver keeps the contract of
// package archive. A driver's own test file is about 20 lines:
//
//	func TestArchive(t *testing.T) { archivetest.Run(t, factory) }
//
// Every test opens an archive of its own.
package archivetest

import (
	"strings"
	"testing"

	"github.com/ramet-run/ramet/archive"
	"github.com/ramet-run/ramet/domain"
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
	for _, tests := range [][]test{putTests, searchTests, textTests, behindLarge(textTests), pageTests, deleteTests, nameTests,
		markTests, snapshotTests, closeTests} {
		for _, c := range tests {
			t.Run(c.name, func(t *testing.T) {
				t.Parallel()
				c.run(t, f)
			})
		}
	}
}

// behindLarge are the same tests where the newest record of each context is a large
// one: a driver that looks through the newest for words cannot do without its index then.
func behindLarge(tests []test) (list []test) {
	for _, c := range tests {
		list = append(list, test{c.name + ", behind a large record", func(t *testing.T, f Factory) {
			open := f.Open
			f.Open = func(t *testing.T) archive.Archive {
				a := open(t)
				large := job(1, 99, 1<<40)
				large.Logs = []domain.Log{{Stream: "stdout", Line: strings.Repeat("x", 1<<20)}}
				if err := a.Put(t.Context(), []archive.Record{large}); err != nil {
					t.Fatal(err)
				}
				return a
			}
			c.run(t, f)
		}})
	}
	return list
}
