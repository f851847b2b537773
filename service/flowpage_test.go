package service_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// An answer about a flow has bounds, however many steps that has.
func TestALargeFlowIsShownInPages(t *testing.T) {
	v := domain.FlowView{}
	for i := range 10_000 {
		v.Steps = append(v.Steps, domain.StepView{Name: fmt.Sprint("s", i), Job: fmt.Sprint("job:1:", i+1)})
	}
	if whole, err := service.PageOf(v, 0); err != nil || len(whole.Steps) != 10_000 || whole.StepsTotal != 0 {
		t.Errorf("of a flow of 10,000 there are %d steps, %v", len(whole.Steps), err)
	}
	v.Steps = append(v.Steps, domain.StepView{Name: "last", Job: "job:1:10001"})
	page, err := service.PageOf(v, 9_500)
	if err != nil || len(page.Steps) != 501 || page.StepsFrom != 9_500 || page.StepsTotal != 10_001 || len(page.Jobs) != 501 || page.Jobs[500] != 10_001 {
		t.Errorf("got %d steps from %d of %d, %d jobs, %v", len(page.Steps), page.StepsFrom, page.StepsTotal, len(page.Jobs), err)
	}
	if page, _ = service.PageOf(v, 0); len(page.Steps) != 1_000 {
		t.Errorf("a page has %d steps, want 1000", len(page.Steps))
	}
	for _, from := range []int{-1, 10_001} {
		if _, err := service.PageOf(v, from); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("from %d: got %v", from, err)
		}
	}
}
