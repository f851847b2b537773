package layout_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/layout"
)

// TestBlueprintKeys holds the keys of the store of blueprints byte for byte.
func TestBlueprintKeys(t *testing.T) {
	for _, k := range []struct{ got, want string }{
		{layout.BlueprintKeys.Names, "ramet:blueprints"},
		{layout.BlueprintKeys.Newest("nightly"), "ramet:blueprint:nightly"},
		{layout.BlueprintKeys.At("nightly", 3), "ramet:blueprint:nightly:3"},
		{layout.BlueprintKeys.Versions("nightly"), "ramet:blueprint:nightly:versions"},
		{layout.VersionMember(3), "0000000003"},
		{layout.VersionMember(domain.MaxVersion), "2147483647"},
	} {
		if k.got != k.want {
			t.Errorf("got %s, want %s", k.got, k.want)
		}
	}
}

func TestABlueprintsRecordIsReadBack(t *testing.T) {
	got, err := layout.DecodeVersion("k", layout.EncodeVersion(goldBlueprint))
	if diff := cmp.Diff(goldBlueprint, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	_, err = layout.DecodeVersion("ramet:blueprint:n", board.Record{{Name: "version", Value: "new"}})
	if !errors.Is(err, domain.ErrInvalid) || !strings.Contains(err.Error(), "ramet:blueprint:n") {
		t.Errorf("got %v", err)
	}
	head := goldBlueprint
	head.Text = ""
	for _, f := range layout.EncodeVersion(head) {
		if f.Name == "text" {
			t.Error("the newest one's record has a text")
		}
	}
	for member, want := range map[string]int{"0000000003": 3, "0": 0, "x": 0} {
		if got, err := layout.ParseVersionMember(member); got != want || (err == nil) != (want > 0) {
			t.Errorf("%s: got %d, %v", member, got, err)
		}
	}
}
