package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Change is one difference between two documents: a value that is not there
// is nil.
type Change struct {
	// Path names fields; an object of a list by its name: "steps[build].timeout".
	Path string `json:"path"`
	From any    `json:"from,omitzero"`
	To   any    `json:"to,omitzero"`
}

// Diff says what makes one document of another, both as JSON, in the order of
// their fields' names. keys are the lists of objects that have names, by their
// paths, and the field that the name is: such are the same when their names are.
func Diff(from, to []byte, keys map[string]string) []Change {
	return (&differ{keys: keys}).objects("", plain(from), plain(to)).changes
}

func plain(text []byte) map[string]any {
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber() // large numbers stay what they are
	if err := d.Decode(&m); err != nil {
		panic("BUG: our own JSON cannot be read: " + err.Error())
	}
	return m
}

// differ collects changes.
type differ struct {
	keys    map[string]string
	changes []Change
}

func (d *differ) add(path string, from, to any) {
	d.changes = append(d.changes, Change{path, from, to})
}

func (d *differ) objects(path string, a, b map[string]any) *differ {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at := join(path, name)
		if key := d.keys[at]; key != "" {
			d.named(at, key, a[name], b[name])
		} else {
			d.values(at, a[name], b[name])
		}
	}
	return d
}

func (d *differ) values(path string, a, b any) {
	from, isMap := a.(map[string]any)
	to, areMaps := b.(map[string]any)
	switch {
	case isMap && areMaps:
		d.objects(path, from, to)
	case !reflect.DeepEqual(a, b):
		d.add(path, a, b)
	}
}

// named compares by name, and then what order the objects of both stand in.
func (d *differ) named(list, key string, a, b any) {
	from, fromNames := byName(a, key)
	to, toNames := byName(b, key)
	for _, name := range fromNames {
		path := list + "[" + name + "]"
		if to[name] == nil {
			d.add(path, from[name], nil)
		} else {
			d.objects(path, from[name], to[name])
		}
	}
	for _, name := range toNames {
		if from[name] == nil {
			d.add(list+"["+name+"]", nil, to[name])
		}
	}
	stayed := func(other map[string]map[string]any, names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return other[n] == nil })
	}
	if f, t := stayed(to, fromNames), stayed(from, toNames); !slices.Equal(f, t) {
		d.add("order of "+list, f, t)
	}
}

func byName(list any, key string) (map[string]map[string]any, []string) {
	items, _ := list.([]any)
	m, names := make(map[string]map[string]any, len(items)), make([]string, 0, len(items))
	for _, x := range items {
		item, _ := x.(map[string]any)
		name := fmt.Sprint(item[key])
		m[name], names = item, append(names, name)
	}
	return m, names
}

// Text says a change for people, in one or more lines: "- " before what was,
// "+ " before what is. Of texts with lines, those in the middle that differ
// are shown.
func (c Change) Text() string {
	from, isText := c.From.(string)
	to, areTexts := c.To.(string)
	if isText && areTexts && strings.Contains(from+to, "\n") {
		return c.Path + ":" + lines(from, to)
	}
	switch {
	case c.From == nil:
		return "+ " + c.Path + ": " + compact(c.To)
	case c.To == nil:
		return "- " + c.Path + ": " + compact(c.From)
	}
	return c.Path + ": " + compact(c.From) + " -> " + compact(c.To)
}

// lines shows the lines between those that are the same at both ends.
func lines(from, to string) string {
	a, b := strings.Split(from, "\n"), strings.Split(to, "\n")
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	var out strings.Builder
	fmt.Fprintf(&out, " at line %d", head+1)
	for _, line := range a[head : len(a)-tail] {
		out.WriteString("\n  - " + line)
	}
	for _, line := range b[head : len(b)-tail] {
		out.WriteString("\n  + " + line)
	}
	return out.String()
}

// compact is a value as JSON, without HTML's escapes.
func compact(v any) string {
	var out strings.Builder
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic("BUG: a change cannot be written: " + err.Error())
	}
	return strings.TrimSuffix(out.String(), "\n")
}
