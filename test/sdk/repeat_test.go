package sdk_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/api/openapi"
)

// repeats is what the contract says of when requests may be sent once more, for the tests
// of the SDKs.
const repeats = "testdata/repeats.json"

// repeat is what it says of one operation.
type repeat struct {
	Name    string `json:"name"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Repeats string `json:"repeats"`
}

// The tests of the SDKs hold their clients to what the contract says here and now:
// -update writes it down for them.
func TestTheSDKsKnowWhatMayBeSentOnceMore(t *testing.T) {
	var list []repeat
	for _, o := range api.Table {
		list = append(list, repeat{o.Name, o.Method, o.Path, openapi.Repeat(o)})
	}
	want, err := json.MarshalIndent(list, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, '\n')
	if *update {
		if err := os.WriteFile(repeats, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(repeats)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s is not what the contract says; run: go test ./test/sdk -update", repeats)
	}
}
