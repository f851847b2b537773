package http_test

import (
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/service"
)

// wordsOfGo are such as only somebody knows who has written the program.
var wordsOfGo = []string{"Go ", "strconv", "json:", "unmarshal", "struct field", "time: ", `parsing \"`, "yaml: ", "encoding/", "domain.",
	"uint32", "int64"}

// wrongValues are what a field may get in place of what it wants.
var wrongValues = []string{`"x"`, `"-1"`, `"1h2x"`, `"9999-99-99T00:00:00Z"`, `1.5`, `-1`, `1e400`, `99999999999999999999`, `true`, `[]`, `{}`,
	`[{"a":1}]`, `{"a":[1]}`, `[7]`,
	`"name: a\nsteps: x"`, `"name: [1]\nsteps:\n- {name: {a: 1}, retries: x, timeout: 1h2x}"`, `"[7]"`, `"{\"name\": 1, \"steps\": {}}"`}

// TestNoAnswerHasWordsOfGo gives each field of each operation what it does not want, and each
// parameter of its address.
func TestNoAnswerHasWordsOfGo(t *testing.T) {
	watched.Large(t)
	r := newRigWithout(t, func(*service.Parts) {})
	token := "Bearer " + r.token(admin)
	asked := 0
	ask := func(o *api.Operation, path string, query url.Values, body string) {
		asked++
		if len(query) > 0 {
			path += "?" + query.Encode()
		}
		req := httptest.NewRequestWithContext(t.Context(), o.Method, path, strings.NewReader(body))
		req.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		r.door.ServeHTTP(w, req)
		if w.Code < 400 {
			return
		}
		for _, word := range wordsOfGo {
			if strings.Contains(w.Body.String(), word) {
				t.Errorf("%s %s %.200s: %d %s\nhas %q", o.Name, path, body, w.Code, w.Body, word)
				return
			}
		}
	}
	seen := map[reflect.Type]bool{}
	for _, o := range api.Table {
		path, query, body := o.Write(o.Example)
		params := reflect.TypeOf(o.NewParams()).Elem()
		for _, f := range api.FieldsOf(params) {
			for _, text := range []string{"x", "-1", "1.5", "99999999999999999999", "1h2x", ""} {
				switch name := f.Tag.Get("query"); {
				case f.Tag.Get("path") != "":
					ask(o, strings.Replace(o.Path, "{"+f.Tag.Get("path")+"}", url.PathEscape(text), 1), query, "")
				case name != "" && (f.Type.Kind() != reflect.Bool || text != "x") && !o.Waits && len(o.Follows) == 0:
					ask(o, path, url.Values{name: {text}}, "")
				}
			}
		}
		if body == nil {
			continue
		}
		eachChange(t, body, func(text string) { ask(o, path, query, text) })
		eachField(params, seen, func(at []string, kind reflect.Kind) {
			for _, value := range wrongValues {
				if kind == reflect.String && o.Waits && value[0] == '"' {
					continue // it may be right, and then it waits
				}
				text := value
				for _, name := range slices.Backward(at) {
					if name == "[]" {
						text = "[" + text + "]"
						continue
					}
					quoted, err := json.Marshal(name)
					if err != nil {
						t.Fatal(err)
					}
					text = fmt.Sprintf("{%s:%s}", quoted, text)
				}
				ask(o, path, query, text)
			}
		})
	}
	if asked < 5_000 {
		t.Errorf("%d requests were made, want all fields of %d operations", asked, len(api.Table))
	}
}

// eachChange calls do with what a body becomes where one of its values is another, also one within
// a text that is YAML or JSON itself.
func eachChange(t *testing.T, body any, do func(text string)) {
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	var whole any
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	write := func() string {
		text, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var walk func(v any, set func(any), changed func())
	walk = func(v any, set func(any), changed func()) {
		for _, value := range wrongValues {
			set(json.RawMessage(value))
			changed()
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			for name, part := range v {
				walk(part, func(x any) { v[name] = x }, changed)
			}
		case []any:
			for i, part := range v {
				walk(part, func(x any) { v[i] = x }, changed)
			}
		case string:
			var within any
			if !strings.ContainsAny(v, ":{") || yaml.Unmarshal([]byte(v), &within) != nil {
				return
			}
			if _, fields := within.(map[string]any); !fields {
				return
			}
			walk(within, func(x any) { within = x }, func() {
				text, err := json.Marshal(within)
				if err != nil {
					t.Fatal(err)
				}
				set(string(text))
				changed()
			})
			set(v)
		}
	}
	walk(whole, func(x any) { whole = x }, func() { do(write()) })
}

// eachField calls do with the path of each field of the body, and what kind it is. What several have
// within is gone through once.
func eachField(of reflect.Type, seen map[reflect.Type]bool, do func(at []string, kind reflect.Kind)) {
	var walk func(t reflect.Type, at []string)
	walk = func(t reflect.Type, at []string) {
		for t.Kind() == reflect.Pointer {
			t = t.Elem()
		}
		if len(at) > 0 {
			do(at, t.Kind())
		}
		switch t.Kind() {
		case reflect.Slice:
			if t.Elem().Kind() != reflect.Uint8 {
				walk(t.Elem(), append(slices.Clone(at), "[]"))
			}
		case reflect.Map:
			walk(t.Elem(), append(slices.Clone(at), "k"))
		case reflect.Struct:
			if seen[t] {
				return
			}
			seen[t] = true
			for _, f := range api.FieldsOf(t) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if f.Tag.Get("path")+f.Tag.Get("query") == "" && name != "-" && name != "" {
					walk(f.Type, append(slices.Clone(at), name))
				}
			}
		}
	}
	walk(of, nil)
}

// A type that reads itself does not know as what it is read; the answer does.
func TestAWrongValueIsNamedWithItsField(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct{ path, body, want string }{
		{"/v1/contexts/7/jobs", `{"script":7}`, `field \"script\": got a number, want a string`},
		{"/v1/contexts/7/flows", `{"flows":[{"blueprint":"a"},{"after":"tomorrow"}]}`, `field \"flows[1].after\": \"tomorrow\" is no instant: want RFC 3339`},
		{"/v1/contexts/7/blueprints", `{"name":"s","steps":[{"name":"a"},{"name":"b","timeout":"1h2x"}]}`,
			`field \"steps[1].timeout\": \"1h2x\" is no span of time`},
	} {
		if got := r.want(nethttp.StatusBadRequest, admin, "POST", c.path, c.body); !strings.Contains(got, c.want) {
			t.Errorf("%s: got %s, want %s", c.body, got, c.want)
		}
	}
}
