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
// nothing has happened: the committer waits until the mirror has what is new, a
// random moment more, and judges anew. Ordering and atomicity are etcd's.
//
//	caller --request--> queue --> committer --Txn--> etcd --watch--> follower --> mirror
//	                                  ^------------- judges by -----------------------'
//
// Reads ask etcd for the revision of head, one question for all who ask at the
// same time, and answer from memory once the mirror is there: what any node had
// committed before is seen.
//
// # The gate
//
// etcd takes 128 comparisons and 128 operations in a Txn. A batch that needs
// more, and one that has lost several races, is done under the gate: a key that
// every plain Txn wants absent. Who has put it there compares nothing else and
// nests its operations in two levels, which makes room for 4,096; it stays one
// Txn. The gate hangs on a lease of etcd: a node that dies with it keeps the
// others out for five seconds.
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
// etcd has no clock to ask: a lease runs out, and an alarm comes, by the clock
// of the node that looks. Clocks must agree to well below a lease (NTP is
// enough); tokens fence off whoever comes too late all the same.
//
// # When something fails
//
// Without a leader, calls end with [domain.ErrUnavailable] after Config.Answer;
// a Commit may then have been applied. A watch that cannot go on because etcd
// was compacted is followed by reading everything. A revision that was lost
// sight of is never skipped.
//
// # Limits
//
// The board must fit into each node's memory and into etcd's quota (2 GiB
// unless set, 8 at most). A batch must fit into etcd's --max-request-bytes, 1.5
// MiB unless set, and 4,096 operations; what does not is [domain.ErrExhausted].
// etcd keeps the history of every key until it is compacted: start it with
// --auto-compaction-retention.
//
// Goroutines: the committer, the follower, the reaper of expired keys; while
// somebody reads, one that asks for the revision; after the first use of the
// gate, one that keeps its lease.
package etcdboard
