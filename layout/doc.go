// Package layout says how domain objects lie on a board: every key, every
// queue, every field's name and encoding. It is the contract with programs
// that speak to the same Redis, so nothing else builds a key. Golden tests
// hold it byte for byte.
//
// Lists and maps inside a record are JSON text, numbers decimal, booleans
// "true" and "false", times u32 Unix seconds, fields ending in _ms Unix
// milliseconds. Reading is forgiving where foreign programs may have left
// fields out; writing is exact.
//
// Source: seeds 000 ("Redis objects") and 002 ("Redis representation").
package layout
