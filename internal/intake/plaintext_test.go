package intake

import (
	"testing"

	"go.yaml.in/yaml/v3"
)

// Plain words are made into the nodes that the encoder of YAML makes of them.
func TestAPlainWordIsTheSameNode(t *testing.T) {
	for _, text := range []string{"s1", "name", "script_type", "rhai", "a-b_c9", "e1", "infinite", "needs", "x", "null", "yes", "true", "no", "1", "", "a b",
		"A-", "e", "0x1"} {
		var want yaml.Node
		if err := want.Encode(text); err != nil {
			t.Fatal(err)
		}
		got, err := JSONNode([]byte(`"` + text + `"`))
		if err != nil || got.Kind != want.Kind || got.Tag != want.Tag || got.Value != want.Value || got.Style != want.Style {
			t.Errorf("%q: got %+v, %v, want %+v", text, got, err, want)
		}
	}
}
