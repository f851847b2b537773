package board

import (
	"strconv"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// EpochKey is the record in space 0 that says how often a store may have lost
// what it had acknowledged: there is none as long as it never did.
const EpochKey = "ramet:epoch"

// The fields of that record. What an archive or streams lost last stands in fields of its own,
// so that no store's loss hides that of another.
const (
	epochNumber = "number"
	epochAt     = "at_ms" // when the last one began
	epochCause  = "cause"
)

// epochField is the name of a field of the record for a store.
func epochField(of domain.LossOf, name string) string {
	if of == domain.LossOfBoard {
		return name
	}
	return string(of) + "_" + name
}

// EpochLeap is by how much counters go on when a new epoch begins: more than a store
// gives out of one between what it lost first and the loss.
const EpochLeap = 1_000_000

// Epoch is a time in which a store has lost nothing. A new one begins when it may
// have: a Redis that does not write each answer to its disk was restarted, one was
// set back to an older copy, a damaged log was given up. What a driver gives out of counters then goes on [EpochLeap]
// beyond what it gave before, so that no number is given twice. Leases stay as
// they are: those that are lost are nobody's to renew.
type Epoch struct {
	Number int64     // 0 is the first
	Since  time.Time // when it began; zero in the first
	Cause  string    // why, for people
	Losses []Loss    // the last of each store that had one
}

// Loss says when a store may last have lost something.
type Loss struct {
	Of    domain.LossOf
	At    time.Time
	Cause string // for people
}

// EpochOf reads the record.
func EpochOf(r Record) (e Epoch) {
	e.Number, _ = strconv.ParseInt(r.Get(epochNumber), 10, 64)
	for _, of := range []domain.LossOf{domain.LossOfBoard, domain.LossOfArchive, domain.LossOfStreams} {
		ms, err := strconv.ParseInt(r.Get(epochField(of, epochAt)), 10, 64)
		if err != nil {
			continue
		}
		l := Loss{of, time.UnixMilli(ms), r.Get(epochField(of, epochCause))}
		e.Losses = append(e.Losses, l)
		if !l.At.Before(e.Since) {
			e.Since, e.Cause = l.At, l.Cause
		}
	}
	return e
}

// Last is when a store last may have lost something; zero where it never did.
func (e Epoch) Last(of domain.LossOf) (at time.Time) {
	for _, l := range e.Losses {
		if l.Of == of {
			at = l.At
		}
	}
	return at
}

// maxCause is how many bytes are kept of a cause.
const maxCause = 1000

// NextEpoch adds to a batch of space 0 that a new epoch begins, as the board may have lost
// something. Of a long cause the first words are kept.
func (b *Batch) NextEpoch(now time.Time, cause string) *Batch {
	return b.NextEpochOf(domain.LossOfBoard, now, cause)
}

// NextEpochOf is [Batch.NextEpoch] for what some store may have lost.
func (b *Batch) NextEpochOf(of domain.LossOf, now time.Time, cause string) *Batch {
	cause = Excerpt(cause, maxCause)
	return b.Add(EpochKey, epochNumber, 1).Set(EpochKey,
		Field{epochField(of, epochAt), strconv.FormatInt(now.UnixMilli(), 10)}, Field{epochField(of, epochCause), cause})
}
