package layout_test

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func TestWhatAKeyIsAbout(t *testing.T) {
	keys := layout.SagaKeys{Tenant: "shop"}
	job := domain.JobKey{Caller: 1, ID: 7}
	for key, want := range map[string][2]string{
		domain.FlowKey(12): {"flow", "flow:12"}, layout.FlowState(12): {"flow", "flow:12"}, layout.FlowSteps(12, 3): {"flow", "flow:12"},
		layout.FlowWaits(12): {"flow", "flow:12"},
		job.String():         {"job", "job:1:7"}, layout.Logs(job): {"", ""}, layout.Followers(job): {"", ""},
		keys.Instance("order", "ann"): {"instance", "saga:shop:order:ann"}, keys.History("order", "ann"): {"instance", "saga:shop:order:ann"},
		keys.Dead(domain.DeadEvent, "e1"): {"dead_letter", "deadletter:shop:event:e1"}, layout.Schedule("nightly"): {"schedule", "ramet:schedule:nightly"},
		layout.Routine("sync"): {"routine", "ramet:routine:sync"},
		layout.RoutineInstance("sync", domain.RoutinePart{Scale: 2, Index: 1}): {"routine", "ramet:routine:sync"},
		"foreign": {"", ""}, "": {"", ""},
	} {
		if noun, name := layout.Subject(key); noun != want[0] || name != want[1] {
			t.Errorf("%q: got %q, %q, want %v", key, noun, name, want)
		}
	}
}
