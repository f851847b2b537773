package condition

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/rhai/syntax"
)

// This file finds fields that there are not. A condition itself must take what
// is not there for nothing, as JSON leaves empty fields out: so a wrong name
// would hold for no thing at all, and say nothing.

// CompileOf is [Compile]; an error about an unknown name says which one was
// meant, or which there are.
func CompileOf(text string, names ...string) (*Condition, error) {
	c, err := Compile(text, names...)
	if err != nil {
		return nil, hint(err, "", names)
	}
	return c, nil
}

// CompileOver is [Compile] of a condition over one name, which stands for things
// of a type, by the fields that their JSON has.
//
// Errors: as [Compile]; [domain.ErrInvalid] for a field that such a thing cannot
// have.
func CompileOver(text, name string, like reflect.Type) (*Condition, error) {
	c, err := Compile(text, name)
	if err != nil {
		return nil, hint(err, name+".", names(fieldsOf(like)))
	}
	for _, n := range c.script.Tree().Body {
		syntax.Walk(n, func(n syntax.Node) bool {
			switch n := n.(type) {
			case *syntax.Closure: // its own name may be the same
				return !slices.ContainsFunc(n.Fn.Params, func(p syntax.Ident) bool { return p.Name == name })
			case *syntax.Chain:
				if root, ok := n.Root.(*syntax.Name); ok && root.Name == name && err == nil {
					err = checkFields(name, like, n.Steps)
				}
			}
			return err == nil
		})
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// checkFields follows a path as far as it goes through things of known fields.
func checkFields(path string, t reflect.Type, steps []syntax.Step) error {
	for _, s := range steps {
		name, ok := s.Field()
		known := fieldsOf(t)
		if !ok || known == nil {
			return nil
		}
		next, there := known[name]
		if !there {
			return domain.Invalidf("%s has no field %q (line %d, position %d)%s", path, name, s.Pos.Line, s.Pos.Col, meant("", name, names(known)))
		}
		path, t = path+"."+name, next
		if t.Implements(reflect.TypeFor[json.Marshaler]()) {
			return nil // it may write anything
		}
	}
	return nil
}

// fieldsOf are the fields of what JSON writes as an object, nil of all else.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	known := map[string]reflect.Type{}
	for _, f := range reflect.VisibleFields(t) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && tag != "-" && (tag != "" || !f.Anonymous) {
			known[cmp.Or(tag, f.Name)] = f.Type
		}
	}
	return known
}

func names(fields map[string]reflect.Type) []string { return slices.Sorted(maps.Keys(fields)) }

// hint adds to the error of an unknown variable which names there are.
func hint(err error, before string, names []string) error {
	_, unknown, ok := strings.Cut(err.Error(), "Undefined variable: ")
	if !ok {
		return err
	}
	unknown, _, _ = strings.Cut(unknown, " ")
	return fmt.Errorf("%w%s", err, meant(before, unknown, names))
}

// meant suggests a known name, or says which there are.
func meant(before, name string, known []string) string {
	if near := domain.Nearest(name, known); near != "" {
		return fmt.Sprintf("; did you mean %s%s?", before, near)
	}
	return "; known are " + before + strings.Join(known, ", "+before)
}
