package blueprint

import (
	"github.com/ramet-run/ramet/document"
	"github.com/ramet-run/ramet/domain"
)

// Diff says what makes b of a, in the order of their fields' names. Steps are
// the same when their names are. Versions are not compared.
func Diff(a, b *domain.Blueprint) []domain.DocumentChange {
	return document.Diff(Canonical(a), Canonical(b), map[string]string{"steps": "name", "inputs": "name"})
}
