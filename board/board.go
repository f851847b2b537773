package board

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ramet-run/ramet/queue"
)

// Limits of the contract. A driver refuses what is larger with [domain.ErrInvalid].
const (
	MaxField  = 1 << 20 // bytes of one field's value, list item or set member
	MaxRecord = 4 << 20 // bytes of a record's names and values together
	MaxOps    = 1024    // guards and operations of one batch together
	MaxKey    = 255     // bytes of a key, field name or alarm name; at least 1, no NUL
	MaxClaim  = 1024    // items of one Claim
	MaxMark   = 100     // fields that a Claim sets, values that it skips, and spaces that it names
	MaxExcept = 1000    // spaces that a Claim passes over
	MaxCharge = 1000    // spaces that a Claim charges
	MaxItems  = 1 << 30 // that one of them is charged
	MaxAging  = 1000 * time.Hour
	MinLease  = time.Second
	MaxLease  = time.Hour
)

// Fields that the board itself keeps on a leased record, and the one it reads.
const (
	FieldAttempt = "attempt"     // fencing token: how often it was leased; stays after release
	FieldOwner   = "lease_owner" // who holds it; absent when nobody does
	FieldQueue   = "lease_queue" // the [queue.CapGroup] it counts to; absent when nobody holds it
	FieldCancel  = "cancel"      // non-empty: Extend tells the holder to stop
)

// FieldUnreadable is on no board: a record that is read has it where some of its
// values were changed by somebody who has not the key they are encrypted with.
// It says so, and what is made of such a record ends in error.
const FieldUnreadable = "unreadable"

// LimitsKey is the record in a space that holds its weight and caps.
const LimitsKey = "ramet:limits"

// Named is the key of the record that an item of a queue names; "" when it
// names none: it is empty, has a NUL, or is too long. A claim drops such items.
func Named(list, item string) string {
	prefix := queue.NamePrefix(list)
	if item == "" || len(prefix)+len(item) > MaxKey || strings.IndexByte(item, 0) >= 0 {
		return ""
	}
	return prefix + item
}

// Space is the number of one context's board. Space 0 is the node-wide one.
type Space uint32

// Field is one named value of a record.
type Field struct{ Name, Value string }

// Record is the fields of a record, in no order, each name once. Nil means
// that there is no such record: a record without fields does not exist.
type Record []Field

// Lookup returns a field's value and whether it is there.
func (r Record) Lookup(name string) (string, bool) {
	for i := range r {
		if r[i].Name == name {
			return r[i].Value, true
		}
	}
	return "", false
}

// Get returns a field's value, "" when it is not there.
func (r Record) Get(name string) string {
	v, _ := r.Lookup(name)
	return v
}

// Bare reports whether a record has no more than what a claim writes: what was
// queued names nothing.
func (r Record) Bare() bool {
	for i := range r {
		if name := r[i].Name; name != FieldAttempt && name != FieldOwner && name != FieldQueue {
			return false
		}
	}
	return true
}

// Board is the live state. It is safe for concurrent use.
//
// Errors of every method: [domain.ErrUnavailable] when the store cannot be
// reached or the board is closed, [domain.ErrInvalid] for what breaks a limit or
// asks for another kind of thing than the key holds, and the context's own
// error. After the first and the last a change may or may not have been made: a
// driver that can find out does so before it answers; callers repeat what their
// guards make harmless. No other result is worth anything beside an error, but
// for the records that come with [KeyErrors].
type Board interface {
	// Commit applies the batch wholly or not at all.
	//
	// Errors: *[GuardError], a [domain.ErrConflict], naming the first guard
	// that failed.
	Commit(ctx context.Context, batch Batch) error

	// CommitEach applies batches in order, each for itself as by Commit, and
	// returns an error (or nil) for each. It costs about as much as one Commit.
	CommitEach(ctx context.Context, batches []Batch) []error

	// Claim leases up to ask.Max items, in turns between spaces, and waits up
	// to ask.Wait for the first. It returns early with what there is; nothing
	// within the time is no error. What it gives may not be durable yet, unless
	// ask.Firm says so: a crash may take it back, and what was given is given
	// again, with the same token. With an error it gives nothing: what it may have
	// leased is nobody's to begin, and comes again when its lease has run out.
	//
	// Source: seed 004, "Task Execution"; the visibility time-out of Amazon SQS.
	Claim(ctx context.Context, ask Ask) ([]Claimed, error)

	// Extend renews leases to now+ttl. It answers for each in order.
	Extend(ctx context.Context, owner string, ttl time.Duration, held []Held) ([]Answer, error)

	// Occupy leases one record by name, without a queue: a routine, a flow. It
	// takes over a lease whose time has run out, and renews owner's own
	// without a new token. The record need not exist before. Occupied items
	// count to no cap and are not reported by Expired.
	//
	// Errors: [domain.ErrConflict] while another holds it.
	Occupy(ctx context.Context, space Space, item, owner string, ttl time.Duration) (token int64, err error)

	// Void lets all leases run out at once whose owner begins with prefix: a
	// node that comes back under its name fences its earlier life.
	Void(ctx context.Context, ownerPrefix string) error

	// Expired returns up to limit claimed leases whose time has run out,
	// longest ago first, and waits up to wait for the first. They stay as they
	// are until somebody commits against [Lapsed].
	Expired(ctx context.Context, limit int, wait time.Duration) ([]Lease, error)

	// Due returns up to limit alarms whose instant has come, earliest first,
	// and waits up to wait for the first. They stay set until cleared.
	Due(ctx context.Context, limit int, wait time.Duration) ([]Alarm, error)

	// Get reads records; one that does not exist is nil.
	//
	// Errors: [KeyErrors], a [domain.ErrInvalid], where some keys hold another
	// kind of thing: beside it are the records of the others.
	Get(ctx context.Context, space Space, keys ...string) ([]Record, error)

	// GetFields reads only the named fields of records, so that a page of large
	// ones costs little. One that does not exist is nil; one that has none of
	// the fields is empty. Errors: as of Get.
	GetFields(ctx context.Context, space Space, fields []string, keys ...string) ([]Record, error)

	// List reads up to n items from index from on, counted from the left.
	// Negative from counts from the right end: -1 is the last.
	List(ctx context.Context, space Space, list string, from, n int) ([]string, error)

	// Len returns the lengths of lists.
	Len(ctx context.Context, space Space, lists ...string) ([]int, error)

	// Stat says what lies under keys, in order.
	Stat(ctx context.Context, space Space, keys ...string) ([]Stat, error)

	// Members reads a set, in lexical order, after the given member, up to limit.
	Members(ctx context.Context, space Space, set, after string, limit int) ([]string, error)

	// Keys pages through the keys that begin with prefix (records, lists and
	// sets), up to about limit a page. Pass "" first and then what came back
	// as next, until that is "". A key that is there all the time comes at
	// least once; order is the driver's.
	Keys(ctx context.Context, space Space, prefix, cursor string, limit int) (keys []string, next string, err error)

	// Live pages through live items by the instant they were marked at, oldest
	// first. Pass the zero LiveItem first, then the last of the page before.
	Live(ctx context.Context, space Space, after LiveItem, limit int) ([]LiveItem, error)

	// LeaseOf returns the lease on an item, also one that has run out.
	LeaseOf(ctx context.Context, space Space, item string) (Lease, bool, error)

	// Now is the board's clock, by which alarms come: a delay is counted from it. That is
	// this machine's; or, where a server keeps the board, the server's, as last heard,
	// whatever is done to this machine's clock.
	Now() time.Time

	// AlarmOf returns the instant an alarm is set at.
	AlarmOf(ctx context.Context, space Space, name string) (time.Time, bool, error)

	// Alarms pages through the alarms of all spaces that are set, earliest first. Pass
	// the zero Alarm first, then the last of the page before.
	Alarms(ctx context.Context, after Alarm, limit int) ([]Alarm, error)

	// Counters pages through the counters of Next in a space, up to about limit a page,
	// with cursor and next as for Keys. Order is the driver's.
	Counters(ctx context.Context, space Space, cursor string, limit int) (counters []Counter, next string, err error)

	// Spaces returns the spaces in which something may lie, in order: all in which
	// something was ever committed that is still there are among them.
	Spaces(ctx context.Context) ([]Space, error)

	// Ready returns the spaces that have something in the queue group.
	Ready(ctx context.Context, group string) ([]Space, error)

	// Changed returns the spaces in which something was committed since an earlier
	// call gave the mark since: who looks after many contexts need not look at each
	// of them. With "" it begins: all may have changed. A batch of whichever process
	// that was answered before the call is in it; what foreign programs and nodes of
	// before this method write may be missing, so everything must be looked at now
	// and then all the same. Space 0 is never in it. A space may come again, or
	// although nothing changed.
	Changed(ctx context.Context, since string) (Changes, error)

	// Next reserves n consecutive numbers of the counter key and returns the
	// first. The first number ever is 1. For n = 0 it reserves none: it tells which
	// comes next, at the time of asking.
	Next(ctx context.Context, space Space, key string, n int) (int64, error)

	// Watch reports the keys with prefix that change in space, after each
	// change is durable, until ctx ends; then the channel is closed. A watcher
	// that falls behind gets one Event with an empty Key: look at everything
	// again. It is open when Watch returns: no later change is missed.
	Watch(ctx context.Context, space Space, prefix string) (<-chan Event, error)

	// Limits says what one commit may have.
	Limits() Limits

	// Unreadable returns what cannot be read of what lies in the store, by name.
	Unreadable(ctx context.Context) ([]Unreadable, error)

	// Discard removes one of those, by its Name.
	//
	// Errors: [domain.ErrNotFound] for what is not among them.
	Discard(ctx context.Context, name string) error

	// Durability says what an answered Commit survives.
	Durability() Durability

	// Close lets commits in progress end and refuses later calls.
	Close() error
}

// Kind is what lies under a key.
type Kind string

// The kinds; "" is nothing.
const (
	KindRecord Kind = "record"
	KindList   Kind = "list"
	KindSet    Kind = "set"
	KindOther  Kind = "other" // of another program on the same store
)

// Stat is what can be said of a key without reading it.
type Stat struct {
	Kind Kind
	// Expires is when the key will be gone, by this machine's clock; zero: it
	// does not expire.
	Expires time.Time
}

// Changes are what Changed found.
type Changes struct {
	// Spaces are those in which something was committed, in no order.
	Spaces []Space
	// All says that any space may have changed: the board cannot tell since when it
	// was asked. It forgets when it is opened anew, and when it loses sight of its
	// store.
	All bool
	// Next is the mark from which to ask on.
	Next string
}

// Durability is what an acknowledged write survives.
type Durability string

// The durabilities, weakest first.
const (
	DurableMemory  Durability = "memory"  // nothing: it ends with the process
	DurableProcess Durability = "process" // the end of the process, not of the machine
	DurableDisk    Durability = "disk"    // a power cut
	DurableQuorum  Durability = "quorum"  // the loss of a machine
)

// Ask is what a claimer wants.
type Ask struct {
	// Queues in order of preference. In each, spaces take turns; in a space
	// the lists are tried in order.
	Queues []Queue
	// Spaces are those to claim from. None: all. The turns of those that are
	// passed over stay as they are.
	Spaces []Space
	// Except are spaces not to claim from, also where Spaces names them. Their
	// turns, too, stay as they are.
	Except []Space
	// Aging has what waits long in a later list of a queue go before what is newer in
	// those before it. Zero: lists are served in their order.
	Aging Aging
	// Charges move the turns of spaces on, in the groups of Queues, before anything
	// is claimed; once, however long the claim waits. They may be lost with the claim.
	Charges []Charge
	// Max is the most items wanted, 1..MaxClaim.
	Max int
	// Owner is written on the lease.
	Owner string
	// Lease is how long it holds unless extended, MinLease..MaxLease.
	Lease time.Duration
	// Wait is how long to wait for the first item. Zero: not at all.
	Wait time.Duration
	// Mark is set on each claimed record in the same step.
	Mark []Field
	// Stamp names fields that are set to the instant of the claim by the
	// board's clock in the same step: Unix milliseconds for names that end in
	// "_ms", Unix seconds for others. (Mark cannot: an ask may wait long.)
	Stamp []string
	// Skip drops items whose record has this field at one of these values, or
	// which are leased already.
	Skip Match
	// Firm has the claim be as durable as a commit before it is answered: a token
	// that was given is never given again. Who acts outside of the board with what
	// it gets asks so.
	Firm bool
}

// Aging orders the items of a queue's lists by their age: the next item of each list
// counts as queued Step later for each list before its own, and who comes first by that
// is taken first; in a list nobody overtakes anybody.
type Aging struct {
	// Step is how much longer an item must have waited than one of the list before.
	Step time.Duration
	// Fields say when a record was queued, the first that it has: Unix milliseconds for
	// names that end in "_ms", else seconds. One that has none has only come now.
	Fields []string
}

// Queued is when a record was queued, in Unix milliseconds.
func (a *Aging) Queued(nowMs int64, field func(name string) string) int64 {
	for _, name := range a.Fields {
		n, err := strconv.ParseInt(field(name), 10, 64)
		if err != nil || n <= 0 {
			continue
		}
		if !strings.HasSuffix(name, "_ms") {
			n = min(n, nowMs/1000) * 1000
		}
		return min(n, nowMs)
	}
	return nowMs
}

// Charge is what a space has used beyond its items: its turns move on as if it had
// been given so many items more. A space that never had anything in a group has no
// turns there to move.
type Charge struct {
	Space Space
	Items int
}

// Wants reports whether the ask is for items of a space.
func (a *Ask) Wants(s Space) bool {
	return (len(a.Spaces) == 0 || slices.Contains(a.Spaces, s)) && !slices.Contains(a.Except, s)
}

// Picky reports whether there are spaces that the ask is not for.
func (a *Ask) Picky() bool { return len(a.Spaces)+len(a.Except) > 0 }

// Stamped returns the fields named by Stamp for a claim at nowMs.
func (a *Ask) Stamped(nowMs int64) []Field {
	if len(a.Stamp) == 0 {
		return nil
	}
	fields := make([]Field, len(a.Stamp))
	for i, name := range a.Stamp {
		n := nowMs
		if !strings.HasSuffix(name, "_ms") {
			n /= 1000
		}
		fields[i] = Field{Name: name, Value: strconv.FormatInt(n, 10)}
	}
	return fields
}

// Queue is a group of lists to claim from: all have the same [Group].
type Queue struct {
	Lists []string
}

// Match is a field that has one of some values.
type Match struct {
	Field  string
	Values []string
}

// Claimed is an item that is now leased to the claimer.
type Claimed struct {
	Space Space
	// Item is the key of the record: see [Named].
	Item  string
	Token int64
	// Until is when the lease runs out, by this machine's clock.
	Until time.Time
	// Record is the record after the claim. It has only the claim's own fields
	// when a foreign program pushed a key that it has not written yet.
	Record Record
}

// Held names a lease its owner believes to hold.
type Held struct {
	Space Space
	Item  string
	Token int64
}

// Answer is what Extend found.
type Answer string

// The answers.
const (
	Renewed   Answer = "renewed"
	Cancelled Answer = "cancelled" // renewed, and FieldCancel is set: stop the work
	Lost      Answer = "lost"      // no longer held: stop the work, its finish would be refused
)

// Lease is one lease as it stands.
type Lease struct {
	Space Space
	Item  string
	Owner string
	Token int64
	// Until is when it runs out, by this machine's clock: what is left of it is measured. See Over.
	Until time.Time
}

// Over reports whether the lease has run out. It is told by this machine's clock, never by
// the board's Now, which may be another's.
func (l Lease) Over() bool { return !l.Until.After(time.Now()) }

// Alarm is a name with an instant.
type Alarm struct {
	Space Space
	Name  string
	At    time.Time
}

// Counter is a counter of Next, with the number that it gave out last.
type Counter struct {
	Key  string
	Last int64
}

// LiveItem is an unfinished record.
type LiveItem struct {
	Item string
	At   time.Time
}

// Event says that something under a watched prefix changed.
type Event struct {
	Space Space
	Key   string
}
