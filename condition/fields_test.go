package condition_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
)

func TestAFieldThatThereIsNotIsRefused(t *testing.T) {
	type made struct {
		Name string `json:"name"`
		Job  struct {
			Done bool `json:"done"`
		} `json:"job"`
		Own  json.Marshaler    `json:"own"`
		Free map[string]string `json:"free"`
	}
	for text, bad := range map[string]string{
		`thing.name == "x"`:                                  "",
		`thing.nmae == "x"`:                                  `thing has no field "nmae" (line 1, position 7); did you mean name?`,
		`thing["nmae"] == "x"`:                               `thing has no field "nmae"`,
		`1 == 1 && !thing?.x`:                                "known are free, job, name, own",
		`thing.job.done && thing.job.dnoe`:                   `thing.job has no field "dnoe"`,
		`thing.free.whatever == 1`:                           "",
		`thing.own.whatever.more`:                            "",
		`thing.keys().len() > 1`:                             "",
		`thing.free.values().some(|thing| thing.other == 1)`: "",
		`name == "x"`:                                        "did you mean thing.name?",
		`other == 1`:                                         "known are thing.free, thing.job",
	} {
		_, err := condition.CompileOver(text, "thing", reflect.TypeFor[made]())
		switch {
		case bad == "" && err != nil:
			t.Errorf("%s: %v", text, err)
		case bad != "" && (!errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), bad)):
			t.Errorf("%s: got %v, want %q in it", text, err, bad)
		}
	}
}

func TestANameThatThereIsNotIsToldWithTheNearest(t *testing.T) {
	for text, want := range map[string]string{`stat == "x"`: "did you mean state?", `x == 1`: "known are state, outcome"} {
		if _, err := condition.CompileOf(text, "state", "outcome"); !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q in it", text, err, want)
		}
	}
}
