package document

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/ramet-run/ramet/domain"
)

// Diff says what makes one document of another, both as JSON, in the order of
// their fields' names. keys are the lists of objects that have names, by their
// paths, and the field that the name is: such are the same when their names are.
func Diff(from, to []byte, keys map[string]string) []domain.DocumentChange {
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
	changes []domain.DocumentChange
}

func (d *differ) add(path string, from, to any) {
	d.changes = append(d.changes, domain.DocumentChange{Path: path, From: from, To: to})
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
