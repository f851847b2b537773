// Package resp is the Redis door: the Redis protocol and its commands over any
// board, with the rights of the context on every key. Programs that were written for the layout
// on a Redis work before it unchanged.
//
// # Terms
//
//	client    one connection
//	stretch   commands of a client's pipeline that are answered together
//	ask       what a client asks of a desk at once: a stretch, a MULTI
//	desk      where the clients of one space take turns
//	wave      what goes into one commit: commands of one ask or of many
//	sheet     a space as the commands of a wave see it
//	waiter    a client that waits for an item: BLPOP and its kind
//
// # How a command goes
//
//	bytes ─ reader ─> command ─> stretch ─┬─ reads only ─> sheet of its own ─> answers
//	        (limits)                      └─ the rest ──> desk ─┐
//	                     ┌──────────────────────────────────────┘
//	                     v
//	   wave: rights ─> command on the sheet ─> rule of the key ─> guards, changes, alarms
//	                     │                                            one batch
//	                     v
//	   commit ── conflict: all again on a fresh sheet ── refused: each alone
//	                     │
//	                     v
//	   answers, and what those get who wait for the lists that were pushed
//
// Whoever comes to a desk where nobody is served leads: it works off all who
// wait, and hands the lead on. So the commands of one space follow each other as
// in Redis, those of many clients share a commit, and a pop never races
// another client of this node. The engine and other nodes are raced: what an
// answer hangs on is guarded (the item that was popped, the number that was
// added to), and a wave that was too slow is done again.
//
// # Rights
//
// Package keyspace says what a key is: which right of package identity each class of
// command needs on it, who may write which field, and the rule that holds beside it,
// so that records stay readable and the engine learns what it must in the same
// commit. call.go asks it: it reads what the rule needs, and commits what it adds.
//
// # Goroutines
//
// Serve has one a client, one more while that client waits or once it has
// subscribed, and one a space while somebody waits for its keys or for news of
// them. All have ended when it returns.
//
// # Failure
//
// A board that does not answer fails the commands in hand with UNAVAILABLE; they
// may have been done. A command that breaks down (a bug) is answered as an
// internal error, and what shared a wave with it is done again. A client that goes
// while it waits takes nothing; an item that was on its way to it is pushed back.
package resp
