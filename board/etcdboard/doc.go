// Package etcdboard is a board on an etcd cluster, for many nodes where etcd is
// already trusted.
//
// # What lies where
//
// A record is one value, so that most batches need few operations; a list lies
// in segments of up to 64 items, a set in one key for each member; leases,
// alarms and counters have keys of their own, so that a heartbeat writes little
// (see keys.go). Every transaction also writes the key head, whose revision
// says how far the board is.
//
// # How it works
//
// Each node has the whole board in memory, as it was at one revision: the
// mirror. The follower keeps it up by one watch of the prefix, and tells turns,
// waiting claims and watchers what has changed. What callers want is judged
// against the mirror by one goroutine, the committer, which makes one Txn of
// what several callers want. The Txn compares the revision of every key that a
// judgement rests on, also that of a failed guard. If another node was first,
// nothing has happened: the committer waits until the mirror has what is new, and judges
// anew. Ordering and atomicity are etcd's.
//
//	caller --request--> queue --> committer --Txn--> etcd --watch--> follower --> mirror
//	                                  ^------------- judges by -----------------------'
//
// Reads ask etcd for the revision of head, one question for all who ask at the
// same time, and answer from memory once the mirror is there: what any node had
// committed before is seen.
//
// Every transaction also compares when head was made: a board whose keys somebody has
// deleted is another one, see emptied.go.
//
// # The line
//
// etcd takes 128 comparisons and 128 operations in a Txn. A node whose batch
// needs more, or that has lost a race, stands in line: its place is a key, and
// whose was written first has the board to itself for one Txn, because every
// plain Txn wants the line empty. That Txn compares nothing else, nests its
// operations in two levels, which makes room for 3,840, and takes the place
// away; or, where others stand behind, puts it at the end of the line. So many
// nodes that want the same thing lose one race each, and then take turns of one
// Txn, in which each does what all of its callers want; who has nothing to do when
// its turn comes leaves. Claims that wait let those in line go before, for some
// milliseconds: one item wakes every node, and is one node's. Who is the first for
// longer than Config.Answer is shown out by those behind it.
//
// # When an answer is lost
//
// Each Txn writes its id under a key of its board, and holds only if the one
// before it is still there. After an error that leaves the outcome open the
// committer writes that key itself: either it finds the id, and the Txn has
// happened, or the Txn never will. Callers learn which. Only when etcd cannot be
// asked for Config.Answer do they get [domain.ErrUnavailable]. Of a Txn that
// etcd refuses each caller's part is tried alone: one does not fail for another.
//
// # Turns and caps
//
// Each node gives turns by what itself has served; as every node's shares are
// as the weights, so are those of all. A claim compares the space's limits. If
// there are any, it also changes a key that every other claim there compares:
// so a cap holds at every instant.
//
// # Time
//
// etcd has no clock to ask, and nodes' clocks need not agree: a lease says how
// long it holds, and has run out for a node that has seen it unchanged for so
// long. Its owner reckons from before it was written, so it knows first. A node
// that has just come waits for a whole lease. Alarms, and keys that expire, go by
// the middle one of the nodes' clocks, as each has heard the others (see clock.go): one
// that is an hour off changes nothing where there are three. Where there are two it
// is the earlier one. The clock of a command has no say ([Config.Passing]). A node whose
// clock is far from the last words of others waits for these before it is open.
//
// # What cannot be read
//
// A value that somebody else has written under the prefix is set aside: it stays
// where it is, is named by Unreadable, and harms nobody else. Where it is what
// lies under a key, the key holds another kind; a segment of a list is passed
// over, a lease or an alarm is not there; only a counter gives no more numbers.
//
// # When something fails
//
// Without a leader, calls end with [domain.ErrUnavailable] after about twice
// Config.Answer; a Commit may then have been applied. Nothing waits for longer
// than some times Config.Answer, Close neither. A watch that cannot go on because etcd
// was compacted is followed by reading everything. A revision that was lost
// sight of is never skipped.
//
// An etcd that was restored from a snapshot has lost what came after. Who opens
// the board then begins an epoch, in which counters go on far beyond; a board that
// was open is of no use any more, and says so (see restored.go).
//
// # Limits
//
// The board must fit into each node's memory and into etcd's quota (2 GiB
// unless set, 8 at most). A batch must fit into etcd's --max-request-bytes, 1.5
// MiB unless set, and 3,840 operations; what does not is [domain.ErrInvalid].
// etcd keeps the history of every key until it is compacted: start it with
// --auto-compaction-retention.
//
// Goroutines: the committer, the follower, the reaper of expired keys, the clock; while
// somebody reads, one that asks for the revision.
package etcdboard
