package http_test

import (
	"bytes"
	"mime"
	nethttp "net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/docs"
)

// This file holds all that the door answers in the tests of this package against what the
// description says: the status, the form, and what is in it.

// description is what is served as [http.Description], read once.
var description = sync.OnceValues(func() (map[string]any, error) {
	read, err := jsonschema.UnmarshalJSON(bytes.NewReader(docs.OpenAPI))
	if err != nil {
		return nil, err
	}
	return read.(map[string]any), nil
})

// described is a handler whose answers are looked at.
func described(t testing.TB, door nethttp.Handler) nethttp.Handler {
	t.Helper()
	whole, err := description()
	if err != nil {
		t.Fatal(err)
	}
	schemas := jsonschema.NewCompiler()
	if err := schemas.AddResource("openapi.json", whole); err != nil {
		t.Fatal(err)
	}
	var compiling sync.Mutex
	operations := nethttp.NewServeMux()
	for _, o := range api.Table {
		place := []string{"paths", o.Path, strings.ToLower(o.Method), "responses"}
		operations.HandleFunc(o.Method+" "+o.Path, func(rw nethttp.ResponseWriter, r *nethttp.Request) {
			w := &heard{ResponseWriter: rw, status: nethttp.StatusOK}
			door.ServeHTTP(w, r)
			status := strconv.Itoa(w.status)
			answer, there := at(whole, append(place, status)...).(map[string]any)
			if !there {
				t.Errorf("%s: %s, which is not described: %s", o.Name, status, w.body.String())
				return
			}
			of := place
			if answer["$ref"] != nil {
				of = []string{"components", "responses"}
			}
			form, _, _ := mime.ParseMediaType(w.Header().Get("Content-Type"))
			if w.body.Len() == 0 || form == "text/event-stream" || w.Header().Get("Content-Encoding") != "" {
				return
			}
			compiling.Lock()
			schema, err := schemas.Compile("openapi.json#" + pointer(append(slices.Clone(of), status, "content", form, "schema")))
			compiling.Unlock()
			if err != nil {
				t.Errorf("%s: %s of %s, which is not described: %v", o.Name, status, form, err)
				return
			}
			value, err := jsonschema.UnmarshalJSON(&w.body)
			if err == nil {
				err = schema.Validate(value)
			}
			if err != nil {
				t.Errorf("%s: %s is not as described: %v", o.Name, status, err)
			}
		})
	}
	return nethttp.HandlerFunc(func(w nethttp.ResponseWriter, r *nethttp.Request) {
		if _, pattern := operations.Handler(r); pattern == "" {
			door.ServeHTTP(w, r)
			return
		}
		operations.ServeHTTP(w, r)
	})
}

// heard keeps what is answered.
type heard struct {
	nethttp.ResponseWriter
	status int
	body   bytes.Buffer
}

func (w *heard) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

func (w *heard) Write(b []byte) (int, error) {
	w.body.Write(b)
	return w.ResponseWriter.Write(b)
}

func (w *heard) Unwrap() nethttp.ResponseWriter { return w.ResponseWriter }

// at is what stands at a place of the description.
func at(in any, place ...string) any {
	for _, name := range place {
		fields, _ := in.(map[string]any)
		in = fields[name]
	}
	return in
}

// pointer is a place as JSON Pointer, in an address.
func pointer(place []string) string {
	var b strings.Builder
	for _, name := range place {
		b.WriteString("/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(name)))
	}
	return b.String()
}
