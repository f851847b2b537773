package client_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/tracing"
)

func TestARequestBelongsToTheTraceOfItsContext(t *testing.T) {
	const process, own = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	var got []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Traceparent"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{}`))
	}))
	defer s.Close()
	c, err := client.New(client.Config{URL: s.URL, TraceParent: process})
	if err != nil {
		t.Fatal(err)
	}
	for _, ctx := range []string{"", own} {
		if _, err := c.Info(tracing.In(t.Context(), ctx)); err != nil {
			t.Fatal(err)
		}
	}
	if len(got) != 2 || got[0] != process || got[1] != own {
		t.Errorf("got %q, want that of the process, then that of the context", got)
	}
}
