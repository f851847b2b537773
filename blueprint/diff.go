package blueprint

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// Change is one difference between two blueprints: a value that is not there
// is nil.
type Change struct {
	// Path names fields; a step by its name: "steps[build].timeout".
	Path string `json:"path"`
	From any    `json:"from,omitzero"`
	To   any    `json:"to,omitzero"`
}

// Diff says what makes b of a, in the order of their fields' names. Steps are
// the same when their names are. Versions are not compared.
func Diff(a, b *domain.Blueprint) []Change {
	return differ{}.objects("", plain(a), plain(b))
}

// plain is a blueprint as JSON has it, with the steps by their names.
func plain(b *domain.Blueprint) map[string]any {
	var m map[string]any
	if err := json.Unmarshal(Canonical(b), &m); err != nil {
		panic("BUG: our own JSON cannot be read: " + err.Error())
	}
	return m
}

// differ collects changes.
type differ []Change

func (d differ) objects(path string, a, b map[string]any) differ {
	names := slices.Collect(maps.Keys(a))
	for name := range b {
		if _, both := a[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		if path == "" && name == "steps" {
			d = d.steps(a[name], b[name])
		} else {
			d = d.values(join(path, name), a[name], b[name])
		}
	}
	return d
}

func (d differ) values(path string, a, b any) differ {
	from, isMap := a.(map[string]any)
	to, areMaps := b.(map[string]any)
	switch {
	case isMap && areMaps:
		return d.objects(path, from, to)
	case reflect.DeepEqual(a, b):
		return d
	}
	return append(d, Change{path, a, b})
}

// steps compares by name, and then what order the steps of both stand in.
func (d differ) steps(a, b any) differ {
	from, fromNames := byName(a)
	to, toNames := byName(b)
	for _, name := range fromNames {
		path := "steps[" + name + "]"
		if to[name] == nil {
			d = append(d, Change{Path: path, From: from[name]})
		} else {
			d = d.objects(path, from[name], to[name])
		}
	}
	for _, name := range toNames {
		if from[name] == nil {
			d = append(d, Change{Path: "steps[" + name + "]", To: to[name]})
		}
	}
	stayed := func(other map[string]map[string]any, names []string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return other[n] == nil })
	}
	if f, t := stayed(to, fromNames), stayed(from, toNames); !slices.Equal(f, t) {
		d = append(d, Change{"order of steps", f, t})
	}
	return d
}

func byName(list any) (map[string]map[string]any, []string) {
	steps, _ := list.([]any)
	m, names := make(map[string]map[string]any, len(steps)), make([]string, 0, len(steps))
	for _, s := range steps {
		step, _ := s.(map[string]any)
		name, _ := step["name"].(string)
		m[name], names = step, append(names, name)
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
