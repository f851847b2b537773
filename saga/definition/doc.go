// Package definition is definitions of sagas as documents: text read into a
// [domain.SagaDefinition] and checked, with the line of all that is wrong; its
// one canonical form, hash and differences; and the store of versions on the
// board.
//
//	YAML, JSON ──Parse──> domain.SagaDefinition ──Apply──> board: newest, and each version
//	   │                    │          │
//	 faults with       Canonical,    machine.Compile
//	 line and column   Hash, Diff, YAML
//
// In YAML states, nodes and events stand under their names, and versions as
// "1..3"; the canonical JSON has lists, as the Go types do, and is read too.
//
// The package has no goroutines.
package definition
