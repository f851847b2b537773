// Package heap has the first collection of garbage of a process come late. A program that
// imports it collects at 16 MB for the first time, where Go would at 4, and from then on as
// Go does. What the packages of ramet make when they are initialised and what the command
// line makes of its commands are some 8 MB: Go's default goes through them three times,
// which is a third of the processor time of a command that asks a node one thing.
//
// Who has set GOGC has decided; nothing is done then.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
)

const (
	// usualPercent is Go's default: a heap is collected when it has doubled.
	usualPercent = 100
	// startPercent makes of the 4 MB at which Go begins 16.
	startPercent = 400
)

// It is done here and not in main: most of it is made by package initialisation, and this
// package comes before nearly all others, for it needs so few.
func init() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(startPercent)
		runtime.AddCleanup(new([64]byte), func(struct{}) { afterFirst() }, struct{}{})
	}
}

// afterFirst runs once something was collected. What has set a percentage of its own
// meanwhile, as `ramet rhai` does, keeps it.
func afterFirst() {
	if was := debug.SetGCPercent(usualPercent); was != startPercent {
		debug.SetGCPercent(was)
	}
}
