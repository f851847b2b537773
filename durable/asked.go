package durable

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// This file reads what scripts ask people.

// Asked is what a script asks a person, as scripts write it.
type Asked domain.CallApproval

// UnmarshalJSON takes answers as a list, and as blueprints have them: as an object by name. What
// is a text here may be a number or a flag, so that what stands in a blueprint can be copied.
//
// Errors: [domain.ErrInvalid].
func (a *Asked) UnmarshalJSON(text []byte) error {
	type plain Asked
	said := struct {
		*plain
		Answers AskedFields `json:"answers"`
	}{plain: (*plain)(a)}
	if err := known(text, &said); err != nil {
		return err
	}
	a.Answers = said.Answers
	return nil
}

// AskedFields are the fields of a form as a script writes them; see [Asked].
type AskedFields []domain.TypedField

// UnmarshalJSON takes a list, or an object by name.
//
// Errors: [domain.ErrInvalid].
func (a *AskedFields) UnmarshalJSON(text []byte) error {
	var list []askedField
	switch text = bytes.TrimSpace(text); {
	case bytes.HasPrefix(text, []byte("[")):
		if err := known(text, &list); err != nil {
			return err
		}
	case bytes.HasPrefix(text, []byte("{")):
		d := json.NewDecoder(bytes.NewReader(text))
		d.DisallowUnknownFields()
		_, err := d.Token()
		for err == nil && d.More() {
			var one askedField
			name, _ := d.Token() // the text was scanned before it came here
			if err = d.Decode(&one); err == nil && one.Name != "" && one.Name != name {
				err = domain.Invalidf("answers.%s.name is %q: want one of them", name, one.Name)
			}
			one.Name = fmt.Sprint(name)
			list = append(list, one)
		}
		if err != nil {
			return inWords(err)
		}
	case string(text) != "null":
		return domain.Invalidf(`answers: want fields by name, such as {"amount": {"type": "number", "required": true}}`)
	}
	*a = nil
	for _, one := range list {
		f := one.TypedField
		f.Default, f.Min, f.Max = (*string)(one.Default), string(one.Min), string(one.Max)
		for _, v := range one.Enum {
			f.Enum = append(f.Enum, string(v))
		}
		*a = append(*a, f)
	}
	return nil
}

// askedField is a field whose values need not be texts.
type askedField struct {
	domain.TypedField
	Default *plainText  `json:"default"`
	Min     plainText   `json:"min"`
	Max     plainText   `json:"max"`
	Enum    []plainText `json:"enum"`
}

// plainText is a text, or a number or flag as it is written.
type plainText string

func (t *plainText) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case '"':
		return json.Unmarshal(text, (*string)(t))
	case '[', '{':
		return domain.Invalidf("%s: want a text or a number", text)
	}
	*t = plainText(text)
	return nil
}

// known decodes a text, and refuses names that there are not.
func known(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return inWords(d.Decode(into))
}

// inWords says of a value of the wrong type what it is of, without the names of types.
func inWords(err error) error {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		want := strings.Replace(wrong.Type.Kind().String(), "struct", "object", 1)
		return domain.Invalidf("approval: %s is a JSON %s, want a JSON %s",
			cmp.Or(wrong.Field[strings.LastIndexByte(wrong.Field, '.')+1:], "a field"), wrong.Value, want)
	}
	return err
}
