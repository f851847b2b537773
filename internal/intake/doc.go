// Package intake reads the YAML and JSON that people and strangers write: files,
// standard input, bodies of requests, parcels, tokens, events.
//
//	text ──Parse──> nodes with their lines          for those who read nodes
//	     ──Decode─> a Go type, nothing unknown      JSON
//	     ──Read───> a Go type                       JSON of other versions of us
//	     ──YAML───> a Go type, nothing unknown      YAML or JSON
//	     ──Check──> nothing, or what is wrong       before somebody else decodes JSON
//
// A text is bounded before it is parsed (bytes, marks that could begin a value),
// while it is (depth, values), and in what its aliases stand for: it may come to
// no more, written out, than a text without aliases may have. A fault says its
// line.
//
// # Names
//
// A name that stands twice in one object is refused, at whatever depth: readers
// differ in which of the two they take, and what one of them checked another
// would act on. So is a name that a field of the Go type has but for its case,
// because encoding/json takes it for that field, beside the right one.
//
// The package has no goroutines.
package intake
