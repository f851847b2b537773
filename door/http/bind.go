package http

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	nethttp "net/http"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/intake"
	"github.com/ramet-run/ramet/service"
)

// binder fills an operation's parameters from a request.
type binder struct {
	op    *service.Operation
	path  map[string][]int // parameter -> field
	query map[string][]int
	body  bool // there are fields of a body
	// answer is what of the answer can be selected by its fields.
	answer api.Selectable
}

func newBinder(o *service.Operation) *binder {
	b := &binder{op: o, path: map[string][]int{}, query: map[string][]int{}, answer: o.Selectable()}
	t := reflect.TypeOf(o.NewParams()).Elem()
	for _, f := range reflect.VisibleFields(t) {
		switch {
		case f.Tag.Get("json") != "-" && f.Tag.Get("path")+f.Tag.Get("query") != "":
			panic(fmt.Sprintf("BUG: %s: a body could change %s, which stands in the address", o.Name, f.Name))
		case f.Tag.Get("path") != "":
			b.path[f.Tag.Get("path")] = f.Index
		case f.Tag.Get("query") != "":
			b.query[f.Tag.Get("query")] = f.Index
		case f.IsExported() && !f.Anonymous && f.Tag.Get("json") != "-":
			b.body = true
		}
	}
	return b
}

// TenantHeader names a context by its number or its alias, for operations that
// take one and have none in their path. In others it must say the same.
//
// Source: seed 003, "HTTP".
const TenantHeader = "X-Tenant-Id"

// isContext reports whether a parameter is a context.
func isContext(f reflect.Value) bool { return f.Type() == reflect.TypeFor[domain.TenantID]() }

// mayBeAlias tells numbers from aliases: to say what is wrong with an alias costs more than
// the rest of the address.
func mayBeAlias(text string) bool { return text != "" && (text[0] < '0' || text[0] > '9') }

// bind reads the parameters: those of path, query and header, and where the
// caller may do what they are about, the body.
//
// Errors: [domain.ErrInvalid] naming the parameter or field; those of
// [service.Caller.Admit], of [service.Caller.ContextNamed] and of [readBody].
func (b *binder) bind(w *response, r *nethttp.Request, caller service.Caller) (any, error) {
	params := b.op.NewParams()
	if err := b.bindHead(w, r, params, func(alias string) (domain.TenantID, error) { return caller.ContextNamed(r.Context(), alias) }); err != nil {
		return nil, err
	}
	if r.ContentLength == 0 && !b.body {
		return params, nil
	}
	if err := caller.Admit(r.Context(), b.op, b.tenant(params)); err != nil {
		return nil, err
	}
	return params, b.readBody(w, r, params)
}

// tenant is the context that the path names; 0 where it names none.
func (b *binder) tenant(params any) domain.TenantID {
	field, there := b.path["context"]
	if !there {
		return 0
	}
	return domain.TenantID(reflect.ValueOf(params).Elem().FieldByIndex(field).Uint())
}

// concerns is the context that the request is about, wherever its number stands; 0 where that is none.
func (b *binder) concerns(params any) domain.TenantID {
	if field, there := b.query["context"]; there {
		if f := reflect.ValueOf(params).Elem().FieldByIndex(field); isContext(f) {
			return domain.TenantID(f.Uint())
		}
	}
	return b.tenant(params)
}

// bindHead reads the parameters that stand before the body. named finds a
// context by its alias.
func (b *binder) bindHead(w *response, r *nethttp.Request, params any, named func(alias string) (domain.TenantID, error)) error {
	v := reflect.ValueOf(params).Elem()
	set := func(field []int, name, text string) error {
		f := v.FieldByIndex(field)
		if !isContext(f) || !mayBeAlias(text) || domain.ValidateAlias(text) != nil {
			return api.SetParam(f, name, text)
		}
		id, err := named(text)
		f.SetUint(uint64(id))
		return err
	}
	for name, field := range b.path {
		if err := set(field, name, r.PathValue(name)); err != nil {
			return err
		}
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return domain.Invalidf("query %q: %v", r.URL.RawQuery, err)
	}
	if id := r.Header.Get("Last-Event-ID"); id != "" && b.query["from"] != nil {
		n, err := strconv.ParseUint(id, 10, 31)
		if err != nil {
			return domain.Invalidf("Last-Event-ID %q: want the number of a line", id)
		}
		query.Set("from", strconv.FormatUint(n+1, 10)) // a stream that broke goes on behind it
	}
	for name, values := range query {
		field, known := b.query[name]
		selects := name == api.FieldsParam && len(b.answer.Names) > 0
		if !known && !selects {
			return domain.Invalidf("query parameter %q is not known to %s%s", domain.PlainText(name, maxNear), b.op.Name, b.meantName(name))
		}
		if len(values) > 1 {
			return domain.Invalidf("query parameter %q is there %d times", name, len(values))
		}
		if selects {
			if w.fields, err = b.answer.Choose(values[0]); err != nil {
				return err
			}
			continue
		}
		if err := set(field, name, values[0]); err != nil {
			return err
		}
	}
	return b.bindHeader(r, v, set)
}

// bindHeader holds what the path says of the context, or where it says nothing
// the query, against [TenantHeader].
func (b *binder) bindHeader(r *nethttp.Request, v reflect.Value, set func(field []int, name, text string) error) error {
	text := r.Header.Get(TenantHeader)
	field, inPath := b.path["context"]
	there := inPath
	if !there {
		field, there = b.query["context"]
	}
	if text == "" || !there {
		return nil
	}
	given := v.FieldByIndex(field).Uint()
	if err := set(field, TenantHeader, text); err != nil {
		return err
	}
	if said := v.FieldByIndex(field).Uint(); (inPath || given != 0) && said != given {
		return domain.Invalidf("%s says context %s, the request's address %d; leave one out", TenantHeader, text, given)
	}
	return nil
}

// meantName says which parameter was meant by a name that is none, and which there are.
func (b *binder) meantName(name string) string {
	known := slices.Sorted(maps.Keys(b.query))
	if len(b.answer.Names) > 0 {
		known = append(known, api.FieldsParam)
	}
	if len(known) == 0 {
		return ", which has none"
	}
	meant := "; it has " + strings.Join(known, ", ")
	if near := domain.Nearest(name, known); near != "" {
		meant = fmt.Sprintf("; did you mean %s?", near) + meant[1:]
	}
	return meant
}

// readBody reads a strict JSON object into params.
func (b *binder) readBody(w *response, r *nethttp.Request, params any) error {
	most, values := MaxBody, maxValues
	switch {
	case !b.body:
		most = maxNoBody
	case b.op.Large:
		most, values = api.MaxLargeBody, maxLargeValues
	}
	if err := checkForm(w, r); err != nil {
		return err
	}
	body, err := w.readAll(r, int64(most))
	if err != nil {
		return err
	}
	if len(r.Header[KeyHeader]) > 0 {
		w.sum = sha256.Sum256(body)
	}
	if len(bytes.TrimSpace(body)) == 0 {
		if b.body {
			return domain.Invalidf("the body is empty; %s wants a JSON object", b.op.Name)
		}
		return nil
	}
	if !b.body {
		// An empty object is what many clients send with any POST.
		params = &struct{}{}
	}
	if !utf8.Valid(body) {
		return domain.Invalidf("the body is not UTF-8; encode binary data, as base64 for example")
	}
	size, err := intake.Check(body, params, intake.Limits{Bytes: most, Depth: MaxDepth, Values: values})
	if err != nil {
		return domain.Invalidf("the body: %v", err)
	}
	// What an object takes once it is decoded: `{}` may be a job of half a kilobyte.
	if err := w.hold(int64(len(body) + size.Objects*objectCost)); err != nil {
		return err
	}
	return decodeStrict(body, params)
}

const (
	// maxValues bounds the values of a body: 10,000 jobs of a hundred each.
	maxValues = 1_000_000
	// maxLargeValues bounds those of a body with a large flow: 100,000 steps of forty each.
	maxLargeValues = 4_000_000
	// objectCost is what an object of a body is counted as, in bytes.
	objectCost = 512
)

// decodeStrict reads one JSON object and nothing else.
func decodeStrict(body []byte, into any) error {
	if !bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		return domain.Invalidf("the body is no JSON object")
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return decodeError(err, func() string { return whereWrong(body, reflect.TypeOf(into).Elem(), err.Error()) })
	}
	if _, err := dec.Token(); err != io.EOF {
		return domain.Invalidf("there is more behind the JSON object, at byte %d", dec.InputOffset())
	}
	return nil
}

// decodeError says what is wrong in words that people use. where finds the field of an error
// that does not name it.
func decodeError(err error, where func() string) error {
	var typ *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &typ):
		return domain.Invalidf("field %q: got a %s, want %s", cmp.Or(fieldName(typ.Field), where()), typ.Value, wanted(typ.Type))
	case errors.As(err, &syntax):
		return domain.Invalidf("the body is no JSON at byte %d: %v", syntax.Offset, err)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return domain.Invalidf("the body is cut off: the JSON object is not complete")
	}
	// encoding/json has no type for this one.
	if name, unknown := strings.CutPrefix(err.Error(), "json: unknown field "); unknown {
		return domain.Invalidf("unknown field %s", name)
	}
	return domain.Invalidf("field %q: %v", where(), err)
}

// whereWrong finds the innermost field that alone has what a body of that type cannot be decoded
// for: types that read themselves do not know as what field they are read.
func whereWrong(body []byte, of reflect.Type, cause string) string {
	path, within, wrap := "", json.RawMessage(body), func(part []byte) []byte { return part }
	for {
		next := func(name string, part json.RawMessage, as func([]byte) []byte) bool {
			outer := wrap
			whole := func(part []byte) []byte { return outer(as(part)) }
			dec := json.NewDecoder(bytes.NewReader(whole(part)))
			dec.DisallowUnknownFields()
			if err := dec.Decode(reflect.New(of).Interface()); err == nil || err.Error() != cause {
				return false
			}
			path, within, wrap = path+name, part, whole
			return true
		}
		var fields map[string]json.RawMessage
		var list []json.RawMessage
		deeper := false
		if json.Unmarshal(within, &fields) == nil {
			for _, name := range slices.Sorted(maps.Keys(fields)) {
				quoted, _ := json.Marshal(name)
				as := func(part []byte) []byte { return slices.Concat([]byte("{"), quoted, []byte(":"), part, []byte("}")) }
				if deeper = next("."+name, fields[name], as); deeper {
					break
				}
			}
		} else if json.Unmarshal(within, &list) == nil {
			for i, part := range list {
				as := func(part []byte) []byte { return slices.Concat([]byte("["), part, []byte("]")) }
				if deeper = next(fmt.Sprintf("[%d]", i), part, as); deeper {
					break
				}
			}
		}
		if !deeper {
			return strings.TrimPrefix(path, ".")
		}
	}
}

// fieldName drops the names of embedded Go structs from a path of fields.
func fieldName(path string) string {
	var names []string
	for n := range strings.SplitSeq(path, ".") {
		if n != "" && (n[0] < 'A' || n[0] > 'Z') {
			names = append(names, n)
		}
	}
	return strings.Join(names, ".")
}

// wanted says what a Go type is in JSON.
func wanted(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return fmt.Sprintf("a whole number from 0 to %d", ^uint64(0)>>(64-t.Bits()))
	case reflect.Int, reflect.Int64:
		return "a whole number"
	case reflect.Slice:
		return "a list"
	}
	return "an object"
}
