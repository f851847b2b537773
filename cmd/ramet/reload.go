package main

import (
	"reflect"
	"strings"
)

// This file says what of a config file a node that runs does not take up.

// reloaded are the keys that `ramet node reload` takes up; all others want a restart.
var reloaded = map[string]bool{"effects": true, "effects_dir": true, "effect_folders": true, "secrets": true, "egress": true,
	"sagas.tenants": true, "sagas.names": true, "sagas.partitions": true}

// restartKeys are the keys of a config file whose values differ between what the node began
// with and what the file says now, and that it takes up at its next start only.
func restartKeys(began, now config) []string {
	return differing("", reflect.ValueOf(began), reflect.ValueOf(now))
}

// differing compares two values of a struct, field by field, by the keys that the fields
// have in the file; before is what stands before these.
func differing(before string, was, is reflect.Value) (keys []string) {
	for _, f := range reflect.VisibleFields(was.Type()) {
		key, inline := strings.CutSuffix(f.Tag.Get("yaml"), ",inline")
		a, b := was.FieldByIndex(f.Index), is.FieldByIndex(f.Index)
		switch {
		case key == "-" || len(f.Index) > 1: // no key of the file, or reached by its block
		case inline:
			keys = append(keys, differing(before, a, b)...)
		case a.Kind() == reflect.Struct && f.Type.PkgPath() == was.Type().PkgPath():
			keys = append(keys, differing(before+key+".", a, b)...)
		case !reloaded[before+key] && !alike(a, b):
			keys = append(keys, before+key)
		}
	}
	return keys
}

// alike reports whether two values mean the same: an empty list is as good as none.
func alike(a, b reflect.Value) bool {
	if k := a.Kind(); (k == reflect.Map || k == reflect.Slice) && a.Len() == 0 && b.Len() == 0 {
		return true
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}
