package main

import (
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestWhatStartsAGoroutineIsFound: in a package, in its tests, and in what they import.
func TestWhatStartsAGoroutineIsFound(t *testing.T) {
	found, err := find([]string{"./testdata/above", "./testdata/below", "./testdata/beside", "./testdata/handler", "./testdata/parallel", "./testdata/plain",
		"./testdata/words", "./testdata/writer"})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, f := range found {
		got[path.Base(f.path)] = path.Base(f.start)
	}
	want := map[string]string{
		"above":    "below.go:5",
		"beside":   "beside_test.go:10",
		"handler":  "handler.go:7",
		"parallel": "parallel_test.go:5",
		"plain":    ".",
		"words":    ".",
		"writer":   "writer.go:12",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAPatternOfNothingIsAnError: else the race detector would look at nothing, and be content.
func TestAPatternOfNothingIsAnError(t *testing.T) {
	if found, err := find([]string{"./testdata/none"}); err == nil {
		t.Errorf("found %v", found)
	}
}
