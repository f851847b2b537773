// Package board is the contract of the live state: every record, queue, lease
// and alarm of what is not finished yet. Everything above is written once
// against [Board]; boardtest proves every driver equal.
//
// # What lies on a board
//
//	space    one context's own board, by number; space 0 is the node-wide one
//	record   a key with string fields                     (a Redis hash)
//	list     a queue or a log of strings                  (a Redis list)
//	set      distinct strings                             (a Redis set)
//	lease    "this owner works on this item until then"
//	alarm    a name with an instant
//	live     the mark of an unfinished record, with the instant it began
//
// A key holds one kind of thing. Asking for another kind is [domain.ErrInvalid].
// A record without fields, a list without items and a set without members do
// not exist. Alarms, live marks and the counters of Next are apart from keys:
// they may have any name, and are not listed by Keys, but by Alarms, Live and Counters.
//
// Deleting a record ends its lease and live mark; a record that loses its last
// field, too, ends its lease.
//
// # Queues
//
// A list whose name begins with one of [queue.Prefixes] is a queue: it can be
// claimed from, and the board keeps for each queue group (see [Group]) the
// spaces that have something ready, so that nobody ever looks through the
// contexts. Producers push on the left, Claim takes from the right: first in,
// first out. What goes before the rest (a retry, a follower of something that
// has begun) is pushed on the right.
//
// An item of a queue is the key of a record, or in the queue of a circle the id
// of a task, whose record has a key made of it (see [Named]); leases, and all
// that speaks of them, are of that key. Claim leases the record: it adds
// one to the field [FieldAttempt], whose new value is the lease's fencing
// token, sets [FieldOwner] and [FieldQueue], and drops items whose record is
// leased already or whose fields match [Ask.Skip]. So a doubled queue entry
// does no harm.
//
// Spaces with something ready are served in turns (stride scheduling): each
// space has a pass; the one with the lowest goes first and moves on by the
// number of items taken divided by its weight. A space that was away comes
// back at the pass of the one served last, so nobody can save up turns.
// In a space the lists of a queue are served in their order or, where a claim has
// items age, by how long they have waited: see [Aging].
//
// What an item costs beyond its turn only the claimer knows: it says so with a later
// claim ([Ask.Charges]), and the space's pass moves on by that too. Of a group in
// which nobody has anything ready, or only one space has, those who come are served
// from there on: who used what nobody else wanted owes nothing for it.
//
// Weights and caps are the fields of the record [LimitsKey] in the space
// itself:
//
//	weight        turns relative to others, 1..1000     default 1
//	max           leases at once from all queues         default no limit
//	max:<group>   leases at once from that queue's type  default no limit
//
// (for max:<group> a runner's own queue counts to its type: see [queue.CapGroup]).
// Caps hold at every instant; a space at its cap waits for a release. A lease
// that has run out counts until it is taken away. A cap of 0 lets nothing be
// claimed. A value that is not a decimal number, or is out of range, counts as
// the default. A change of the record acts at once.
//
// Turns are kept for each queue group by itself. A claim for several items may
// take them from one space in one turn or item by item from several; over many
// claims the shares are as the weights.
//
// # Time
//
// Leases and alarms are judged by the board's own clock (the store's, where
// nodes share one). An alarm is never reported early. Instants are cut to
// milliseconds.
//
// # Durability
//
// Commit returns when the batch is as durable as [Board.Durability] says.
// Claim, Extend and Next need not wait for the disk: losing them in a power
// cut repeats work, it never loses any. They are ordered before every later
// commit, so a durable finish implies a durable claim. They may also see what
// is committed but not yet answered: after a power cut something may have
// begun whose submit was never acknowledged.
package board
