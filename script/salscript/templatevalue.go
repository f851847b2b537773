package salscript

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This file has what the expressions of templates do with values: compare,
// reckon, filter, show.

// member is what lies at key of a map or list.
func member(v, key any) any {
	switch v := v.(type) {
	case map[string]any:
		if m, found := v[shown(key)]; found {
			return m
		}
	case []any:
		if i, err := strconv.Atoi(shown(key)); err == nil && i >= 0 && i < len(v) {
			return v[i]
		}
	case missing:
		return v
	}
	return missing(shown(key))
}

func truth(v any) bool {
	switch v := v.(type) {
	case nil, missing:
		return false
	case bool:
		return v
	case string:
		return v != ""
	case []any:
		return len(v) > 0
	case map[string]any:
		return len(v) > 0
	}
	n, number := asNumber(v)
	return !number || n != 0
}

func asNumber(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

func contains(in, v any) bool {
	switch in := in.(type) {
	case string:
		return strings.Contains(in, shown(v))
	case []any:
		return slices.ContainsFunc(in, func(w any) bool { return equal(v, w) })
	case map[string]any:
		_, found := in[shown(v)]
		return found
	}
	return false
}

func equal(v, w any) bool {
	a, isA := asNumber(v)
	b, isB := asNumber(w)
	if isA && isB {
		return a == b
	}
	return reflect.DeepEqual(v, w)
}

func compare(op string, v, w any) (bool, error) {
	switch op {
	case "==":
		return equal(v, w), nil
	case "!=":
		return !equal(v, w), nil
	}
	a, isA := asNumber(v)
	b, isB := asNumber(w)
	if !isA || !isB {
		return false, fmt.Errorf("%s compares numbers", op)
	}
	return op[0] == '<' && a < b || op[0] == '>' && a > b || len(op) == 2 && a == b, nil
}

func arithmetic(op string, v, w any) (any, error) {
	if op == "~" {
		return shown(v) + shown(w), nil
	}
	a, isA := asNumber(v)
	b, isB := asNumber(w)
	if !isA || !isB {
		return nil, fmt.Errorf("%s wants numbers", op)
	}
	if b == 0 && (op == "/" || op == "%") {
		return nil, errors.New("division by zero")
	}
	i, whole := v.(int64)
	j, wholeToo := w.(int64)
	if whole && wholeToo {
		switch op {
		case "+":
			return i + j, nil
		case "-":
			return i - j, nil
		case "*":
			return i * j, nil
		case "%":
			return i % j, nil
		}
	}
	switch op {
	case "+":
		return a + b, nil
	case "-":
		return a - b, nil
	case "*":
		return a * b, nil
	case "%":
		return math.Mod(a, b), nil
	}
	return a / b, nil
}

// shown is a value as a template shows it.
func shown(v any) string {
	switch v := v.(type) {
	case nil, missing:
		return ""
	case string:
		return v
	case safeText:
		return string(v)
	case float64:
		text := strconv.FormatFloat(v, 'f', -1, 64)
		if v == math.Trunc(v) && !strings.Contains(text, ".") {
			text += ".0"
		}
		return text
	case []any:
		parts := make([]string, len(v))
		for i := range v {
			parts[i] = shown(v[i])
		}
		return "[" + strings.Join(parts, ", ") + "]"
	case map[string]any:
		return "[object]"
	}
	return fmt.Sprint(v)
}

// filter applies a filter.
func filter(name string, v any, args map[string]any) (any, error) {
	if name == "default" {
		if _, gone := v.(missing); gone {
			return args["value"], nil
		}
		return v, nil
	}
	if gone, no := v.(missing); no {
		return nil, fmt.Errorf("%w: %s", errMissing, string(gone))
	}
	text := shown(v)
	list, _ := v.([]any)
	number, _ := asNumber(v)
	switch name {
	case "upper":
		return strings.ToUpper(text), nil
	case "lower":
		return strings.ToLower(text), nil
	case "trim":
		return strings.TrimSpace(text), nil
	case "capitalize":
		_, size := utf8.DecodeRuneInString(text)
		return strings.ToUpper(text[:size]) + strings.ToLower(text[size:]), nil
	case "replace":
		return strings.ReplaceAll(text, shown(args["from"]), shown(args["to"])), nil
	case "split":
		parts := []any{}
		for part := range strings.SplitSeq(text, shown(args["pat"])) {
			parts = append(parts, part)
		}
		return parts, nil
	case "join":
		parts := make([]string, len(list))
		for i := range list {
			parts[i] = shown(list[i])
		}
		return strings.Join(parts, shown(args["sep"])), nil
	case "length":
		return length(v), nil
	case "first":
		return member(list, int64(0)), nil
	case "last":
		return member(list, int64(len(list)-1)), nil
	case "reverse":
		if list == nil {
			runes := []rune(text)
			slices.Reverse(runes)
			return string(runes), nil
		}
		list = slices.Clone(list)
		slices.Reverse(list)
		return list, nil
	case "abs":
		if i, whole := v.(int64); whole {
			return max(i, -i), nil
		}
		return math.Abs(number), nil
	case "round":
		return math.Round(number), nil
	case "int":
		i, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			return args["default"], nil
		}
		return int64(i), nil
	case "safe":
		return safeText(text), nil
	case "escape":
		return safeText(html.EscapeString(text)), nil
	case "json_encode":
		out, err := json.Marshal(v)
		return string(out), err
	}
	return nil, fmt.Errorf("there is no filter %q", name)
}

// length is how many elements a list has, names an object, and characters all else.
func length(v any) int64 {
	switch v := v.(type) {
	case []any:
		return int64(len(v))
	case map[string]any:
		return int64(len(v))
	}
	return int64(utf8.RuneCountInString(shown(v)))
}
