// Package pebbleboard is the board in a data folder: the embedded default, for
// one process. It stands on Pebble, an LSM tree with a log. What is answered
// by Commit survives a power cut.
//
// # How it works
//
// One goroutine, the committer, changes everything, so that nothing needs a
// lock and guards are simply looked at. It takes all requests that wait as
// one group: applies them one after the other to objects in memory, writes
// what has changed as one Pebble batch, hands that to the syncer and begins
// the next group while the disk works.
//
//	callers --queue--> committer --groups--> syncer --> callers
//	  | look ahead        |  ^                 '------> watchers
//	  v                   v  | fetched
//	Pebble <----------- batch, fetcher
//
// Commits, firm claims and watchers are answered by the syncer, in order, once
// their group is on the disk. Other claims, Extend, Occupy, Void and the questions
// about leases are answered by the committer as soon as the group is in the store:
// they are in the log before every later commit. Next does not wait for the committer:
// the number is in memory, and is written with the next group, which is before
// or with whatever uses it. Reads go to the store past the committer.
//
// What a group needs is in memory as an object: the encoded record, or where
// a list lies, or a set's size. Objects stay while they are leased and for
// some time after they were used (a line of 8,192; one used again goes to its
// end). A batch that fails half-way is taken back from a journal.
//
// Only in memory, and only the committer's: leases and when they run out,
// what each space holds, the turns of spaces, who waits. A queue's right end
// lies in memory as a window, so that popping never meets a tombstone; a
// queue of a million costs as much memory as one of thousands. The fetcher
// reads the next items and their records while the committer works, and who
// submits something new looks himself whether the key is absent. What was
// read so is good if the key's slot in the table of last writes is older.
//
// # On disk
//
//	m<name>                     the folder's own marks
//	k<space><key>               a record, or where a list or set lies
//	q<space><key>               the same for names of queues
//	l<list><number>             a chunk of list items from that number on
//	s<set><member>              a member of a set
//	a<space><name>              the instant of an alarm
//	d<instant><space><name>     alarms by instant
//	e<instant><space><key>      keys that end, by instant
//	v<space><instant><item>     live items by instant
//	n<space><key>               a counter
//	c<number>                   a claim log
//
// A value under k or q begins with a header: kind, live mark, expiry, whether
// it is leased, and the number of the group that wrote it. Common field names
// take one byte.
//
// A claim writes no record. It leaves a claim log: the owner, what was marked,
// and each item with its token. The record is written with all that when
// something else about it changes, at the latest when it is released; when
// nothing of a log is leased any more, it goes. Until then readers find the
// difference in hot. So a job costs two writes of its record, not three.
//
// A list numbers its items; pushes of a group are one chunk; popping moves
// the right end and removes chunks that are used up, so most pops write
// nothing but where the list ends. What is cut off on the left stays on disk
// until there is much of it, or until the list grows there again.
//
// # After a crash
//
// Pebble replays its log up to the last group that is whole, whatever lies behind
// it. So open reads the logs first, and refuses one that is damaged and not cut
// short: its pieces say how far it was on the disk when they were written, and what
// a power cut has not written is blank, a sector at least. The
// folder is opened then only with Config.AcceptLoss, without what is lost; that is
// kept aside and listed, and counters go on beyond what was given out in it.
//
// Then open reads the names of queues that are not empty, and the claim logs: a
// record that was written by an earlier group than its log gets what the log
// says; a record that is still marked as leased is. All those leases have run
// out, are counted, and are what Expired returns. An item of Occupy is found
// leased (and run out) when somebody asks for it. Nothing else is scanned.
//
// # When the disk fails
//
// Memory must not run ahead of the disk, so the first write that fails stops
// the board for good: everybody who waits and everybody who comes later gets
// one error of kind unavailable that says what to do, and Config.Fatal is
// called. Pebble cannot be closed then (see guardFS); the process should end.
//
// # Goroutines
//
// committer, syncer and fetcher end with Close. A timer runs when a key is
// to end, a call waits for its own; nothing ticks when nothing is due. Pebble
// has its own for its log, flushes and compactions.
package pebbleboard
