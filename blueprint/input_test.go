package blueprint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestParamsThatNothingInABlueprintHasAreRefused(t *testing.T) {
	b := domain.Blueprint{Name: "nightly", Params: map[string]string{"region": "eu"}, Steps: []domain.Step{
		{Name: "a", Script: "echo $RAMET_PARAM_OUT_DIR", Params: map[string]string{"rows": "1"}},
		{Name: "b", Script: "x", When: `params.mode == "full"`},
		{Name: "c", Effect: &domain.EffectCall{Target: "pay", Params: map[string]string{"to": "${who}"}}},
	}}
	for name, bad := range map[string]string{
		"region": "", "rows": "", "out-dir": "", "mode": "", "who": "",
		"regoin": `blueprint "nightly" has no param "regoin"; did you mean "region"? Else give it a value under params there`,
		"other":  `has no param "other"; give it a value under params there`,
	} {
		err := blueprint.TakesParams(&b, map[string]string{name: "x"})
		if (err != nil) != (bad != "") || err != nil && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), bad)) {
			t.Errorf("%s: got %v, want %q", name, err, bad)
		}
	}
}
