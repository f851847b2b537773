package main

import (
	"bytes"
	"runtime/pprof"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/internal/testwait"
)

// TestAStartThatIsRefusedLeavesNothing refuses a node for its board, its archive and
// its streams, while what its scripts are run with is opened beside them: all that
// has ended when the refusal is told, and the folder is free.
func TestAStartThatIsRefusedLeavesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		o    options
		want string
	}{
		"the board":   {options{boardURL: "nothing:"}, "board"},
		"the archive": {options{archiveURL: "nothing:"}, "archive"},
		"the streams": {options{streamURL: "nothing:", serve: true}, "event streams"},
	} {
		t.Run(name, func(t *testing.T) {
			c.o.dataDir, c.o.run = t.TempDir(), true
			for range 2 { // the second is not kept from the folder by the first
				if _, err := assemble(t.Context(), c.o); err == nil || !strings.Contains(err.Error(), c.want) {
					t.Fatalf("got %v, want a refusal of the %s", err, c.want)
				}
			}
			// What was waited for may have told so, and not have returned yet.
			testwait.Until(t, "nothing of it goes on", func() bool {
				var running bytes.Buffer
				if err := pprof.Lookup("goroutine").WriteTo(&running, 2); err != nil {
					t.Fatal(err)
				}
				text := running.String()
				return !strings.Contains(text, "script/jail") && !strings.Contains(text, "openBeside")
			})
		})
	}
}
