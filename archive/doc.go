// Package archive is the contract of the finished state: searchable records of
// what ended. Everything above is written once against [Archive]; archivetest
// proves every driver equal.
//
//	board ── ended work ──> archiver ── Put ──> archive ── Search, Get ──> people
//	                            │
//	                            └─ marks it on the board; only then it may expire there
//
// # What a record is
//
// A [Record] is one end of one thing: its context, its key on the board and the
// instant it ended are its identity. A job that ended in error, was started
// again by hand and ended once more has two records. A message in an inbox gets
// its record once it is taken out. Put of what is there already changes nothing,
// so that an archiver which died between copy and mark may simply begin again.
//
// A record has a head (what is searched by), a body (the thing as JSON, all
// its fields) and log lines. Lists carry heads only, unless asked otherwise.
//
// # Search
//
// All filters of a [Query] must hold. The order is stable: newest end first,
// then by key, descending. Text is words: see [Words]. Values of environment
// variables are kept, but cannot be searched for: who may not read them could
// guess them word by word.
//
// # Names
//
// A flow has a business name, (blueprint, trigger), that is unique in its
// context over board and archive together. The archive's part is [Archive.Claim]:
// one caller only gets a name, however many ask at once. A name is free again
// when retention has removed its record.
//
// # Durability
//
// Put returns when the records are as durable as [Archive.Durability] says: then
// the board may forget them.
package archive
