package http

import (
	"bytes"
	"encoding/json"
	"fmt"
	nethttp "net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// FuzzBody feeds bodies of strangers to every operation that takes one: nothing
// panics, and each is refused in words, or taken for what it says: written by a
// client of ours, it is taken for the same.
func FuzzBody(f *testing.F) {
	for _, s := range []string{" ", `{`, `[]`, `{"a":"\ud800"}`, "\u0085{}", `{"jobs":null}`, `{"timeout":1e3}`, `{"retries":-1}`, `{"name":"go"}`,
		`{"admins":[1],"max_running_by_type":{"v":1}}`, "{}", `{"id":1,"script":"x","script_type":"shell"}`, `{"jobs":[{"id":1},{"id":2}]}`,
		`{"id":1,"id":2}`, `{"ID":1}`, `{"id":"\u0061","\u0069d":2}`, `{"env_vars":{"PATH":"1","Path":"2"}}`, `{"id":1}{}`,
		`{"jobs":` + strings.Repeat("[", 300), "{\"\xff\":1}"} {
		f.Add(s)
	}
	var binders []*binder
	for i := range service.Operations {
		if b := newBinder(&service.Operations[i]); b.body {
			binders = append(binders, b)
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		for _, b := range binders {
			r := httptest.NewRequest(nethttp.MethodPost, "/", strings.NewReader(body))
			w := &response{ResponseWriter: httptest.NewRecorder()}
			params := b.op.NewParams()
			if err := b.readBody(w, r, params); err != nil {
				if _, listed := api.FailureOf(err); !listed || err.Error() == "" {
					t.Errorf("%s: got %v, which is not for callers", b.op.Name, err)
				}
				continue
			}
			written, err := json.Marshal(params)
			if err != nil {
				t.Fatalf("%s: %q is taken, and cannot be written: %v", b.op.Name, body, err)
			}
			again := b.op.NewParams()
			if err := b.readBody(w, httptest.NewRequest(nethttp.MethodPost, "/", bytes.NewReader(written)), again); err != nil {
				t.Errorf("%s: %q is taken, and as %s refused: %v", b.op.Name, body, written, err)
			} else if twice, err := json.Marshal(again); err != nil || !bytes.Equal(twice, written) {
				t.Errorf("%s: %q is %s, and again %s, %v", b.op.Name, body, written, twice, err)
			}
		}
	})
}

// FuzzHead holds the parameters before the body of every operation to the same: what
// is taken has each value that the address says, and the context that both address
// and header do.
func FuzzHead(f *testing.F) {
	for _, s := range []string{"", "status=error", "status=error&status=error", "cursor=%zz", "x=1", "caller=4294967296", "limit=007", "limit=-1",
		"context=8", "context=acme", "wait=true", "from=1;to=2", "st%61tus=error"} {
		for i := range service.Operations {
			f.Add(s, "7", "", byte(i))
		}
	}
	f.Add("", "acme", "7", byte(0))
	f.Add("", "7", "8", byte(0))
	for i := range service.Operations {
		f.Add("", "0", "7", byte(i))
	}
	f.Fuzz(func(t *testing.T, query, context, tenant string, op byte) {
		b := newBinder(&service.Operations[int(op)%len(service.Operations)])
		r := httptest.NewRequest(nethttp.MethodGet, "/", nil)
		r.URL.RawQuery = query
		r.SetPathValue("context", context)
		r.Header.Set(TenantHeader, tenant)
		for name := range b.path {
			if name != "context" {
				r.SetPathValue(name, "1")
			}
		}
		params := b.op.NewParams()
		err := b.bindHead(&response{}, r, params, func(string) (domain.TenantID, error) { return 7, nil })
		if err != nil {
			if _, listed := api.FailureOf(err); !listed || err.Error() == "" {
				t.Errorf("%s: got %v, which is not for callers", b.op.Name, err)
			}
			return
		}
		v := reflect.ValueOf(params).Elem()
		says := func(field []int, text string) {
			f := v.FieldByIndex(field)
			n, _ := strconv.ParseInt(text, 10, 64)
			switch got := fmt.Sprint(f.Interface()); {
			case got == text, f.CanInt() && f.Int() == n, isContext(f) && domain.ValidateAlias(text) == nil && got == "7":
			default:
				t.Errorf("%s?%s, context %q, header %q: got %s, want %q", b.op.Name, query, context, tenant, got, text)
			}
		}
		values, err := url.ParseQuery(query)
		if err != nil {
			t.Fatalf("%s?%s is taken, and is no query", b.op.Name, query)
		}
		for name, texts := range values {
			says(b.query[name], texts[0])
		}
		if field, there := b.path["context"]; there {
			says(field, context)
			if tenant != "" && tenant != "0" {
				says(field, tenant)
			}
		}
	})
}
