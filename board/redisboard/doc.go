// Package redisboard is the board on a Redis (7 or later) or Valkey server, in
// the layout that the sources' programs read and write: records are plain
// hashes, lists plain lists, sets plain sets, under exactly their keys. Any
// Redis client is a client of the board.
//
// It needs one primary: a single server, one behind Sentinel (parameter
// master), or a managed one. Redis Cluster is refused at open: a batch touches
// keys that a cluster would keep on several servers.
//
// # What lies where
//
// In tenancy db (the default) space N is database N. In tenancy prefix, space
// N > 0 is the keys "ctx:<N>:…" of database 0, and space 0 those without.
// Beside the board's own records, lists and sets, by their names:
//
//	key                    type  where    holds
//	ramet:live             zset  space    unfinished items; score: since when
//	ramet:running          hash  space    leases held, by cap group
//	ramet:counters         hash  space    last number given out, by counter
//	ramet:limits           hash  space    weight, max, max:<group> (a record of the board)
//	ramet:leases           zset  space 0  "<space>|<item>" that is claimed; score: until when
//	ramet:occupied         zset  space 0  "<space>|<item>" that is occupied; score: until when
//	ramet:alarms           zset  space 0  "<space>|<name>"; score: when
//	ramet:ready:<group>    zset  space 0  spaces with something ready; score: pass
//	ramet:parked:<group>   zset  space 0  spaces held back by a cap; score: pass
//	ramet:away:<group>     zset  space 0  spaces served ahead of their turn that have nothing now; score: pass
//	ramet:turn             hash  space 0  pass of the space served last, by group
//	ramet:capped           hash  space 0  for each parked space the groups, as JSON
//	ramet:changed          zset  space 0  spaces in which something was committed; score: the number of the
//	                                      last such call
//	ramet:board            hash  space 0  id of the board, and tenancy it was made with; which process
//	                                      the server is (run_id, process), and what answers survive there;
//	                                      how many numbers were given out of all counters (given), and
//	                                      how many calls have changed a context (changes)
//	ramet:epoch            hash  space 0  see board.EpochKey
//
// Instants are Unix milliseconds by the server's clock. A lease is the fields
// lease_owner, attempt and (of a claim) lease_queue of its record; the sorted
// sets only say when it runs out. A record that a foreign program deletes ends
// its lease at once; its slot under a cap comes free when the lease would have
// run out. A record that expires does the same; its live mark stays.
//
// Messages (PUBLISH): ramet:wake "<board>|<count>|<group>", ramet:alarm and
// ramet:lapse "<board>|<ms>", ramet:changes "<space>|<key>".
//
// # How it works
//
// Four Lua scripts do everything, so that each call is one way to the server
// and back, and atomic: commit, claim, lease and read, each with lib.lua in
// front. They are called by hash and sent anew where the server has lost them.
//
//	callers ──► flights ──► commit.lua   up to 256 batches or 512 KiB a call,
//	                                     two calls at once; who comes
//	                                     meanwhile goes with the next
//
// commit.lua checks the guards of a batch and all that could refuse its
// operations, and writes only then: a Lua error would leave half a batch.
// Where that cannot be judged beforehand (one key changes its kind within the
// batch, a number is set and added to), the encoder marks the batch careful:
// the script copies its keys (DUMP), applies step by step, and restores them
// if a step is refused. Changes of the same sorted set or list by many batches
// are gathered into one command. Batches that are much like the one before them
// in a call are sent as what differs (patch.go): the script has less to read.
//
// Callers that take numbers from one counter at once share calls (draw.go).
//
// claim.lua takes items over spaces by stride scheduling from the ready index.
// It looks only at spaces that have something and are not at a cap. A space at
// its cap moves from ready to parked, and comes back with a release, a change
// of limits, or the slow look described below.
//
// # Waking
//
// Nobody polls for work. A claim that finds nothing stands in line (line.go)
// until one of these:
//
//   - a commit of this board pushes to an empty queue: then the claim goes to
//     the server together with the commit, and both have their answers at once;
//   - another board's script publishes on ramet:wake;
//   - a keyspace event tells of a push by anybody: the touch loop puts the
//     space into the ready index, if it is not there, and wakes;
//   - the slow look through the ids in the set contexts, which goes on every Config.Poll:
//     for servers without keyspace events, and for what was missed.
//
// Open adds "El" to the server's notify-keyspace-events, the first Watch adds
// "Kghlsx"; what is set already stays. Where CONFIG is not allowed, [Board.Notes]
// says so, and the scripts tell watchers of what they change themselves. Due
// and Expired sleep until the first instant they know of, at most a second,
// unless a message tells of an earlier one.
//
// # Goroutines
//
//	listen         keeps the subscription, and reconnects it
//	touchLoop      looks at spaces that were pushed to
//	reconcileLoop  looks through all contexts now and then
//	flights        one for each call that carries those who had to wait
//
// All end with Close.
//
// # Failure
//
// A call to a server that is gone ends with [domain.ErrUnavailable] at once; to
// one that does not answer, after Config.Answer or when its context ends. A
// commit so ended may or may not be applied. What waits (Claim, Due, Expired)
// waits on through the outage. When the connection is back, settings are looked
// at again, subscriptions stand again, everybody who waits looks again, and
// watchers get an event without a key. A server out of memory refuses with
// [domain.ErrExhausted] what needs memory and does what frees some.
//
// A server that was restarted or replaced may have lost what was answered last,
// unless each answer lay on its disk. It has lost our scripts, too: so who brings
// it one has it compare its run_id with the recorded one in the same call, before
// anything else is done. Where that differs a new epoch begins, and counters go on
// a million beyond what they have: no number is given out twice.
//
// One that was set back to an older copy has given out fewer numbers than a board has
// heard of: each call that takes some says of how many that is, and so begins an
// epoch. Boards hear of what others take every Config.Poll. What a board has not heard
// of yet is the reason why a restart alone makes a gap, also where answers lie on the disk.
//
// What an answered commit survives is what the server's settings say: see
// [Board.Durability] and [Board.Notes].
package redisboard
