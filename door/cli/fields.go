package cli

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// printFields writes of v the fields that --fields names.
func (a *app) printFields(v any) error {
	selectable := api.SelectableOf(reflect.TypeOf(v))
	if len(selectable.Names) == 0 {
		return domain.Invalidf("--fields: this command shows nothing that has fields to choose from")
	}
	names, err := selectable.Choose(a.fields)
	if err != nil {
		return err
	}
	selected, err := selectable.Select(v, names)
	if err != nil {
		return err
	}
	switch a.output {
	case outJSON:
		return writeJSON(bare(a.std.Out), selected)
	case outYAML:
		return writeYAML(bare(a.std.Out), selected)
	}
	t := a.newTable()
	if selectable.List == "" {
		fieldsOf(selected, names, func(i int, text string) { t.field(names[i], text) })
		return t.flush()
	}
	var page map[string]json.RawMessage
	var things []json.RawMessage
	if err := json.Unmarshal(selected, &page); err != nil {
		return err
	}
	if err := json.Unmarshal(page[selectable.List], &things); err != nil {
		return err
	}
	heads := make([]any, len(names))
	for i, name := range names {
		heads[i] = strings.ToUpper(name)
	}
	t.row(heads...)
	for _, thing := range things {
		row := make([]any, len(names))
		fieldsOf(thing, names, func(i int, text string) { row[i] = text })
		t.row(row...)
	}
	return t.flush()
}

// fieldsOf calls each with the fields of an object as texts, "" for what is left out.
func fieldsOf(object json.RawMessage, names []string, each func(i int, text string)) {
	var fields map[string]json.RawMessage
	_ = json.Unmarshal(object, &fields) // null has none
	for i, name := range names {
		text := string(fields[name])
		if s := ""; json.Unmarshal(fields[name], &s) == nil {
			text = s
		}
		each(i, text)
	}
}
