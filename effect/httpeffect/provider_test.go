package httpeffect_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
	"github.com/ramet-run/ramet/effect/effecttest"
	"github.com/ramet-run/ramet/effect/httpeffect"
	"github.com/ramet-run/ramet/egress"
)

// target is a server that does each command once.
type target struct {
	srv *httptest.Server

	mu      sync.Mutex
	asked   map[string]int
	applied map[string]int
	last    *http.Request
	body    string
	fail    int
	refuse  bool
	size    int
	hang    chan struct{} // nil: nobody hangs
	after   bool
	arrived chan struct{}
	away    bool
	answer  http.HandlerFunc // instead
}

func newTarget(t *testing.T) *target {
	x := &target{asked: map[string]int{}, applied: map[string]int{}}
	x.srv = httptest.NewServer(x)
	t.Cleanup(x.srv.Close)
	return x
}

func (x *target) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	x.mu.Lock()
	if x.away {
		x.mu.Unlock()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
		return
	}
	if r.Header.Get("Idempotency-Key") == "" {
		x.mu.Unlock()
		return
	}
	key := r.Header.Get("Idempotency-Key")
	x.asked[key]++
	x.last, x.body = r, string(body)
	if x.fail > 0 {
		x.fail--
		code := http.StatusServiceUnavailable
		if x.refuse {
			code = http.StatusUnprocessableEntity
		}
		x.mu.Unlock()
		http.Error(w, "not this time", code)
		return
	}
	hang, after, arrived := x.hang, x.after, x.arrived
	if hang != nil && !after {
		x.mu.Unlock()
		arrived <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
			return // nobody waits any more
		}
		x.mu.Lock()
	}
	if x.applied[key] == 0 {
		x.applied[key]++
	}
	size, answer := x.size, x.answer
	x.mu.Unlock()
	if hang != nil && after {
		arrived <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	}
	if answer != nil {
		answer(w, r)
		return
	}
	fmt.Fprintf(w, `{"ref":"r-1","pad":%q}`, strings.Repeat("x", size))
}

func (x *target) Asked(key string) int   { return x.count(x.asked, key) }
func (x *target) Applied(key string) int { return x.count(x.applied, key) }

func (x *target) count(of map[string]int, key string) (n int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for k, c := range of {
		if key == "" || k == key {
			n += c
		}
	}
	return n
}

func (x *target) Fail(n int, refused bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.fail, x.refuse = n, refused
}

func (x *target) Hang(applied bool) (<-chan struct{}, func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	hang := make(chan struct{})
	x.hang, x.after, x.arrived = hang, applied, make(chan struct{}, 1000)
	return x.arrived, sync.OnceFunc(func() {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.hang = nil
		close(hang)
	})
}

func (x *target) Away() func() {
	x.set(func() { x.away = true })
	return func() { x.set(func() { x.away = false }) }
}

func (x *target) set(change func()) {
	x.mu.Lock()
	defer x.mu.Unlock()
	change()
}

func (x *target) Answer(bytes int) { x.set(func() { x.size = bytes }) }

func (x *target) seen() (*http.Request, string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.last, x.body
}

func open(t *testing.T, options map[string]any) effect.Provider {
	t.Helper()
	p, err := httpeffect.Open(effecttest.Definition(t, domain.EffectHTTP, options), effecttest.Host(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	return p
}

func TestProvider(t *testing.T) {
	effecttest.Run(t, effecttest.Config{
		Open: func(t *testing.T) (effect.Provider, effecttest.Target) {
			x := newTarget(t)
			return open(t, map[string]any{"url": x.srv.URL + "/charges", "check": "/health", "headers": map[string]any{"x-key": "${secret:SECRET}"}}), x
		},
		Payload:  json.RawMessage(`{"order":17,"cents":4200}`),
		Features: effecttest.Features{},
	})
}

func call(payload string) effect.Call {
	return effect.Call{Tenant: 7, TenantName: "acme", CommandID: "c-1", Effect: "tested", Payload: json.RawMessage(payload), Attempt: 1,
		Metadata: map[string]string{"trace_id": "4bf92f3577b34da6a3ce929d0e0e4736"}}
}

func TestRequests(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]any
		payload string
		uri     string
		body    string
		header  map[string]string
		refused string
	}{
		"the payload is the body": {payload: `{"n":12345678901234567890}`, uri: "POST /", body: `{"n":12345678901234567890}`,
			header: map[string]string{"Content-Type": "application/json", "Idempotency-Key": "c-1", "X-Tenant-Id": "acme"}},
		"the trace goes along": {payload: `{}`, uri: "POST /", body: `{}`, header: map[string]string{"Traceparent": "*"}},
		"places are filled in": {options: map[string]any{"url": "/orders/{payload.order.id}/pay?by={payload.by}&id={command_id}&at={tenant}", "method": "put"},
			payload: `{"order":{"id":"a/b c"},"by":"x&y=z"}`, uri: "PUT /orders/a%2Fb%20c/pay?by=x%26y%3Dz&id=c-1&at=acme",
			body: `{"order":{"id":"a/b c"},"by":"x&y=z"}`},
		"a path does not go up": {options: map[string]any{"url": "/orders/{payload.id}"}, payload: `{"id":".."}`, refused: "part of a path"},
		"nor by two places":     {options: map[string]any{"url": "/orders/{payload.id}{payload.id}/x"}, payload: `{"id":"."}`, refused: "part of a path"},
		"nor by one and a dot":  {options: map[string]any{"url": "/orders/.{payload.id}?a=b"}, payload: `{"id":"."}`, refused: "part of a path"},
		"nor does it have gaps": {options: map[string]any{"url": "/orders/{payload.id}/x"}, payload: `{"id":""}`, refused: "part of a path"},
		"dots of a query are dots": {options: map[string]any{"url": "/o?a={payload.id}"}, payload: `{"id":"/../"}`, uri: "POST /o?a=%2F..%2F",
			body: `{"id":"/../"}`},
		"what is escaped stays so": {options: map[string]any{"url": "/o/{payload.id}"}, payload: `{"id":"%2e%2e"}`, uri: "POST /o/%252e%252e",
			body: `{"id":"%2e%2e"}`},
		"a place wants a value":   {options: map[string]any{"url": "/orders/{payload.id}"}, payload: `{}`, refused: "has no id"},
		"a place wants one value": {options: map[string]any{"url": "/orders/{payload.id}"}, payload: `{"id":[1]}`, refused: "want a text"},
		"line breaks are escaped": {options: map[string]any{"url": "/o/{payload.id}"}, payload: `{"id":"a\r\nX: y"}`, uri: "POST /o/a%0D%0AX:%20y",
			body: `{"id":"a\r\nX: y"}`},
		"a get has no body":  {options: map[string]any{"method": "get"}, payload: `{"a":1}`, uri: "GET /"},
		"a part is the body": {options: map[string]any{"body": "payload.a"}, payload: `{"a":{"b":1.50}}`, uri: "POST /", body: `{"b":1.50}`},
		"a form": {options: map[string]any{"encoding": "form"}, payload: `{"a":"x y","n":1,"t":true}`, uri: "POST /",
			body: "a=x+y&n=1&t=true", header: map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
		"a form has no objects": {options: map[string]any{"encoding": "form"}, payload: `{"a":{}}`, refused: "field a of a form"},
		"a bearer": {options: map[string]any{"bearer": map[string]any{"secret": "SECRET"}}, payload: `{}`, uri: "POST /", body: `{}`,
			header: map[string]string{"Authorization": "Bearer " + effecttest.Secret}},
		"a name and password": {options: map[string]any{"basic": map[string]any{"user": "me", "password": "pw"}}, payload: `{}`, uri: "POST /",
			body: `{}`, header: map[string]string{"Authorization": "Basic bWU6cHc="}},
		"another idempotency header": {options: map[string]any{"idempotency_header": "x-request-id", "headers": map[string]any{"idempotency-key": "k"}},
			payload: `{}`, uri: "POST /", body: `{}`, header: map[string]string{"X-Request-Id": "c-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			x := newTarget(t)
			options := map[string]any{"url": "/"}
			for k, v := range c.options {
				options[k] = v
			}
			options["url"] = x.srv.URL + options["url"].(string)
			_, err := open(t, options).Do(t.Context(), call(c.payload))
			if c.refused != "" {
				var no *effect.Refused
				if !errors.As(err, &no) || !strings.Contains(err.Error(), c.refused) {
					t.Fatalf("got %v, want a refusal with %q", err, c.refused)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			req, body := x.seen()
			if got := req.Method + " " + req.RequestURI; got != c.uri || body != c.body {
				t.Errorf("got %s %q, want %s %q", got, body, c.uri, c.body)
			}
			for name, want := range c.header {
				if got := req.Header.Get(name); got != want && (want != "*" || got == "") {
					t.Errorf("%s: got %q, want %q", name, got, want)
				}
			}
		})
	}
}

func TestWhatStatusesMean(t *testing.T) {
	for _, c := range []struct {
		code    int
		header  string
		options map[string]any
		want    string // done, again, refused
		after   time.Duration
	}{
		{code: 200, want: "done"}, {code: 204, want: "done"}, {code: 302, want: "refused"}, {code: 400, want: "refused"}, {code: 409, want: "refused"},
		{code: 409, options: map[string]any{"success": []int{409}}, want: "done"},
		{code: 408, want: "again"}, {code: 425, want: "again"}, {code: 429, header: "7", want: "again", after: 7 * time.Second},
		{code: 500, want: "again"}, {code: 501, want: "refused"}, {code: 503, want: "again"},
	} {
		t.Run(fmt.Sprint(c.code, c.options), func(t *testing.T) {
			x := newTarget(t)
			x.set(func() {
				x.answer = func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Retry-After", c.header)
					w.Header().Set("Location", "http://127.0.0.1:1/")
					w.WriteHeader(c.code)
				}
			})
			options := map[string]any{"url": x.srv.URL, "answer": "full"}
			for k, v := range c.options {
				options[k] = v
			}
			answer, err := open(t, options).Do(t.Context(), call(`{}`))
			var no *effect.Refused
			var later *effect.RetryAfter
			got := "again"
			switch {
			case err == nil:
				got = "done"
				if !strings.Contains(string(answer), fmt.Sprintf(`"status":%d`, c.code)) {
					t.Errorf("answer %s", answer)
				}
			case errors.As(err, &no):
				got = "refused"
				if !strings.Contains(string(no.Answer), fmt.Sprintf(`"status":%d`, c.code)) {
					t.Errorf("answer %s", no.Answer)
				}
			case errors.As(err, &later) && later.After != c.after:
				t.Errorf("after %v, want %v", later.After, c.after)
			}
			if got != c.want {
				t.Errorf("got %s (%v), want %s", got, err, c.want)
			}
		})
	}
}

func TestNobodyIsCalledWhoIsNotListed(t *testing.T) {
	secrets, err := effect.NewSecrets(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	x := newTarget(t)
	for _, to := range []string{x.srv.URL, strings.Replace(x.srv.URL, "127.0.0.1", "localhost", 1), "http://169.254.169.254/latest/meta-data",
		"http://[::1]:1", "http://10.0.0.1"} {
		p, err := httpeffect.Open(effecttest.Definition(t, domain.EffectHTTP, map[string]any{"url": to}),
			effect.Host{Secrets: secrets, Dialer: effect.NewDialer(egress.Rules{})})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		_, err = p.Do(ctx, call(`{}`))
		cancel()
		var no *effect.Refused
		if !errors.As(err, &no) || !strings.Contains(err.Error(), "egress") {
			t.Errorf("%s: got %v, want it refused by the egress rules", to, err)
		}
		if err := p.Check(t.Context(), 7); err == nil {
			t.Errorf("%s: check finds nothing wrong", to)
		}
		p.Close()
	}
	if n := x.Asked(""); n != 0 {
		t.Errorf("%d calls arrived", n)
	}
}

func TestATargetThatDoesNotSpeakHTTP(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("220 mail.example.com ESMTP\r\n"))
			c.Close()
		}
	}()
	_, err = open(t, map[string]any{"url": "http://" + l.Addr().String()}).Do(t.Context(), call(`{}`))
	var no *effect.Refused
	if err == nil || errors.As(err, &no) {
		t.Errorf("got %v, want an error after which it is tried again", err)
	}
}

func TestOptions(t *testing.T) {
	for name, c := range map[string]struct {
		options map[string]any
		want    string
	}{
		"no url":                     {map[string]any{}, "url"},
		"another scheme":             {map[string]any{"url": "ftp://x/"}, "want http:// or https://"},
		"a password":                 {map[string]any{"url": "http://a:b@x/"}, "neither password"},
		"a host of the payload":      {map[string]any{"url": "http://{payload.host}/x"}, "does not choose"},
		"an unknown place":           {map[string]any{"url": "http://x/{id}"}, "{payload.name}"},
		"an unknown method":          {map[string]any{"url": "http://x/", "method": "CONNECT"}, "method"},
		"an unknown answer":          {map[string]any{"url": "http://x/", "answer": "head"}, "body or full"},
		"an unknown encoding":        {map[string]any{"url": "http://x/", "encoding": "xml"}, "json or form"},
		"a header of the connection": {map[string]any{"url": "http://x/", "headers": map[string]any{"host": "y"}}, "set already"},
		"a header that is none":      {map[string]any{"url": "http://x/", "headers": map[string]any{"a b": "y"}}, "no name of a header"},
		"two log-ins":                {map[string]any{"url": "http://x/", "bearer": "t", "basic": map[string]any{"user": "u"}}, "one of them"},
		"a proxy with a password":    {map[string]any{"url": "http://x/", "proxy": "http://a:b@p"}, "proxy"},
		"a success that is none":     {map[string]any{"url": "http://x/", "success": []int{500}}, "200 to 499"},
		"a misspelt option":          {map[string]any{"url": "http://x/", "methode": "GET"}, "methode"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := httpeffect.Open(effecttest.Definition(t, domain.EffectHTTP, c.options), effecttest.Host(t))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

func TestTheAnswer(t *testing.T) {
	x := newTarget(t)
	x.set(func() {
		x.answer = func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("X-Internal", "no")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"id":"ch_1"}`)
		}
	})
	for answer, want := range map[string]string{
		"full": `{"status":201,"headers":{"content-type":"application/json"},"body":{"id":"ch_1"}}`,
		"body": `{"id":"ch_1"}`,
		"":     `{"id":"ch_1"}`,
	} {
		got, err := open(t, map[string]any{"url": x.srv.URL, "answer": answer}).Do(t.Context(), call(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(got)); diff != "" {
			t.Errorf("%q: %s", answer, diff)
		}
	}
}

// TestAnAnswerIsAsLongAsItsBody is about bodies full of what HTML escapes.
func TestAnAnswerIsAsLongAsItsBody(t *testing.T) {
	x := newTarget(t)
	body := `"` + strings.Repeat("<", 200<<10) + `"`
	x.set(func() { x.answer = func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, body) } })
	got, err := open(t, map[string]any{"url": x.srv.URL, "answer": "full"}).Do(t.Context(), call(`{}`))
	if err != nil || len(got) > effect.MaxAnswer || !strings.Contains(string(got), body) {
		t.Errorf("got %d bytes, %.100s, %v", len(got), got, err)
	}
}

func TestAnEchoedLogInIsHidden(t *testing.T) {
	host := effecttest.Host(t)
	x := newTarget(t)
	p, err := httpeffect.Open(effecttest.Definition(t, domain.EffectHTTP, map[string]any{"url": x.srv.URL,
		"basic": map[string]any{"user": "me", "password": "${secret:SECRET}"}}), host)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if _, err := p.Do(t.Context(), call(`{}`)); err != nil {
		t.Fatal(err)
	}
	req, _ := x.seen()
	if sent := req.Header.Get("Authorization"); host.Secrets.Redact(sent) != "Basic (hidden)" {
		t.Errorf("got %q", host.Secrets.Redact(sent))
	}
}
