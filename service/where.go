package service

import (
	"context"
	"reflect"
	"strings"

	"github.com/ramet-run/ramet/condition"
	"github.com/ramet-run/ramet/domain"
)

// where keeps of a list what a condition holds for: a Rhai expression over one
// of its things, by the fields that its JSON has. "" keeps all.
//
// Errors: [domain.ErrInvalid].
func where[T any](ctx context.Context, c Caller, in domain.TenantID, text, name string, list []T) ([]T, error) {
	holds, err := holding[T](ctx, c, in, text, name)
	if err != nil {
		return nil, err
	}
	return keep(list, holds)
}

// holding reads a condition, and asks it about one thing when it is the context's turn.
//
// Errors: [domain.ErrInvalid].
func holding[T any](ctx context.Context, c Caller, in domain.TenantID, text, name string) (func(T) (bool, error), error) {
	if text == "" {
		return func(T) (bool, error) { return true, nil }, nil
	}
	over, err := condition.CompileOver(text, name, reflect.TypeFor[T]())
	if err != nil {
		return nil, domain.Invalidf("where: %v", err)
	}
	return func(thing T) (bool, error) { return c.api.holds(ctx, in, over, thing) }, nil
}

// holds asks about one thing, when it is the context's turn.
func (s *Service) holds(ctx context.Context, in domain.TenantID, over *condition.Condition, thing any) (bool, error) {
	done, err := s.turns.Take(ctx, in)
	if err != nil {
		return false, err
	}
	defer done()
	v, err := condition.Of(thing)
	if err != nil {
		return false, err
	}
	holds, err := over.Holds(ctx, v)
	if err != nil {
		return false, domain.Invalidf("where: %v", err)
	}
	return holds, nil
}

// maxText bounds a text that is looked for, in bytes.
const maxText = 1 << 10

// hasText reports whether a text stands in some text of a thing that its JSON would have, or in
// what a job is at, which lists show instead of its status. text is in lower case.
func hasText(thing any, text string) bool {
	if j, ok := thing.(*domain.Job); ok && j.Status == domain.JobStarted && strings.Contains(string(j.Phase()), text) {
		return true
	}
	return textIn(reflect.ValueOf(thing), text)
}

func textIn(v reflect.Value, text string) bool {
	switch v.Kind() {
	case reflect.String:
		return strings.Contains(strings.ToLower(v.String()), text)
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && textIn(v.Elem(), text)
	case reflect.Slice:
		for i := range v.Len() {
			if k := v.Type().Elem().Kind(); k >= reflect.Bool && k <= reflect.Float64 {
				return false // numbers are no texts, nor is JSON
			}
			if textIn(v.Index(i), text) {
				return true
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if textIn(it.Key(), text) || textIn(it.Value(), text) {
				return true
			}
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if f.IsExported() && f.Tag.Get("json") != "-" && textIn(v.Field(i), text) {
				return true
			}
		}
	}
	return false
}
