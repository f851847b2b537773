package cli

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
)

// TestAScheduleThatIsShownCanBeApplied, whatever stands in it: each field is one to be given, or one that is shown besides.
func TestAScheduleThatIsShownCanBeApplied(t *testing.T) {
	known := slices.Concat(scheduleFields, shownFields)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[api.Schedule]()) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous {
			continue
		}
		if !slices.Contains(known, name) {
			t.Errorf("field %q would be unknown in a file", name)
		}
		known = slices.DeleteFunc(known, func(have string) bool { return have == name })
	}
	if len(known) > 0 {
		t.Errorf("a schedule has no %q", known)
	}
}
