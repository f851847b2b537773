package plain_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/tools/goroutines/testdata/plain"
)

func TestRun(t *testing.T) {
	if !cmp.Equal(plain.Run(), nil) {
		t.Error("true failed")
	}
}
