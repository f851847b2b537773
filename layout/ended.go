package layout

import (
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/board"
)

// The lists of what ended in error, newest right: "<finished_ms> <key>". They stand
// beside [Finished], so that the few that failed are found among the many that did
// not. An entry counts as long as its record says that it ended then; see
// docs/decisions/0037.
const (
	FailedJobs  = "ramet:failed:jobs"
	FailedFlows = "ramet:failed:flows"

	// failedMost bounds each: of more, the oldest are not listed by status.
	failedMost = 1_000_000
)

// FailedWhole is the record of a context that says, in FailedSince, since when these
// lists name all that ended in error (Unix ms). While it is not there they may lack
// what a node of an earlier version has ended.
const (
	FailedWhole = "ramet:failed"
	FailedSince = "since_ms"
)

// Ended adds to b that a job or a flow has ended at an instant: its entry on
// [Finished], and for one that ended in error that on list, which is FailedJobs or
// FailedFlows.
func Ended(b *board.Batch, key string, at time.Time, list string, badly bool) {
	b.PushLeft(Finished, key)
	if badly {
		Failed(b, list, key, at.UnixMilli())
	}
}

// Failed adds to b the entry of what has ended in error.
func Failed(b *board.Batch, list, key string, finishedMs int64) {
	b.Append(list, failedMost, FailedEntry(key, finishedMs))
}

// FailedEntry is such an entry.
func FailedEntry(key string, finishedMs int64) string {
	return strconv.FormatInt(finishedMs, 10) + " " + key
}

// ParseFailed takes an entry apart: the key, and the value of finished_ms that its
// record has while the entry counts.
func ParseFailed(entry string) (key, finishedMs string, ok bool) {
	finishedMs, key, ok = strings.Cut(entry, " ")
	return key, finishedMs, ok && finishedMs != "0"
}
