// Package document reads what people write: a text of YAML or JSON, by a table
// of the fields that there are.
//
//	text ──Read──> values by name ──> JSON ──> a Go type
//	  │                                          │
//	faults with line and column <─Position─ what its own check finds
//
// A table ([Object], [Field]) has every field of a kind of document with its
// kind, its limits and a sentence: the reader goes by it, and the JSON Schema
// for editors is made from it.
//
// A text is hostile until read: it is bounded in bytes before it is parsed, in
// what its anchors stand for while it is, and nothing but fields of the table is
// gone into. What is wrong is collected, not answered one by one.
//
// The package has no goroutines.
package document
