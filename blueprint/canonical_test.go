package blueprint_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/blueprint"
	"github.com/ramet-run/ramet/domain"
)

func TestTheCanonicalFormIsOne(t *testing.T) {
	b := &domain.Blueprint{Name: "n", Version: 7, Params: map[string]string{"b": "2", "a": "<1>"}, Env: map[string]string{},
		Steps: []domain.Step{{Name: "s", Script: "x", ScriptType: "v", Needs: []string{}, Affinity: map[string]string{}}}}
	want := `{"name":"n","params":{"a":"<1>","b":"2"},"steps":[{"name":"s","script":"x","script_type":"v"}]}`
	for range 20 { // maps are gone through in any order
		if got := string(blueprint.Canonical(b)); got != want {
			t.Fatalf("got %s, want %s", got, want)
		}
	}
	if b.Version != 7 || b.Env == nil || b.Steps[0].Needs == nil {
		t.Error("the blueprint was changed")
	}
	// Written down: hashes are on boards and in people's scripts.
	if got := blueprint.Hash(b); got != "6a69234122cd2fb82453601b084afda44b6fa9a107334ccb806c40cec758f67e" {
		t.Errorf("got %s", got)
	}
	other := *b
	other.Version = 8
	if blueprint.Hash(&other) != blueprint.Hash(b) {
		t.Error("the version is part of the hash")
	}
	other.Summary = "s"
	if blueprint.Hash(&other) == blueprint.Hash(b) {
		t.Error("the summary is no part of the hash")
	}
}

// FuzzParse: whatever comes, Parse ends with a blueprint or with faults; and
// what it read is read again from what is printed.
func FuzzParse(f *testing.F) {
	examples, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil || len(examples) == 0 {
		f.Fatalf("no examples: %v", err)
	}
	for _, file := range examples {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte(`{"name":"n","steps":[{"name":"a","script":"\ud83d\ude00\u0000","script_type":"v","needs":"b","timeout":"1h30m"}]}`))
	f.Add([]byte("name: n\nsteps:\n- &a {name: a, script: |-\n   x\n\n  , script_type: v, <<: *a}\n"))
	f.Add([]byte("name: n\nparams: {a: 0x1F, b: .inf, c: 1_000, d: ~}\nsteps:\n- {name: a, when: '1 +\n  2', script: \"\\x85\\u2028 \\t\", " +
		"script_type: v, pack: {size: 1, end: -1}}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b, err := blueprint.Parse("f", text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a text")
			}
			return
		}
		printed := blueprint.YAML(b)
		again, err := blueprint.Parse("printed", printed)
		if err != nil {
			t.Fatalf("%v\n%s", err, printed)
		}
		if diff := cmp.Diff(string(blueprint.Canonical(b)), string(blueprint.Canonical(again))); diff != "" {
			t.Fatalf("(-read +read again):\n%s\n%s", diff, printed)
		}
		asJSON, err := blueprint.Parse("canonical", blueprint.Canonical(b))
		if err != nil || blueprint.Hash(asJSON) != blueprint.Hash(b) {
			t.Fatalf("canonical: %v", err)
		}
	})
}
