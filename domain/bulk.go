package domain

import (
	"slices"
	"strconv"
)

// BulkID numbers the bulk operations of a context.
type BulkID uint32

// BulkStatus says where a bulk operation stands.
type BulkStatus string

// The statuses of bulk operations.
const (
	// BulkCounted is one that was not begun: somebody wanted to know first how many it
	// would be about.
	BulkCounted   BulkStatus = "counted"
	BulkRunning   BulkStatus = "running"
	BulkFinished  BulkStatus = "finished"  // all that it found was dealt with
	BulkCancelled BulkStatus = "cancelled" // somebody ended it; what was done stays done
	BulkError     BulkStatus = "error"     // it could not go on
)

// Final reports whether the operation has ended.
func (s BulkStatus) Final() bool {
	return slices.Contains([]BulkStatus{BulkFinished, BulkCancelled, BulkError}, s)
}

// Limits of bulk operations.
const (
	// MaxBulksRunning is how many of a context run at once.
	MaxBulksRunning = 16
	// MaxBulks is how many of a context are kept, those that have ended too.
	MaxBulks = 1000
	// MaxBulkFailures is how many of the things that failed are named.
	MaxBulkFailures = 20
)

// Bulk is one operation that is done to everything that a filter fits, one thing after
// the other.
type Bulk struct {
	ID BulkID `json:"id"`
	// Operation is what is done to each: job.cancel.
	Operation string `json:"operation"`
	// Filter says to what, as it stands in the address of the list: status=error&text=x.
	Filter string `json:"filter,omitzero"`
	// Saga is the saga whose instances they are.
	Saga      string     `json:"saga,omitzero"`
	ContextID TenantID   `json:"context_id"`
	CallerID  ActorID    `json:"caller_id"`
	Status    BulkStatus `json:"status"`
	// Total is how many the filter fitted when it began; More says that there were more,
	// too many to be counted.
	Total int  `json:"total"`
	More  bool `json:"more,omitzero"`
	// Done is to how many it was done, Failed to how many it could not be. Skipped are those
	// for which there was nothing to do any more: they have ended, say, or are gone.
	Done    int `json:"done"`
	Failed  int `json:"failed"`
	Skipped int `json:"skipped"`
	// Failures are the first that failed, and why.
	Failures []BulkFailure `json:"failures,omitzero"`
	// Error is why it could not go on.
	Error   string `json:"error,omitzero"`
	BeganMs int64  `json:"began_ms,omitzero"` // Unix milliseconds
	EndedMs int64  `json:"ended_ms,omitzero"`
}

// BulkFailure is one thing to which it could not be done.
type BulkFailure struct {
	Key   string `json:"key"`
	Error string `json:"error"`
}

// Final reports whether the operation has ended.
func (b *Bulk) Final() bool { return b.Status.Final() }

// Failing notes one thing to which it could not be done.
func (b *Bulk) Failing(key, text string) {
	if b.Failed++; len(b.Failures) < MaxBulkFailures {
		b.Failures = append(b.Failures, BulkFailure{Key: key, Error: CutText(text, 1<<10)})
	}
}

// ParseBulkID reads the number of a bulk operation.
//
// Errors: [ErrInvalid].
func ParseBulkID(s string) (BulkID, error) {
	n, err := strconv.ParseUint(s, 10, 32)
	if err != nil || n == 0 {
		return 0, Invalidf("bulk operation %q: want its number", PlainText(s, 64))
	}
	return BulkID(n), nil
}
