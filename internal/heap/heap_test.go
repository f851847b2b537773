package heap_test

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"

	_ "github.com/ramet-run/ramet/internal/heap"
)

// percent is by how much the heap of this process may grow until it is collected.
func percent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// asChild says, in a process of its own, what it is at first and after a collection.
const asChild = "RAMET_TEST_HEAP"

func TestMain(m *testing.M) {
	if os.Getenv(asChild) == "" {
		os.Exit(m.Run())
	}
	first := percent()
	for runtime.GC(); os.Getenv(asChild) == "again" && percent() == first; runtime.GC() {
	}
	fmt.Println(first, percent())
}

func TestTheFirstCollectionComesLateAndTheOthersAsUsual(t *testing.T) {
	for _, c := range []struct{ name, gogc, wait, want string }{
		{"by itself", "", "again", "400 100"},
		{"where somebody has set it", "50", "once", "50 50"},
	} {
		t.Run(c.name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), os.Args[0])
			cmd.Env = append(os.Environ(), "GOGC="+c.gogc, asChild+"="+c.wait)
			out, err := cmd.CombinedOutput()
			if got := strings.TrimSpace(string(out)); err != nil || got != c.want {
				t.Errorf("got %q, %v, want %q", got, err, c.want)
			}
		})
	}
}
