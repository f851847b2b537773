package api

import (
	"cmp"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/ramet-run/ramet/domain"
)

// MaxRequestKey bounds the key of a request (Idempotency-Key) in bytes.
const MaxRequestKey = 255

// MaxLargeBody bounds the body of an operation that takes a whole large flow at once, in
// bytes: its plan, and what else a request has.
const MaxLargeBody = domain.MaxPlanBytes + 1<<20

// Request is how parameters are written at the HTTP door: the path, what stands behind its
// question mark, and the body, which is nil where the operation takes none. What is zero is
// left out: that is what it stands for.
func (o Op[P, R]) Request(params P) (path string, query url.Values, body any) {
	return o.Write(&params)
}

// Write is Request of a pointer to parameters of the operation, as NewParams returns.
func (o *Operation) Write(params any) (path string, query url.Values, body any) {
	path, query = o.Path, url.Values{}
	var fields map[string]any
	v := reflect.ValueOf(params).Elem()
	for _, f := range o.fields() {
		value := v.FieldByIndex(f.Index)
		switch {
		case f.Tag.Get("path") != "":
			path = strings.Replace(path, "{"+f.Tag.Get("path")+"}", segment(textOf(value)), 1)
		case f.Tag.Get("query") != "":
			if !value.IsZero() {
				query.Set(f.Tag.Get("query"), textOf(value))
			}
		default:
			if fields == nil {
				fields = map[string]any{}
				body = fields
			}
			if !value.IsZero() {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				fields[cmp.Or(name, f.Name)] = value.Interface()
			}
		}
	}
	return path, query, body
}

// ReadQuery sets those parameters that stand behind the question mark, as Write wrote them.
// params is a pointer to parameters of the operation. What is not known is refused.
//
// Errors: [domain.ErrInvalid].
func (o *Operation) ReadQuery(params any, query url.Values) error {
	v := reflect.ValueOf(params).Elem()
	for name := range query {
		i := slices.IndexFunc(o.fields(), func(f reflect.StructField) bool { return f.Tag.Get("query") == name })
		if i < 0 {
			return domain.Invalidf("%s has no parameter %q", o.Name, domain.PlainText(name, 64))
		}
		if err := SetParam(v.FieldByIndex(o.fields()[i].Index), name, query.Get(name)); err != nil {
			return err
		}
	}
	return nil
}

// FieldsOf are the fields of a struct by the rules of encoding/json: what is embedded
// counts as being there itself, unless a field of its name stands further out. Those that
// stand in an address are among them.
func FieldsOf(params reflect.Type) (list []reflect.StructField) {
	taken := map[string]bool{}
	for level := [][]int{nil}; len(level) > 0; {
		var within [][]int
		for _, index := range level {
			t := params
			if len(index) > 0 {
				if t = params.FieldByIndex(index).Type; t.Kind() == reflect.Pointer {
					t = t.Elem()
				}
			}
			for i := range t.NumField() {
				f := t.Field(i)
				f.Index = append(slices.Clone(index), i)
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if f.Anonymous && name == "" {
					within = append(within, f.Index)
					continue
				}
				if f.Tag.Get("path")+f.Tag.Get("query") != "" { // a field of the body may have its name
					list = append(list, f)
				} else if name = cmp.Or(name, f.Name); f.IsExported() && name != "-" && !taken[name] {
					taken[name] = true
					list = append(list, f)
				}
			}
		}
		level = within
	}
	return list
}

// textOf is a parameter as it stands in an address.
func textOf(v reflect.Value) string {
	switch {
	case v.Kind() == reflect.String:
		return v.String()
	case v.Kind() == reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	}
	panic(fmt.Sprintf("BUG: a parameter of an address is a %s", v.Kind()))
}

// SetParam reads a parameter of an address, as Write wrote it, into its field: a string, a
// number, or a yes or no.
//
// Errors: [domain.ErrInvalid] that names the parameter.
func SetParam(f reflect.Value, name, text string) error {
	switch f.Kind() {
	case reflect.String:
		f.SetString(text)
		return nil
	case reflect.Uint32:
		n, err := strconv.ParseUint(text, 10, 32)
		switch {
		case err == nil && strconv.FormatUint(n, 10) == text:
		case f.Type() == reflect.TypeFor[domain.TenantID]():
			return domain.Invalidf("%s %q: want a context's number, or its alias", name, text)
		default:
			return domain.Invalidf("%s %q: want a number from 0 to 4294967295", name, text)
		}
		f.SetUint(n)
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return domain.Invalidf("%s %q: want a number", name, text)
		}
		f.SetInt(n)
		return nil
	case reflect.Bool:
		if text != "true" && text != "false" {
			return domain.Invalidf("%s %q: want true or false", name, text)
		}
		f.SetBool(text == "true")
		return nil
	}
	panic(fmt.Sprintf("BUG: parameter %s is a %s", name, f.Kind()))
}

// segment is a text as one part of a path. Dots alone would be taken for the
// folder, or the one above.
func segment(text string) string {
	if text == "." || text == ".." {
		return strings.ReplaceAll(text, ".", "%2E")
	}
	return url.PathEscape(text)
}
