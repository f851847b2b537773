package console

import (
	"testing"

	"github.com/ramet-run/ramet/domain"
)

// TestTheStepThatIsToBlameComesFirst: others may have been ended because of it.
func TestTheStepThatIsToBlameComesFirst(t *testing.T) {
	f := &domain.FlowView{Steps: []domain.StepView{{Name: "s", Status: domain.StepFailed, Bad: 2}, {Name: "thr", Status: domain.StepErrored, Bad: 1},
		{Name: "behind", Status: domain.StepSkippedByError, Bad: 1}}} // which did nothing
	f.Error = "step thr: Runtime error"
	if bad := badSteps(f); len(bad) != 2 || bad[0].Name != "thr" {
		t.Errorf("the first is %s", bad[0].Name)
	}
}
