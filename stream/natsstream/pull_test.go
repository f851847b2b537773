package natsstream_test

import (
	"testing"

	"github.com/ramet-run/ramet/stream/natsstream"
)

// The library says twice that a subscription is closed which is closed while it is
// being drained: that ended the process.
func TestAPullEndsWhileItsConnectionBreaks(t *testing.T) {
	l := open(t, natsstream.Config{DataDir: t.TempDir()})
	for range 100 {
		if err := l.EndPull(); err != nil {
			t.Fatal(err)
		}
	}
}
