// Package layout says how domain objects lie on a board: every key, every
// field's name and encoding. It is the contract with programs that speak to the
// same Redis, so nothing else builds a key; the names of queues are made by package
// queue. Golden tests hold it byte for byte.
//
// A noun's record has one table of its fields, which both writes and reads it: see
// table.go. What else needs a list of fields, as pages of many and encryption do,
// takes it from there.
//
// Lists and maps inside a record are JSON text, numbers decimal, booleans
// "true" and "false", times u32 Unix seconds, fields ending in _ms Unix
// milliseconds. Reading is forgiving where foreign programs may have left
// fields out; writing is exact.
//
// Source: seeds 000 ("Redis objects") and 002 ("Redis representation").
package layout
