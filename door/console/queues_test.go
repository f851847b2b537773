package console

// Inside the package: what a page counts of runners that a test has no way to start.

import (
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

// TestWhoIsOffDutyServesNoQueue: what waits there waits for a rule of duty to go, as the overview and doctor say.
func TestWhoIsOffDutyServesNoQueue(t *testing.T) {
	now := time.Now()
	runner := domain.Runner{Node: "n1", SeenMs: now.UnixMilli(), Off: []domain.Off{{Role: domain.RoleRunner}},
		Serves: []domain.Service{{ScriptType: "rhai", Served: true, SlotUse: domain.SlotUse{Slots: 8}}}}
	jobs := []*domain.Job{{ScriptType: "rhai"}}
	q := queuesOf([]domain.Runner{runner}, jobs, now)["rhai"]
	if q.served != 0 || q.slots != 0 || q.waiting != 1 || !strings.Contains(q.why, "ramet duty show") {
		t.Errorf("of one who is off duty: got %+v", *q)
	}
	runner.Off = nil
	if q = queuesOf([]domain.Runner{runner}, jobs, now)["rhai"]; q.served != 1 || q.slots != 8 || q.why != "" {
		t.Errorf("of one who is on duty: got %+v", *q)
	}
}
