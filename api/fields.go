package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// FieldsParam is the parameter of an address by which a caller says which fields of an
// answer are wanted: fields=id,status.
const FieldsParam = "fields"

// around are the fields that pages have around what they list.
var around = []string{"next", "looked", "count", "archived"}

// Selectable is what of an answer can be selected by its fields: those of each thing of a
// page, or of the answer itself.
type Selectable struct {
	// List is the field with the things of a page; "" where the answer is no page.
	List  string
	Names []string
}

// Selectable is what can be selected of the operation's answers. It has no names where
// nothing can.
func (o *Operation) Selectable() Selectable {
	if o.Method != "GET" {
		return Selectable{}
	}
	return SelectableOf(reflect.TypeOf(o.Result))
}

// SelectableOf is what can be selected of answers of a type.
func SelectableOf(answer reflect.Type) (s Selectable) {
	answer = pointed(answer)
	if answer.Kind() != reflect.Struct {
		return s
	}
	var list reflect.Type
	for _, f := range FieldsOf(answer) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if slices.Contains(around, name) {
			continue
		}
		if s.Names = append(s.Names, name); f.Type.Kind() == reflect.Slice && pointed(f.Type.Elem()).Kind() == reflect.Struct {
			list = pointed(f.Type.Elem())
		}
	}
	if list == nil || len(s.Names) != 1 {
		return s
	}
	return Selectable{List: s.Names[0], Names: SelectableOf(list).Names}
}

func pointed(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// Choose reads which fields are wanted: names with commas between them.
//
// Errors: [domain.ErrInvalid], with what was meant.
func (s Selectable) Choose(text string) (names []string, err error) {
	if len(text) > maxFields {
		return nil, domain.Invalidf("%s has %d bytes, the limit is %d", FieldsParam, len(text), maxFields)
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(s.Names, name) {
			meant := "; there are " + strings.Join(s.Names, ", ")
			if near := domain.Nearest(name, s.Names); near != "" {
				meant = fmt.Sprintf("; did you mean %s?", near)
			}
			return nil, domain.Invalidf("%s: there is no field %q%s", FieldsParam, domain.PlainText(name, 64), meant)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// maxFields bounds the text that names fields, in bytes: longer than all names of any shape.
const maxFields = 2 << 10

// Select is an answer with those fields alone, in their order. What the answer leaves out
// as it is empty is left out here, too.
func (s Selectable) Select(answer any, names []string) (json.RawMessage, error) {
	text, err := json.Marshal(answer)
	if err != nil || s.List == "" {
		return only(text, names), err
	}
	var page map[string]json.RawMessage
	if err := json.Unmarshal(text, &page); err != nil {
		return nil, err
	}
	var things []json.RawMessage
	if err := json.Unmarshal(page[s.List], &things); err != nil {
		return nil, err
	}
	for i := range things {
		things[i] = only(things[i], names)
	}
	if page[s.List], err = json.Marshal(things); err != nil {
		return nil, err
	}
	return written(page, append([]string{s.List}, around...)), nil
}

// only is an object with some of its fields.
func only(object json.RawMessage, names []string) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(object, &fields) != nil {
		return object // null
	}
	return written(fields, names)
}

// written writes fields in an order, those that there are.
func written(fields map[string]json.RawMessage, names []string) json.RawMessage {
	var b bytes.Buffer
	for _, name := range names {
		value, there := fields[name]
		if !there {
			continue
		}
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "%q:%s", name, value)
	}
	return json.RawMessage("{" + b.String() + "}")
}
