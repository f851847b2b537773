package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
)

// libraryText lists the functions of the standard library that programs may call, one name a line:
// `f: (A, B) (A) -> R; (C) -> S`; parameter lists before an arrow share its result, no arrow means the unit value.
// Left out is what reads the clock, waits, ends the script, speaks of the engine itself, or gives a hash (name of a closure).
//
//go:embed library.txt
var libraryText string

// Function is one overload of a library function.
type Function struct {
	Name   string
	Params []Type
	Result Type
}

// Type is the name of a type in signatures: int, float, bool, char, string, array, map, blob, range, range=, Fn, (), any,
// iter.
type Type string

// parseLibrary reads the signatures, in order.
func parseLibrary(text string) ([]Function, error) {
	var list []Function
	for line := range strings.Lines(text) {
		name, rest, ok := strings.Cut(strings.TrimSpace(line), ": ")
		if !ok {
			return nil, fmt.Errorf("library: no signature in %q", line)
		}
		for group := range strings.SplitSeq(rest, "; ") {
			params, result, ok := strings.Cut(group, " -> ")
			if !ok {
				result = "()"
			}
			lists, err := parameterLists(params)
			if err != nil {
				return nil, fmt.Errorf("library: %s: %w", name, err)
			}
			for _, p := range lists {
				list = append(list, Function{Name: name, Params: p, Result: Type(result)})
			}
		}
	}
	return list, nil
}

// parameterLists splits "(A, B) ()" at its outer parentheses: the unit type is "()" within.
func parameterLists(text string) ([][]Type, error) {
	var lists [][]Type
	depth, start := 0, 0
	for i, r := range text {
		switch r {
		case '(':
			if depth == 0 {
				start = i + 1
			}
			depth++
		case ')':
			depth--
			if depth < 0 {
				return nil, fmt.Errorf("unbalanced %q", text)
			}
			if depth == 0 {
				var params []Type
				for p := range strings.SplitSeq(text[start:i], ", ") {
					if p != "" {
						params = append(params, Type(p))
					}
				}
				lists = append(lists, params)
			}
		}
	}
	if depth != 0 || len(lists) == 0 {
		return nil, fmt.Errorf("unbalanced %q", text)
	}
	return lists, nil
}

// mutating lists, by the receiver's type, the methods whose receiver changes.
var mutating = map[Type][]string{
	"char":   {"make_lower", "make_upper"},
	"int":    {"set_bit", "set_bits"},
	"string": {"append", "clear", "crop", "make_lower", "make_upper", "pad", "pop", "remove", "replace", "set", "trim", "truncate"},
	"array": {"append", "chop", "clear", "dedup", "drain", "extract", "for_each", "get", "insert", "order", "order_by", "order_desc",
		"pad", "pop", "push", "remove", "retain", "reverse", "set", "shift", "sort", "sort_by", "sort_desc", "splice", "split", "truncate"},
	"blob": {"append", "chop", "clear", "drain", "extract", "insert", "pad", "pop", "push", "remove", "retain", "reverse", "set",
		"shift", "splice", "split", "truncate", "write_ascii", "write_be", "write_le", "write_utf8"},
	"map": {"clear", "drain", "fill_with", "mixin", "remove", "retain", "set"},
}

func mutates(f Function) bool {
	return len(f.Params) > 0 && slices.Contains(mutating[f.Params[0]], f.Name)
}
