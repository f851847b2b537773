package archive

import (
	"context"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
)

// Limits of the contract. A driver refuses what is larger with [domain.ErrInvalid].
const (
	MaxBatch  = 1024     // records of one Put
	MaxRecord = 64 << 20 // bytes of a record's body and log lines together
	MaxHead   = 255      // bytes of a key, status, reason, script type, blueprint or trigger
	MaxPage   = 500      // records of one page
	MaxDelete = 10_000   // records of one Delete
	// MaxPageBytes ends a page of whole records early; it has one at least.
	MaxPageBytes = 8 << 20
)

// Archive keeps records of what ended. It is safe for concurrent use. One
// context's records are never found from another.
//
// Errors of every method: [domain.ErrUnavailable] when the store cannot be
// reached or the archive is closed (an interrupted Put may or may not have been
// applied), [domain.ErrInvalid] for what breaks a limit, and the context's own
// error.
type Archive interface {
	// Put keeps records, all or none, durably before it returns. One that is
	// there already, by context, key and end, stays as it is. A flow takes its
	// name, unless another key has it: then the name stays where it is.
	Put(ctx context.Context, records []Record) error

	// Get reads the record of a key that ended at an instant (Unix ms); 0 is its
	// newest end.
	//
	// Errors: [domain.ErrNotFound].
	Get(ctx context.Context, tenant domain.TenantID, key string, endMs int64) (Record, error)

	// Search returns a page of what the query finds.
	Search(ctx context.Context, q Query) (Page, error)

	// Count says how many records the query finds over all pages.
	Count(ctx context.Context, q Query) (int64, error)

	// Delete removes up to limit records of all contexts that ended before an
	// instant, oldest first, with their names, and names claimed before it that
	// never got a record. It returns how many records are gone; fewer than limit
	// means that none is left.
	Delete(ctx context.Context, before time.Time, limit int) (int, error)

	// Cut removes up to limit records that ended before an instant, oldest first, with
	// their own names only, and returns how many are gone: where there are too many.
	Cut(ctx context.Context, before time.Time, limit int) (int, error)

	// Size is about how much there is.
	Size(ctx context.Context) (Size, error)

	// Claim gives a name to a key unless another has it, durably, and returns
	// who has it now. A key may claim its own name again.
	Claim(ctx context.Context, name Name, key string, at time.Time) (holder string, err error)

	// Release frees a name that a key has. Where another has it, or nobody, there
	// is nothing to do.
	Release(ctx context.Context, name Name, key string) error

	// Holder returns the key that has a name.
	//
	// Errors: [domain.ErrNotFound].
	Holder(ctx context.Context, name Name) (key string, err error)

	// Mark gives a mark a value, durably, where its value is was, and returns the
	// one that it has now. Marks say to which board an archive belongs, and how far
	// it has come; one that was never given has the value "".
	Mark(ctx context.Context, name, was, value string) (now string, err error)

	// Marks returns all marks.
	Marks(ctx context.Context) (map[string]string, error)

	// Highest returns the highest id of each kind, context and caller that a record
	// has. It looks at every record.
	Highest(ctx context.Context) ([]Highest, error)

	// Snapshot returns the archive as it is now, for somebody who reads all of it while
	// it goes on.
	Snapshot(ctx context.Context) (Snapshot, error)

	// Durability says what an answered Put survives, as far as it is known now:
	// [board.DurableMemory] while the store has never been reached.
	Durability() board.Durability

	// Ping asks whether the store can be reached now, at little cost.
	//
	// Errors: [domain.ErrUnavailable].
	Ping(ctx context.Context) error

	// Close lets calls in progress end and refuses later ones.
	Close() error
}

// Size is about how much an archive holds: room that removed records have left does not
// count.
type Size struct{ Records, Bytes int64 }

// Highest is the highest id that the archive has of a kind: of a context's flows, or
// of its jobs or messages with one caller.
type Highest struct {
	Context domain.TenantID
	Kind    domain.ArchiveKind
	Caller  domain.ActorID // 0 of flows
	ID      int64
}

// Name is a flow's business name.
type Name struct {
	Context   domain.TenantID
	Blueprint string
	Trigger   string
}

// Validate checks a name.
//
// Errors: [domain.ErrInvalid].
func (n Name) Validate() error {
	if n.Context == 0 {
		return domain.Invalidf("context 0 has no archive")
	}
	if err := checkHead("blueprint", n.Blueprint, true); err != nil {
		return err
	}
	return checkHead("trigger", n.Trigger, true)
}

// Missing says that nobody has the name.
func (n Name) Missing() error {
	return domain.NotFoundf("no flow of blueprint %q with trigger %q is in the archive of context %d", n.Blueprint, n.Trigger, n.Context)
}

// Missing says that there is no such record.
func Missing(tenant domain.TenantID, key string, endMs int64) error {
	if endMs == 0 {
		return domain.NotFoundf("%q is not in the archive of context %d", key, tenant)
	}
	return domain.NotFoundf("%q with the end %d is not in the archive of context %d", key, endMs, tenant)
}

// CheckKey checks a key on its own.
//
// Errors: [domain.ErrInvalid].
func CheckKey(key string) error { return checkHead("key", key, true) }

// CheckDelete checks the limit of a Delete.
//
// Errors: [domain.ErrInvalid].
func CheckDelete(limit int) error {
	if limit < 1 || limit > MaxDelete {
		return domain.Invalidf("delete %d records: want 1 to %d", limit, MaxDelete)
	}
	return nil
}
