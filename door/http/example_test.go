package http

import (
	"bytes"
	"encoding/json"
	nethttp "net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service"
)

// TestExamplesAreReadAsTheyAreWritten has the example of every operation written as
// clients write it, and read as the door reads it.
func TestExamplesAreReadAsTheyAreWritten(t *testing.T) {
	for i := range service.Operations {
		o := &service.Operations[i]
		t.Run(o.Name, func(t *testing.T) {
			path, query, fields := o.Write(o.Example)
			var body []byte
			if fields != nil {
				var err error
				if body, err = json.Marshal(fields); err != nil {
					t.Fatal(err)
				}
			}
			r := httptest.NewRequest(o.Method, path+"?"+query.Encode(), bytes.NewReader(body))
			b, got := newBinder(o), any(nil)
			mux := nethttp.NewServeMux()
			mux.HandleFunc(o.Method+" "+o.Path, func(w nethttp.ResponseWriter, r *nethttp.Request) {
				params := o.NewParams()
				err := b.bindHead(&response{}, r, params, func(alias string) (domain.TenantID, error) { return 0, domain.NotFoundf("alias %q", alias) })
				if err == nil {
					err = b.readBody(&response{ResponseWriter: w}, r, params)
				}
				if err != nil {
					t.Error(err)
				}
				got = params
			})
			mux.ServeHTTP(httptest.NewRecorder(), r)
			if diff := cmp.Diff(o.Example, got); diff != "" {
				t.Errorf("%s %s %s (-written +read):\n%s", o.Method, r.URL, body, diff)
			}
		})
	}
}
