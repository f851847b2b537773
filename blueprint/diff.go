package blueprint

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Change is one difference between two blueprints.
type Change = document.Change

// Diff says what makes b of a, in the order of their fields' names. Steps are
// the same when their names are. Versions are not compared.
func Diff(a, b *domain.Blueprint) []Change {
	return document.Diff(Canonical(a), Canonical(b), map[string]string{"steps": "name"})
}
