package domain

import (
	"fmt"
	"slices"
	"strings"
)

// This file has what a blueprint does with its inputs, which declare what a request may give.

// takesInputs refuses params that are not declared, or cannot have their values, and says which
// are missing. Values with ${name} in them, as schedules have, are looked at when that is known.
func (b *Blueprint) takesInputs(params map[string]string, names []string) error {
	var known []string
	for i := range b.Inputs {
		d := &b.Inputs[i]
		known = append(known, d.Name)
		value, given := params[d.Name]
		if given && !IsTemplate(value) {
			if _, err := d.Value(value); err != nil {
				return Invalidf("params: %s is %v", d.Name, err)
			}
		}
		if _, has := b.Params[d.Name]; d.Required && !given && !has {
			return d.missing(b.Name)
		}
	}
	for _, name := range names {
		if slices.Contains(known, name) {
			continue
		}
		text := "its inputs are " + strings.Join(known, ", ")
		if near := Nearest(name, known); near != "" {
			text = fmt.Sprintf("did you mean %q?", near)
		}
		return Invalidf("params: blueprint %q has no input %q; %s", b.Name, name, text)
	}
	return nil
}

func (f *TypedField) missing(blueprint string) error {
	text := ""
	if f.Description != "" {
		text = ": " + PlainText(f.Description, 200)
	}
	return Invalidf("params: blueprint %q needs %s, %s%s", blueprint, f.Name, f.Wants(), text)
}

// FillInputs puts the defaults of inputs among the params, and checks all values.
//
// Errors: [ErrInvalid] for one that is missing, or wrong.
func (b *Blueprint) FillInputs() error {
	if len(b.Inputs) == 0 {
		return nil
	}
	filled := make(map[string]string, len(b.Params)+len(b.Inputs))
	for name, value := range b.Params {
		filled[name] = value
	}
	for i := range b.Inputs {
		d := &b.Inputs[i]
		value, given := b.Params[d.Name]
		switch {
		case !given && d.Default != nil:
			value = *d.Default
		case !given && d.Required:
			return d.missing(b.Name)
		case !given:
			continue
		}
		value, err := d.Value(value)
		if err != nil {
			return Invalidf("params: %s is %v", d.Name, err)
		}
		filled[d.Name] = value
	}
	b.Params = filled
	return nil
}

// inputs checks what is declared, and what the blueprint itself gives for it.
func (c *checker) inputs() {
	for _, f := range c.fields("inputs", "input", c.b.Inputs, MaxInputs) {
		value, given := c.b.Params[f.Name]
		if _, err := f.Value(value); given && err != nil {
			c.fault("params."+f.Name, "%v", err)
		}
	}
}
