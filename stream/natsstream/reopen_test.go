package natsstream_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/ramet-run/ramet/stream/natsstream"
)

// What publishers and readers are told of a full disk does not say where on the machine the
// streams lie.
func TestAFullDiskIsToldWithoutItsFolder(t *testing.T) {
	whole, err := filepath.Abs("data")
	if err != nil {
		t.Fatal(err)
	}
	const want = "the event streams cannot be written: write streams/X/msgs/1.blk: no space left on device; " +
		"make room for the node's folder streams: they go on by themselves then"
	for _, lies := range []string{"data", whole} {
		cause := fmt.Errorf("write %s: no space left on device", filepath.Join(whole, "streams", "X", "msgs", "1.blk"))
		if got := natsstream.Unwritable(lies, cause); got.Error() != want {
			t.Errorf("in %s: got %v, want %s", lies, got, want)
		}
	}
}
