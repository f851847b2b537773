package board

import (
	"fmt"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// Batch is a guarded change of one space: it is applied if every guard holds.
// Guards are judged in order against the state before the batch; operations
// act in order, each on what those before it made. An operation that cannot be
// done (another kind of thing, not a number, a record over [MaxRecord]) refuses
// the whole batch with [domain.ErrInvalid].
// The zero Batch is ready to use; methods return the batch for chaining.
type Batch struct {
	Space  Space
	Guards []Guard
	Ops    []Op
}

// GuardKind names what a guard asks.
type GuardKind uint8

// The guards.
const (
	GuardAbsent GuardKind = iota + 1 // no record Key
	GuardEqual                       // record Key has Field at Value; "" also when absent
	GuardHeld                        // item Key is leased to Owner (Value) with Token (N)
	GuardLapsed                      // item Key is leased with Token (N) and its time has run out
	GuardAlarm                       // alarm Key is set at At (milliseconds)
	GuardFree                        // item Key is not leased, or its lease has run out
	GuardLength                      // list Key has exactly N items; 0 also when absent
	GuardItem                        // the item at index N of list Key is Value; negative N counts from the right end
)

// Guard is a condition of a batch.
type Guard struct {
	Kind  GuardKind
	Key   string
	Field string
	Value string
	N     int64
}

// String says what the guard asks, for people.
func (g Guard) String() string {
	switch g.Kind {
	case GuardAbsent:
		return fmt.Sprintf("%s is absent", g.Key)
	case GuardEqual:
		return fmt.Sprintf("%s has %s = %q", g.Key, g.Field, g.Value)
	case GuardHeld:
		return fmt.Sprintf("%s is held by %s with token %d", g.Key, g.Value, g.N)
	case GuardLapsed:
		return fmt.Sprintf("%s's lease with token %d has run out", g.Key, g.N)
	case GuardAlarm:
		return fmt.Sprintf("alarm %s is set at %d", g.Key, g.N)
	case GuardFree:
		return fmt.Sprintf("%s is not leased", g.Key)
	case GuardLength:
		return fmt.Sprintf("%s has %d items", g.Key, g.N)
	case GuardItem:
		return fmt.Sprintf("%s has %.40q at index %d", g.Key, g.Value, g.N)
	}
	return fmt.Sprintf("unknown guard %d on %s", g.Kind, g.Key)
}

// GuardError says which guard of a batch failed. It is a [domain.ErrConflict].
type GuardError struct {
	Index int
	Guard Guard
}

func (e *GuardError) Error() string { return "guard failed: " + e.Guard.String() }
func (e *GuardError) Unwrap() error { return domain.ErrConflict }

// OpKind names what an operation does.
type OpKind uint8

// The operations.
const (
	OpSet        OpKind = iota + 1 // Fields on record Key
	OpUnset                        // the fields named in Items of record Key; a record without fields is gone
	OpDelete                       // Key, whatever it holds; its lease and live mark too
	OpAdd                          // N to the number in Field of record Key (absent is 0)
	OpPushLeft                     // Items on list Key, one after the other: the last is leftmost
	OpPushRight                    // Items on list Key, one after the other: the last is rightmost
	OpDrop                         // occurrences of each of Items from list Key: all (N = 0), the N leftmost, or the -N rightmost
	OpAppend                       // Items on the right of list Key, then keep only the N rightmost
	OpInclude                      // Items in set Key
	OpExclude                      // Items from set Key
	OpSetAlarm                     // alarm Key at N (Unix ms)
	OpClearAlarm                   // alarm Key
	OpRelease                      // the lease on item Key, if any
	OpExpire                       // Key is gone N ms from now; N = 0 takes that back
	OpLive                         // mark item Key as unfinished since N (Unix ms)
	OpSettle                       // take that mark away
	OpCountdown                    // see Countdown
	OpTrimRight                    // the N rightmost items of list Key (all, if there are fewer)
	OpTrimLeft                     // the N leftmost items of list Key (all, if there are fewer)
)

// Op is one operation. Which fields count depends on Kind.
type Op struct {
	Kind   OpKind
	Key    string
	Field  string
	N      int64
	Fields []Field
	Items  []string
	List   string
}

func (b *Batch) guard(g Guard) *Batch { b.Guards = append(b.Guards, g); return b }
func (b *Batch) op(o Op) *Batch       { b.Ops = append(b.Ops, o); return b }

// Absent guards that there is no record (nor list, nor set) key.
func (b *Batch) Absent(key string) *Batch { return b.guard(Guard{Kind: GuardAbsent, Key: key}) }

// Equal guards that a record's field has a value. "" also stands for a field
// or record that is not there.
func (b *Batch) Equal(key, field, value string) *Batch {
	return b.guard(Guard{Kind: GuardEqual, Key: key, Field: field, Value: value})
}

// Held guards that owner still holds the lease with this token. Its time may
// have run out, as long as nobody has taken it away.
func (b *Batch) Held(item, owner string, token int64) *Batch {
	return b.guard(Guard{Kind: GuardHeld, Key: item, Value: owner, N: token})
}

// Lapsed guards that the lease with this token is there and its time has run out.
func (b *Batch) Lapsed(item string, token int64) *Batch {
	return b.guard(Guard{Kind: GuardLapsed, Key: item, N: token})
}

// Free guards that nobody holds the item, or only by a lease that has run out.
func (b *Batch) Free(item string) *Batch { return b.guard(Guard{Kind: GuardFree, Key: item}) }

// Length guards that a list has exactly n items; 0 also stands for a list that
// is not there.
func (b *Batch) Length(list string, n int) *Batch {
	return b.guard(Guard{Kind: GuardLength, Key: list, N: int64(n)})
}

// ItemAt guards that the item at an index of a list is this one: 0 is the
// leftmost, -1 the rightmost. It does not hold when there is none there.
//
// With [Batch.TrimRight] it takes an item in one step, and only the one that
// was looked at before: ItemAt(list, -1, item).TrimRight(list, 1).
func (b *Batch) ItemAt(list string, index int, item string) *Batch {
	return b.guard(Guard{Kind: GuardItem, Key: list, N: int64(index), Value: item})
}

// AlarmAt guards that the alarm is set at exactly this instant (to the millisecond).
func (b *Batch) AlarmAt(name string, at time.Time) *Batch {
	return b.guard(Guard{Kind: GuardAlarm, Key: name, N: at.UnixMilli()})
}

// Set sets fields of a record, making it if it is not there.
func (b *Batch) Set(key string, fields ...Field) *Batch {
	return b.op(Op{Kind: OpSet, Key: key, Fields: fields})
}

// Unset takes fields from a record.
func (b *Batch) Unset(key string, names ...string) *Batch {
	return b.op(Op{Kind: OpUnset, Key: key, Items: names})
}

// Delete removes a key of any kind, with its lease and live mark.
func (b *Batch) Delete(key string) *Batch { return b.op(Op{Kind: OpDelete, Key: key}) }

// Add adds n to a number. A field that is not a decimal int64 refuses the
// batch with [domain.ErrInvalid].
func (b *Batch) Add(key, field string, n int64) *Batch {
	return b.op(Op{Kind: OpAdd, Key: key, Field: field, N: n})
}

// PushLeft puts items on the left: where producers of a queue push.
func (b *Batch) PushLeft(list string, items ...string) *Batch {
	return b.op(Op{Kind: OpPushLeft, Key: list, Items: items})
}

// PushRight puts items on the right: where Claim takes from.
func (b *Batch) PushRight(list string, items ...string) *Batch {
	return b.op(Op{Kind: OpPushRight, Key: list, Items: items})
}

// Drop removes every occurrence of the items. It costs the list's length.
func (b *Batch) Drop(list string, items ...string) *Batch {
	return b.op(Op{Kind: OpDrop, Key: list, Items: items})
}

// DropSome removes the n occurrences of an item that are nearest to the left
// end, those nearest to the right end for a negative n, and every one for 0. It
// costs the distance from that end to the last one it removes; where there are
// fewer, the list's length.
func (b *Batch) DropSome(list string, n int, item string) *Batch {
	return b.op(Op{Kind: OpDrop, Key: list, N: int64(n), Items: []string{item}})
}

// Append puts items on the right of a log and keeps its newest most items.
func (b *Batch) Append(list string, most int, items ...string) *Batch {
	return b.op(Op{Kind: OpAppend, Key: list, N: int64(most), Items: items})
}

// TrimRight removes the n rightmost items of a list, or all it has.
func (b *Batch) TrimRight(list string, n int) *Batch {
	return b.op(Op{Kind: OpTrimRight, Key: list, N: int64(n)})
}

// TrimLeft removes the n leftmost items of a list, or all it has.
func (b *Batch) TrimLeft(list string, n int) *Batch {
	return b.op(Op{Kind: OpTrimLeft, Key: list, N: int64(n)})
}

// Include puts members into a set.
func (b *Batch) Include(set string, members ...string) *Batch {
	return b.op(Op{Kind: OpInclude, Key: set, Items: members})
}

// Exclude takes members out of a set.
func (b *Batch) Exclude(set string, members ...string) *Batch {
	return b.op(Op{Kind: OpExclude, Key: set, Items: members})
}

// SetAlarm sets or moves an alarm.
func (b *Batch) SetAlarm(name string, at time.Time) *Batch {
	return b.op(Op{Kind: OpSetAlarm, Key: name, N: at.UnixMilli()})
}

// ClearAlarm clears an alarm, if set.
func (b *Batch) ClearAlarm(name string) *Batch { return b.op(Op{Kind: OpClearAlarm, Key: name}) }

// Release ends the lease on an item, if any: FieldOwner and FieldQueue are
// unset, FieldAttempt stays.
func (b *Batch) Release(item string) *Batch { return b.op(Op{Kind: OpRelease, Key: item}) }

// Expire removes the key after a time; zero takes that back. Later changes of
// the key do not move the instant; deleting it and making it again does away
// with it. A key that is not there stays so. Release and settle an item before
// it may expire: what becomes of its lease and live mark is the driver's.
func (b *Batch) Expire(key string, after time.Duration) *Batch {
	// Rounded up: never early, and the least time is not taken for zero.
	return b.op(Op{Kind: OpExpire, Key: key, N: (after + time.Millisecond - 1).Milliseconds()})
}

// Live marks an item as unfinished since at.
func (b *Batch) Live(item string, at time.Time) *Batch {
	return b.op(Op{Kind: OpLive, Key: item, N: at.UnixMilli()})
}

// Settle takes the mark of Live away.
func (b *Batch) Settle(item string) *Batch { return b.op(Op{Kind: OpSettle, Key: item}) }

// Countdown subtracts one from the number in field of record key. If that
// makes it exactly zero, fields are set on the record and item is pushed on
// the right of list. Where the record is not there it does nothing.
func (b *Batch) Countdown(key, field, list, item string, fields ...Field) *Batch {
	return b.op(Op{Kind: OpCountdown, Key: key, Field: field, List: list, Items: []string{item}, Fields: fields})
}
