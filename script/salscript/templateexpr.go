package salscript

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// This file evaluates the expressions of templates, from the loosest binding
// to the tightest:
//
//	or   and   not   == != < <= > >= in, is   | filter   + - ~   * / %   ( ) [ ] a.b a[0] "text" 1 true

// safeText is text that is not to be escaped.
type safeText string

// missing is the value of a variable that there is not.
type missing string

var errMissing = errors.New("variable not found")

var templateToken = regexp.MustCompile("^(?:[0-9]+(?:\\.[0-9]+)?|[A-Za-z_][A-Za-z0-9_]*|\"[^\"]*\"|'[^']*'|`[^`]*`|==|!=|<=|>=|[-+*/%~|.,()\\[\\]<>=:])")

type expression struct {
	f     *filling
	words []string
}

// eval evaluates text; a variable that is not there is an error.
func (f *filling) eval(text string) (any, error) {
	v, err := f.value(text)
	if name, no := v.(missing); err == nil && no {
		return nil, fmt.Errorf("%w: %s", errMissing, string(name))
	}
	return v, err
}

// condition is as value, where what is not there is false.
func (f *filling) condition(text string) (bool, error) {
	v, err := f.value(text)
	return truth(v), err
}

func (f *filling) value(text string) (any, error) {
	e := &expression{f: f}
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		word := templateToken.FindString(rest)
		if word == "" {
			return nil, fmt.Errorf("%q makes no sense here", rest)
		}
		e.words, rest = append(e.words, word), rest[len(word):]
	}
	v, err := e.or()
	if err == nil && len(e.words) > 0 {
		err = fmt.Errorf("%q makes no sense here", strings.Join(e.words, " "))
	}
	return v, err
}

func (e *expression) peek() string {
	if len(e.words) == 0 {
		return ""
	}
	return e.words[0]
}

// take takes the next word if it is one of those.
func (e *expression) take(words ...string) string {
	w := e.peek()
	if w == "" || !slices.Contains(words, w) {
		return ""
	}
	e.words = e.words[1:]
	return w
}

func (e *expression) next() string {
	w := e.peek()
	if w != "" {
		e.words = e.words[1:]
	}
	return w
}

func (e *expression) want(word string) error {
	if e.take(word) == "" {
		return fmt.Errorf("want %q, not %q", word, e.peek())
	}
	return nil
}

func (e *expression) or() (any, error) {
	v, err := e.and()
	for err == nil && e.take("or") != "" {
		var w any
		w, err = e.and()
		v = truth(v) || truth(w)
	}
	return v, err
}

func (e *expression) and() (any, error) {
	v, err := e.not()
	for err == nil && e.take("and") != "" {
		var w any
		w, err = e.not()
		v = truth(v) && truth(w)
	}
	return v, err
}

func (e *expression) not() (any, error) {
	if e.take("not") != "" {
		v, err := e.not()
		return !truth(v), err
	}
	return e.comparison()
}

func (e *expression) comparison() (any, error) {
	v, err := e.filtered()
	if err != nil {
		return nil, err
	}
	negative := false
	if len(e.words) > 1 && e.words[0] == "not" && e.words[1] == "in" {
		e.next()
		negative = true
	}
	switch op := e.take("==", "!=", "<", "<=", ">", ">=", "in", "is"); op {
	case "":
		return v, nil
	case "is":
		negative = e.take("not") != ""
		is, err := e.test(v, e.next())
		return is != negative, err
	case "in":
		w, err := e.filtered()
		return contains(w, v) != negative, err
	default:
		w, err := e.filtered()
		if err != nil {
			return nil, err
		}
		return compare(op, v, w)
	}
}

func (e *expression) test(v any, name string) (bool, error) {
	_, gone := v.(missing)
	_, text := v.(string)
	_, list := v.([]any)
	_, object := v.(map[string]any)
	n, number := asNumber(v)
	switch name {
	case "defined":
		return !gone, nil
	case "undefined":
		return gone, nil
	case "string":
		return text, nil
	case "number":
		return number, nil
	case "iterable":
		return list || object, nil
	case "object":
		return object, nil
	case "odd":
		return number && math.Mod(n, 2) != 0, nil
	case "even":
		return number && math.Mod(n, 2) == 0, nil
	}
	return false, fmt.Errorf("there is no test %q", name)
}

func (e *expression) filtered() (any, error) {
	v, err := e.sum()
	for err == nil && e.take("|") != "" {
		name := e.next()
		var args map[string]any
		if args, err = e.arguments(); err == nil {
			v, err = filter(name, v, args)
		}
	}
	return v, err
}

// arguments reads (name=value, ...), which may be left out.
func (e *expression) arguments() (map[string]any, error) {
	args := map[string]any{}
	if e.take("(") == "" {
		return args, nil
	}
	for e.take(")") == "" {
		name := e.next()
		if err := e.want("="); err != nil {
			return nil, err
		}
		v, err := e.or()
		if err != nil {
			return nil, err
		}
		args[name] = v
		if e.take(",") == "" && e.peek() != ")" {
			return nil, fmt.Errorf("want \")\", not %q", e.peek())
		}
	}
	return args, nil
}

func (e *expression) sum() (any, error) {
	v, err := e.product()
	for err == nil {
		op := e.take("+", "-", "~")
		if op == "" {
			break
		}
		var w any
		if w, err = e.product(); err == nil {
			v, err = arithmetic(op, v, w)
		}
	}
	return v, err
}

func (e *expression) product() (any, error) {
	v, err := e.place()
	for err == nil {
		op := e.take("*", "/", "%")
		if op == "" {
			break
		}
		var w any
		if w, err = e.place(); err == nil {
			v, err = arithmetic(op, v, w)
		}
	}
	return v, err
}

// place is a value and what lies in it.
func (e *expression) place() (any, error) {
	v, err := e.atom()
	for err == nil {
		var key any
		switch e.take(".", "[") {
		case ".":
			key = e.next()
		case "[":
			if key, err = e.or(); err == nil {
				err = e.want("]")
			}
		default:
			return v, nil
		}
		if err == nil {
			v = member(v, key)
		}
	}
	return v, err
}

func (e *expression) atom() (any, error) {
	switch w := e.next(); {
	case w == "":
		return nil, errors.New("a value is missing")
	case w == "(":
		v, err := e.or()
		if err == nil {
			err = e.want(")")
		}
		return v, err
	case w == "[":
		list := []any{}
		for e.take("]") == "" {
			v, err := e.or()
			if err != nil {
				return nil, err
			}
			list = append(list, v)
			if e.take(",") == "" && e.peek() != "]" {
				return nil, fmt.Errorf("want \"]\", not %q", e.peek())
			}
		}
		return list, nil
	case w == "-":
		v, err := e.atom()
		if err != nil {
			return nil, err
		}
		return arithmetic("-", int64(0), v)
	case w == "true", w == "false":
		return w == "true", nil
	case strings.ContainsRune("\"'`", rune(w[0])):
		return w[1 : len(w)-1], nil
	case w[0] >= '0' && w[0] <= '9':
		if i, err := strconv.ParseInt(w, 10, 64); err == nil {
			return i, nil
		}
		return strconv.ParseFloat(w, 64)
	case w[0] == '_' || w[0] >= 'A':
		for i := len(e.f.scopes) - 1; i >= 0; i-- {
			if v, found := e.f.scopes[i][w]; found {
				return v, nil
			}
		}
		return missing(w), nil
	default:
		return nil, fmt.Errorf("%q makes no sense here", w)
	}
}
