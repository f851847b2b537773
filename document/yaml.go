package document

import (
	"bytes"
	"encoding/json"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/internal/intake"
)

// YAML writes JSON as YAML for people. Names that are bare have no quotes,
// though older readers than ours would take them for something else.
func YAML(text []byte, bare ...string) []byte {
	n, err := intake.JSONNode(text)
	if err != nil {
		panic("BUG: our own JSON cannot be read: " + err.Error())
	}
	unquote(n, bare)
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		panic("BUG: JSON cannot be written as YAML: " + err.Error())
	}
	return out.Bytes()
}

func unquote(n *yaml.Node, names []string) {
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && slices.Contains(names, c.Value) {
			c.Style = 0
		}
		unquote(c, names)
	}
}

// Encode writes JSON as it stands in a canonical form. HTML's characters stay
// as they are: people read scripts in it.
func Encode(v any) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a document cannot be written as JSON: " + err.Error())
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
