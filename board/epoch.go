package board

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// EpochKey is the record in space 0 that says how often a store may have lost
// what it had acknowledged: there is none as long as it never did.
const EpochKey = "ramet:epoch"

// The fields of that record.
const (
	epochNumber = "number"
	epochAt     = "at_ms" // when the last one began
	epochCause  = "cause"
)

// EpochLeap is by how much counters go on when a new epoch begins: more than a store
// gives out of one between what it lost first and the loss.
const EpochLeap = 1_000_000

// Epoch is a time in which a store has lost nothing. A new one begins when it may
// have: a Redis that does not write each answer to its disk was restarted, a
// damaged log was given up. What a driver gives out of counters then goes on [EpochLeap]
// beyond what it gave before, so that no number is given twice. Leases stay as
// they are: those that are lost are nobody's to renew.
type Epoch struct {
	Number int64     // 0 is the first
	Since  time.Time // when it began; zero in the first
	Cause  string    // why, for people
}

// EpochOf reads the record.
func EpochOf(r Record) (e Epoch) {
	e.Number, _ = strconv.ParseInt(r.Get(epochNumber), 10, 64)
	if ms, err := strconv.ParseInt(r.Get(epochAt), 10, 64); err == nil {
		e.Since = time.UnixMilli(ms)
	}
	e.Cause = r.Get(epochCause)
	return e
}

// maxCause is how many bytes are kept of a cause.
const maxCause = 400

// NextEpoch adds to a batch of space 0 that a new epoch begins. Of a long cause the
// beginning is kept.
func (b *Batch) NextEpoch(now time.Time, cause string) *Batch {
	cause = domain.PlainText(cause, maxCause)
	return b.Add(EpochKey, epochNumber, 1).Set(EpochKey, Field{epochAt, strconv.FormatInt(now.UnixMilli(), 10)}, Field{epochCause, cause})
}
