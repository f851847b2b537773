// Package object is the object store of a context: models of objects without a
// schema, each with ids of its own, secondary indexes and a count. Scripts of
// type osis use it through an interface that rhaiscript declares; it lies here,
// beside work, because it needs board, layout and identity, none of which a
// script runtime may import.
//
// # What lies where
//
//	object   ramet:object:<model>:<id>               data (JSON), version, who and when
//	model    ramet:model:<model>                     count, indexes
//	ids      ramet:model:<model>:page:<n>            sets of up to 1,000 ids
//	         ramet:model:<model>:pages               which of them there are
//	index    ramet:model:<model>:index:<field>:<v>   set of the ids with that value
//
// A list goes from page to page, a find by an index reads one set: neither
// looks at other objects. A field that is not there is indexed as null.
//
// # Concurrency
//
// Each write is one commit, guarded by the object's version and by the model's
// indexes as they were read; it changes object, ids, indexes and count
// together. So nothing is half written, and of two writers one reads again:
// its change is made anew from what the other left. After some tries the
// write ends with [domain.ErrConflict].
//
// An index is declared first (building), so that every write from then on
// keeps it; then the objects that were there before are added, each guarded
// by its version; then it is ready and is used. Who is interrupted leaves it
// building: the next Index goes on.
//
// Ids come from a counter and are never given twice; ids that a failed or
// interrupted write has drawn are left out.
//
// # Rights
//
// Each call asks [identity.Access] for the caller in the context: readers read,
// executors and admins write. A store has no goroutines.
package object
