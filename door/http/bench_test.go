package http_test

import (
	"io"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkShow is one authenticated and authorised read, without a network.
func BenchmarkShow(b *testing.B) {
	r := newRig(b)
	body := `{"id":1,"script":"x","script_type":"lines"}`
	req := httptest.NewRequest("POST", "/v1/contexts/7/jobs", strings.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+r.token(admin))
	r.door.ServeHTTP(httptest.NewRecorder(), req)
	token := "Bearer " + r.token(reader)
	b.ReportAllocs()
	for b.Loop() {
		get := httptest.NewRequest("GET", "/v1/contexts/7/jobs/10/1", nil)
		get.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		if r.door.ServeHTTP(w, get); w.Code != nethttp.StatusOK {
			text, _ := io.ReadAll(w.Body)
			b.Fatalf("got %d %s", w.Code, text)
		}
	}
}

// BenchmarkSubmit is one authenticated and authorised submit of one job, without a network.
func BenchmarkSubmit(b *testing.B) {
	r := newRig(b)
	token := "Bearer " + r.token(admin)
	b.ReportAllocs()
	for b.Loop() {
		post := httptest.NewRequest("POST", "/v1/contexts/7/jobs", strings.NewReader(`{"script":"x","script_type":"shell"}`))
		post.Header.Set("Authorization", token)
		w := httptest.NewRecorder()
		if r.door.ServeHTTP(w, post); w.Code != nethttp.StatusOK {
			b.Fatalf("got %d %s", w.Code, w.Body)
		}
	}
}
