// Package value holds the values of the Rhai language and what a function
// written in Go needs to work with them.
//
// A Value is 16 bytes: a pointer to a header that tells the kind, and 64 bits.
// Scalars (unit, bool, int, float, char) live in those bits and allocate
// nothing; their header is one static variable per kind, so that testing for
// an int is one comparison of pointers. For all other kinds the pointer leads
// to the object, whose first field is the header.
//
// # Copies
//
// Strings, arrays, maps and blobs have value semantics: after let b = a, a
// change of b is not seen through a. Copies are not made, they are promised: an
// object knows whether more than one place may hold it (it is "shared"), and
// who changes a shared object first replaces it by a copy of one level
// (MutArray, MutMap, MutBlob, AppendString do that). Three rules keep this right:
//
//  1. A value that is put into a second place is kept: v.Keep() marks it shared.
//  2. Arguments of native functions are borrowed: who stores or returns one,
//     or a part of one, keeps it first. What a function has made itself is free.
//  3. Nobody writes through Array(), Map() or Blob(): these are for reading.
//
// A value with a nil header is no value at all. The evaluator uses it for "did
// not come to an end here": an error, a break, a return. A native function
// returns it (by way of Ctx.Fail) for an error.
//
// # Goroutines
//
// Scalars and texts may be used by any number of goroutines. All else belongs
// to one at a time: [Copy] makes one for another.
//
// # Tags
//
// Every value carries a 32-bit tag. For objects it lies in the 64 bits of the
// Value; a scalar that has a tag other than 0 gets a header of its own.
package value
