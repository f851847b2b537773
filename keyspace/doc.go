// Package keyspace has the rules of the Redis-shaped view of a board: what a key
// is, who may read and write it, and what a write to it means. Programs that know
// nothing of Ramet but its layout write jobs, flows and messages field by field;
// these rules keep what they write readable for the engines, and tell the engines
// what they must know in the same commit.
//
// # Terms
//
//	kind      of key: jobs, queues, the records of sagas; see kind.go
//	class     of command: reads, writes, pops; see [Class]
//	group     of operations that a kind belongs to, for tokens narrowed to some
//	rule      what is asked before a record is written or deleted, or an item popped
//	outcome   what a rule adds to the commit of the command
//
// # How it is used
//
// Whoever does a command (package door/resp) finds the kind of its key with [Of]
// and asks package identity whether the actor has the [Right] of its class, or,
// where fields have rights of their own, that of [Kind.FieldRight]. Then it reads
// what the kind's [Rule] needs, lets it decide, and commits the [Outcome] together
// with the command's own changes, with everything guarded that it hangs on.
//
//	command ─> Of(key) ─> right ─> Rule.Needs ─read─> Rule.Decide ─> Outcome ─commit
//
// All of it is pure: no input, no output, no clock. Nothing here knows of the
// protocol or of connections.
//
// # What the engines are told
//
// A job that a program of others takes from its queue has no lease; it gets an
// alarm by which the engine looks after it. One that is ended or given back has
// that alarm at once, so that its followers need not wait. A flow that is written
// sets the alarm by which flows of others are looked for.
package keyspace
