// Package blueprint is blueprints as documents: text read into a
// [domain.Blueprint] and checked, with the line of all that is wrong; its one
// canonical form, hash and differences; its graph drawn; and the store of
// versions on the board.
//
//	YAML, JSON ──Parse──> domain.Blueprint ──Apply──> board: newest, and each version
//	   │                    │          │
//	 faults with       Canonical,    Graph ──> Mermaid, DOT, SVG
//	 line and column   Hash, Diff
//
// One table, in field.go, has every field of a blueprint with its kind, its
// limits and a sentence: the parser goes by it, the JSON Schema for editors is
// made from it, and a test holds it to the Go types.
//
// What is right in a field is checked beside it, by nouns: fault.go has what all steps have,
// matrix.go, hook.go, approval.go and the others what theirs is. typedfield.go reads what
// people give for inputs and answers.
//
// A text is hostile until read: it is bounded in bytes before it is parsed, in
// what its anchors stand for while it is, and nothing but fields of the table
// is gone into. What is wrong is collected, not answered one by one.
//
// The package has no goroutines.
package blueprint
