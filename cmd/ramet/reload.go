package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/internal/setting"
)

// This file says what of a config file a node that runs does not take up.

// reloaded reports whether `ramet node reload` takes a key up; all others want a restart.
func reloaded(key string) bool {
	return slices.ContainsFunc(setting.All(), func(s setting.Setting) bool { return s.Reload && (s.Key == key || strings.HasPrefix(s.Key, key+".*.")) })
}

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
		case !reloaded(before+key) && !alike(a, b):
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
