package http_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	nethttp "net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/service"
	"github.com/ramet-run/ramet/service/servicetest"
)

func TestALifeOverHTTP(t *testing.T) {
	r := newRig(t)
	body := r.want(200, admin, "POST", "/v1/contexts/7/jobs", `{"jobs":[
		{"id":1,"script":"say hello\nsum=3","script_type":"lines","env_vars":{"KEY":"secret"}},
		{"id":2,"script":"fail","script_type":"lines","depends":[1]},
		{"id":3,"script":"x","script_type":"?"}]}`)
	var done api.JobSubmitted
	if err := json.Unmarshal([]byte(body), &done); err != nil || done.Durability != "memory" || done.Jobs[0].Key != "job:10:1" ||
		done.Jobs[2].Error.Code != "invalid" {
		t.Fatalf("got %s, %v", body, err)
	}
	r.wait(2)
	for path, want := range map[string]string{
		"/v1/contexts/7/jobs/10/1":                      `"sum":"3"`,
		"/v1/contexts/7/jobs/10/2":                      `"reason":"script_failed"`,
		"/v1/contexts/7/jobs/10/1/logs?from=0&limit=5":  `"line":"hello"`,
		"/v1/contexts/7/jobs/10/1/wait?timeout_ms=1000": `"status":"finished"`,
		"/v1/contexts/7/jobs/10/1/explain":              `"standing":"ended"`,
		"/v1/contexts/7/jobs?status=error&limit=10":     `"job:10:1`,
		"/v1/contexts/7":                                `"admins":[10]`,
		"/v1/contexts":                                  `"id":7`,
		"/v1/runners?context=7":                         `"runners":[`,
		"/v1/actors/30":                                 `"pubkey":"`,
		"/v1/info":                                      `"name":"n1"`,
	} {
		got := r.want(200, reader, "GET", path, "")
		if strings.Contains(path, "status=error") {
			want = `"id":2`
		}
		if !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("%s: got %s, want %s", path, got, want)
		}
	}
	r.want(200, admin, "POST", "/v1/contexts/7/jobs/10/2/retry", "")
	r.want(200, admin, "POST", "/v1/contexts/7/jobs", `{"id":4,"script":"hang","script_type":"lines"}`)
	r.want(200, admin, "POST", "/v1/contexts/7/jobs/10/4/cancel", "{}")
	if j := r.wait(4); j.Reason != domain.ReasonCancelled {
		t.Errorf("got %+v", j)
	}
	// Again is no error: the answer to the first may have been lost.
	r.want(200, admin, "POST", "/v1/contexts/7/jobs/10/4/cancel", "")
	r.want(200, admin, "POST", "/v1/contexts/7/prerequisites/meet", `{"name":"coffee"}`)
	r.want(200, admin, "POST", "/v1/contexts/7/audit", "")
}

func TestWhatComesInIsStrict(t *testing.T) {
	r := newRig(t)
	const jobs = "/v1/contexts/7/jobs"
	deep := `{"env_vars":` + strings.Repeat(`{"a":`, http.MaxDepth) + "1" + strings.Repeat("}", http.MaxDepth+1)
	for _, c := range []struct {
		method, path, body, want string
		status                   int
	}{
		{"POST", jobs, `{"script":"x","script_type":"lines","retires":3}`, `unknown field \"retires\"`, 400},
		{"POST", jobs, `{"jobs":[{"script":"x","script_type":"lines","colour":"red"}]}`, `unknown field \"colour\"`, 400},
		{"POST", jobs, `{"script":"x","script_type":"lines","retries":300}`, `field \"retries\": got a number 300, want a whole number from 0 to 255`, 400},
		{"POST", jobs, `{"script":7}`, `field \"script\": got a number, want a string`, 400},
		{"POST", jobs, `{"script":"x"`, "cut off", 400},
		{"POST", jobs, `{"script":"x"} {}`, "more behind", 400},
		{"POST", jobs, `{'script'}`, "no JSON at byte", 400},
		{"POST", jobs, `[]`, "no JSON object", 400},
		{"POST", jobs, ``, "body is empty", 400},
		{"POST", jobs, "{\"script\":\"\xff\"}", "not UTF-8", 400},
		{"POST", jobs, deep, "nested", 400},
		{"POST", jobs, `{"script":"` + strings.Repeat("x", http.MaxBody) + `"}`, "more than", 413},
		{"POST", jobs, `{"script":"x","script_type":"lines","script":"y"}`, `line 1: \"script\" stands twice`, 400},
		{"POST", jobs, `{"script":"x","script_type":"lines","env_vars":{"A":"1","\u0041":"2"}}`, `\"A\" stands twice`, 400},
		{"POST", jobs, `{"Script":"x","script_type":"lines"}`, `\"Script\" is written \"script\"`, 400},
		{"POST", jobs + "/10/1/cancel", `{"force":true}`, `unknown field \"force\"`, 400},
		{"GET", jobs + "?stauts=error", "", `\"stauts\" is not known to job.list`, 400},
		{"GET", jobs + "?status=error&status=x", "", "2 times", 400},
		{"GET", jobs + "?limit=many", "", `limit \"many\": want a number`, 400},
		{"GET", "/v1/contexts/X/jobs", "", `context \"X\"`, 400},
		{"GET", "/v1/contexts/07/jobs", "", `context \"07\"`, 400},
		{"GET", "/v1/contexts/4294967303/jobs", "", "want a context's number, or its alias", 400},
		{"GET", jobs + "/10/99", "", "does not exist", 404},
		{"GET", "/v2/jobs", "", "no path", 404},
		{"PUT", jobs, "{}", "use GET, HEAD, POST", 405},
	} {
		got := r.want(c.status, admin, c.method, c.path, c.body)
		if !strings.Contains(got, c.want) {
			t.Errorf("%s %s %.60s: got %s, want %s", c.method, c.path, c.body, got, c.want)
		}
	}
}

func TestTokensAtTheDoor(t *testing.T) {
	r := newRig(t)
	got := r.want(401, 0, "GET", "/v1/info", "")
	if !strings.Contains(got, `"code":"unauthenticated"`) {
		t.Errorf("got %s", got)
	}
	resp := r.request(0, "GET", "/v1/info", "")
	if h := resp.Header.Get("WWW-Authenticate"); h != `Bearer realm="n1"` {
		t.Errorf("got %q", h)
	}
	other, err := r.keys[admin].Token("n2", 3600e9)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{"Bearer x", "Bearer", "Basic YTpi", "Bearer " + other, r.token(admin)} {
		r.want(401, 0, "GET", "/v1/info", "", "Authorization", header)
	}
	if !strings.Contains(r.log.String(), "refused actor=0 verb=authenticate") {
		t.Error("refused tokens are not in the audit log")
	}
	// The body of somebody unknown is not even looked at.
	if got := r.want(401, 0, "POST", "/v1/contexts/7/jobs", "{"); strings.Contains(got, "JSON") {
		t.Errorf("got %s", got)
	}
	r.want(200, 0, "GET", "/v1/info", "", "Authorization", "bearer  "+r.token(admin))
	r.want(403, stranger, "GET", "/v1/contexts/7/jobs", "")
	r.want(403, stranger, "GET", "/v1/contexts/8/jobs", "")
	r.want(403, stranger, "POST", "/v1/actors", `{"pubkey":"x"}`)
}

func TestTheNodesOwnPaths(t *testing.T) {
	ready := true
	numbers := nethttp.HandlerFunc(func(w nethttp.ResponseWriter, _ *nethttp.Request) { io.WriteString(w, "ramet_jobs 1\n") })
	file := filepath.Join(t.TempDir(), "scrape")
	secret := "0123456789abcdefghij"
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(secret + "\n")
	r := newRigOf(t, func(p *service.Parts) {
		before := p.Info
		p.Info = func() api.Info {
			i := before()
			i.Ready = ready
			return i
		}
	}, func(c *http.Config) { c.Metrics, c.MetricsToken = numbers, file })
	r.want(200, 0, "GET", "/health", "")
	if got := r.want(200, 0, "GET", "/ready", ""); got != `{"status":"ready"}`+"\n" {
		t.Errorf("got %s", got)
	}
	// Whoever has no token learns whom one would have to be for, and no more.
	if got := r.want(200, 0, "GET", "/info", ""); !strings.Contains(got, `"name":"n1"`) || strings.Contains(got, "memory") ||
		strings.Contains(got, `"version":"test"`) {
		t.Errorf("got %s", got)
	}
	r.want(401, 0, "GET", "/metrics", "")
	for _, who := range []domain.ActorID{stranger, reader, admin, servicetest.Guest} {
		r.want(403, who, "GET", "/metrics", "")
	}
	if got := r.want(200, domain.Operator, "GET", "/metrics", ""); got != "ramet_jobs 1\n" {
		t.Errorf("got %q", got)
	}
	bearer := []string{"Authorization", "Bearer " + secret}
	r.want(200, 0, "GET", "/metrics", "", bearer...)
	r.want(401, 0, "GET", "/v1/nodes", "", bearer...) // it is for the metrics alone
	write("another one of the same length")
	r.want(401, 0, "GET", "/metrics", "", bearer...)
	write("")
	r.want(401, 0, "GET", "/metrics", "", "Authorization", "Bearer ")
	ready = false
	resp := r.request(0, "GET", "/ready", "")
	if text, _ := io.ReadAll(resp.Body); resp.StatusCode != 503 || string(text) != `{"status":"draining"}`+"\n" {
		t.Errorf("got %d %s", resp.StatusCode, text)
	}
	if err := http.CheckMetricsToken(file); !errors.Is(err, domain.ErrInvalid) {
		t.Errorf("an empty file: got %v", err)
	}
}

// broken is an API part that panics, or fails in a way nobody foresaw.
type broken struct{ service.Directory }

func (broken) Actor(_ context.Context, id domain.ActorID) (domain.Actor, error) {
	if id == 66 {
		panic("secret inside")
	}
	return domain.Actor{}, io.ErrUnexpectedEOF
}

func TestPanicsAndUnforeseenErrorsStayInside(t *testing.T) {
	r := newRig(t)
	log := &testwait.Log{}
	logger := slog.New(slog.NewTextHandler(log, nil))
	d := http.Handler(service.New(service.Parts{Directory: broken{}, Access: identity.NewAccess(r.registry, nil), Logger: logger}),
		http.Config{Node: "n1", Tokens: r.tokens, Logger: logger})
	for path, want := range map[string]string{"/v1/actors/66": "secret inside", "/v1/actors/65": "unexpected EOF"} {
		w := httptest.NewRecorder()
		req := httptest.NewRequest("GET", path, nil)
		req.Header.Set("Authorization", "Bearer "+r.token(domain.Operator))
		d.ServeHTTP(w, req)
		id := w.Header().Get("X-Request-Id")
		said := strings.ReplaceAll(w.Body.String(), id, "") // a random one may have EOF in it
		if w.Code != 500 || strings.Contains(said, "secret") || strings.Contains(said, "EOF") ||
			strings.Contains(said, "goroutine") || said == w.Body.String() {
			t.Errorf("%s: got %d %s", path, w.Code, w.Body)
		}
		if !strings.Contains(log.String(), id) || !strings.Contains(log.String(), want) {
			t.Errorf("%s: log: %s", path, log)
		}
	}
}

func TestEachRequestIsObserved(t *testing.T) {
	var mu sync.Mutex
	var got []string
	r := newRig(t, func(c *http.Config) {
		c.Answered = func(operation string, status int, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprint(operation, " ", status, " ", took > 0))
		}
	})
	r.want(200, domain.Operator, "GET", "/v1/info", "")
	r.want(401, 0, "GET", "/v1/info", "")
	r.want(404, domain.Operator, "GET", "/v1/nothing", "")
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"node.info 200 true", "node.info 401 true", " 404 true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
