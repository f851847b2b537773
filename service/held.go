package service

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board/precondition"
	"github.com/ramet-run/ramet/domain"
)

// This file has operations that hold what they change: they are done only while that is
// as their caller has read it.

// CallHeld calls an operation that holds the thing it changes ([api.Operation.Holds]). asRead
// gets what reading that thing would answer the caller now, nil where it is not there, and
// returns an error where that is not what the caller has read: then nothing is done. Whatever
// changes between this look and the change is found at the change, and asRead is asked
// again for its error.
//
// Errors: those of the operation, of reading, and of asRead; [domain.ErrConflict] where the
// thing is as the caller has read it but was another in between.
func (c Caller) CallHeld(ctx context.Context, o *Operation, params any, asRead func(answer any) error) (any, error) {
	read := Named(o.Holds)
	reading, err := readingOf(read.Operation, params)
	if err != nil {
		return nil, err
	}
	look := func(ctx context.Context) error {
		answer, err := read.Call(ctx, c, reading)
		if errors.Is(err, domain.ErrNotFound) {
			return asRead(nil)
		} else if err != nil {
			return err
		}
		return asRead(answer)
	}
	noting, seen := precondition.Note(ctx)
	if err := look(noting); err != nil {
		if c.once.done(ctx) { // that it is not as it was read is this request's own doing
			return o.Call(ctx, c, params)
		}
		return nil, err
	}
	if seen.Nothing() {
		return nil, fmt.Errorf("BUG: %s reads past what notes it: nothing would hold %s", read.Name, o.Name)
	}
	result, err := o.Call(precondition.Hold(ctx, seen), c, params)
	if err != nil && seen.Changed() {
		if now := look(ctx); now != nil {
			return nil, now
		}
	}
	return result, err
}

// readingOf are the parameters that read the thing which params are about: what names it,
// in the path or by the tag thing, has the same name in both.
func readingOf(read *api.Operation, params any) (any, error) {
	name, err := nameInText(params)
	if err != nil {
		return nil, err
	}
	reading := read.NewParams()
	to, from := reflect.ValueOf(reading).Elem(), reflect.ValueOf(params).Elem()
	for _, f := range api.FieldsOf(to.Type()) {
		if f.Tag.Get("path") == "" && f.Tag.Get("thing") == "" {
			continue
		}
		field := to.FieldByIndex(f.Index)
		if f.Name == "Name" && name != "" {
			field.SetString(name)
			continue
		}
		field.Set(from.FieldByName(f.Name))
	}
	return reading, nil
}

// nameInText is the name of a document that comes as a text or as fields of its own; "" of
// other parameters.
func nameInText(params any) (string, error) {
	switch p := params.(type) {
	case *api.ApplyBlueprintParams:
		b, err := blueprintOf(p)
		if err != nil {
			return "", err
		}
		return b.Name, nil
	case *api.ApplySagaParams:
		d, _, err := definitionOf(p)
		if err != nil {
			return "", err
		}
		return d.Name, nil
	}
	return "", nil
}
