package layout_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

func TestALineOfAJobLacksOnlyWhatMayBeLarge(t *testing.T) {
	whole := append(layout.EncodeJob(&goldJob), board.Field{Name: board.FieldAttempt, Value: "4"}, board.Field{Name: board.FieldOwner, Value: "n/1"})
	want, err := layout.DecodeJob(goldJob.Key(), whole)
	if err != nil {
		t.Fatal(err)
	}
	want.Script, want.EnvVars, want.Result, want.Params, want.Needs = "", nil, nil, nil, nil
	line := slices.DeleteFunc(whole, func(f board.Field) bool { return !slices.Contains(layout.JobLine, f.Name) })
	got, err := layout.DecodeJob(domain.JobKey{Caller: goldJob.CallerID, ID: goldJob.ID}, line)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-whole +line):\n%s", diff)
	}
}
