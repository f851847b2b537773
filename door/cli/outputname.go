package cli

import (
	"fmt"
	"reflect"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
)

// printNames writes one line for each thing of a list, by which other commands know it.
func (a *app) printNames(v any) error {
	things, ok := listed(reflect.ValueOf(v))
	if !ok {
		return domain.Invalidf("-o name: this command lists nothing")
	}
	for i := range things.Len() {
		name, ok := handleOf(things.Index(i))
		if !ok {
			return domain.Invalidf("-o name: what this command lists has no names")
		}
		fmt.Fprintln(a.std.Out, visible(name))
	}
	return nil
}

// listed is the first list of things in an answer.
func listed(v reflect.Value) (things reflect.Value, ok bool) {
	for v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() == reflect.Slice {
		return v, true
	}
	if v.Kind() != reflect.Struct {
		return v, false
	}
	for _, f := range api.FieldsOf(v.Type()) {
		if f.Type.Kind() != reflect.Slice || f.Tag.Get("json") == "-" {
			continue
		}
		if elem := f.Type.Elem(); elem.Kind() == reflect.Struct || elem.Kind() == reflect.Pointer {
			return v.FieldByIndex(f.Index), true
		}
	}
	return v, false
}

// naming are the fields by which things are known, those that say more first.
var naming = []string{"Key", "Name", "Correlation", "Effect", "Node", "ID", "Circle", "Jti", "Path"}

// handleOf is what a thing is called on the command line.
func handleOf(v reflect.Value) (string, bool) {
	if key := v.MethodByName("Key"); key.IsValid() && key.Type().NumIn() == 0 && key.Type().NumOut() == 1 {
		return fmt.Sprint(key.Call(nil)[0].Interface()), true
	}
	for v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", false
		}
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return "", false
	}
	for _, name := range naming {
		if f := v.FieldByName(name); f.IsValid() && f.CanInterface() {
			if text := fmt.Sprint(f.Interface()); text != "" {
				return text, true
			}
		}
	}
	return "", false
}
