package http_test

import (
	"encoding/json"
	nethttp "net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/service/servicetest"
)

// deliver sends to a webhook what has a token's signature, and returns the answer.
func (r *rig) deliver(path, token, body string) *httptest.ResponseRecorder {
	r.Helper()
	q := httptest.NewRequest(nethttp.MethodPost, path, strings.NewReader(body))
	q.Header.Set("X-Gitlab-Token", token)
	w := httptest.NewRecorder()
	r.door.ServeHTTP(w, q)
	return w
}

func TestDeliveriesToWebhooks(t *testing.T) {
	const token = "0123456789abcdef"
	r := newRig(t)
	if _, _, err := r.registry.CreateTenant(t.Context(), domain.Tenant{ID: 9, Alias: "acme", Admins: []domain.ActorID{servicetest.Admin}}); err != nil {
		t.Fatal(err)
	}
	for _, context := range []string{"7", "acme"} {
		r.want(200, admin, "POST", "/v1/contexts/"+context+"/blueprints",
			`{"text":"{\"name\":\"deploy\",\"steps\":[{\"name\":\"a\",\"script_type\":\"lines\",\"script\":\"x\"}]}"}`)
		r.want(200, admin, "POST", "/v1/contexts/"+context+"/webhooks", `{"name":"deploy","blueprint":"deploy","scheme":"token","secret":"`+token+`"}`)
	}
	if w := r.deliver("/v1/hooks/acme/deploy", token, "{}"); w.Code != 202 {
		t.Errorf("by the alias of the context: got %d %s", w.Code, w.Body)
	}
	unknown := r.deliver("/v1/hooks/7/nothing", token, "{}")
	for path, key := range map[string]string{"/v1/hooks/7/deploy": "0123456789abcdeF", "/v1/hooks/8/deploy": token, "/v1/hooks/acme/deploy": "0123456789abcdeF",
		"/v1/hooks/acme/nothing": token, "/v1/hooks/nobody/deploy": token, "/v1/hooks/%20/deploy": token, "/v1/hooks/0x7/deploy": token,
		"/v1/hooks/99999999999999/deploy": token, "/v1/hooks/7/%00": token} {
		w := r.deliver(path, key, "{}")
		if got, want := problem(t, w), problem(t, unknown); w.Code != 401 || got.Detail != want.Detail || got.Code != want.Code {
			t.Errorf("%s: got %d %+v, want %+v", path, w.Code, got, want)
		}
	}
	for n, want := range map[int]int{domain.MaxWebhookBody: 400, domain.MaxWebhookBody + 1: 413, 2 << 20: 413} {
		body := strings.Repeat("x", n-1) + "\xff" // what comes through is looked at
		r.want(200, admin, "POST", "/v1/contexts/7/webhooks/deploy", `{"blueprint":"deploy","when":"body == id"}`)
		if w := r.deliver("/v1/hooks/7/deploy", token, body); w.Code != want {
			t.Errorf("%d bytes: got %d %s, want %d", n, w.Code, w.Body, want)
		}
	}
	r.want(200, admin, "POST", "/v1/contexts/7/webhooks/deploy", `{"blueprint":"deploy","paused":true}`)
	if w := r.deliver("/v1/hooks/7/deploy", token, "{}"); w.Code != 503 || w.Header().Get("Retry-After") == "" {
		t.Errorf("paused: got %d %s", w.Code, w.Body)
	}
	r.want(200, admin, "POST", "/v1/contexts/7/webhooks/deploy", `{"blueprint":"deploy","per_minute":1}`)
	var seen [2]int
	for range 2 {
		w := r.deliver("/v1/hooks/7/deploy", token, "{}")
		if w.Code == 429 && w.Header().Get("Retry-After") != "1" {
			seen[1]++
		} else if w.Code < 300 {
			seen[0]++
		}
	}
	if seen != [2]int{1, 1} {
		t.Errorf("of two at once with a rate of one a minute %v were let in and refused", seen)
	}
	if text := r.log.String(); strings.Contains(text, token) {
		t.Errorf("the log has the secret: %s", text)
	}
}

// problem is a refusal as it is told.
func problem(t *testing.T, w *httptest.ResponseRecorder) (p api.Problem) {
	t.Helper()
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return p
}
