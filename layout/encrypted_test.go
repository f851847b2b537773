package layout_test

import (
	"slices"
	"testing"

	"github.com/ramet-run/ramet/layout"
)

// What an operation answered may tell of what was handed in.
func TestAnswersThatAreKeptAreEncrypted(t *testing.T) {
	fields, _, ok := layout.Encrypted(layout.Once(12, "key"))
	if !ok || !slices.Equal(fields, []string{layout.OnceAnswer}) {
		t.Errorf("got %v, %t; what a request asked for is a digest, its answer is not", fields, ok)
	}
}
