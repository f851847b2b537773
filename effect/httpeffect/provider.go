package httpeffect

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// Provider makes the requests of one definition.
type Provider struct {
	options Options
	url     *template
	lent    effect.Host
	client  *http.Client
	closed  atomic.Bool
}

var _ effect.Provider = (*Provider)(nil)

// Open makes the provider of a definition. It connects to nothing.
//
// Errors: [domain.ErrInvalid] naming the option.
func Open(def effect.Definition, lent effect.Host) (effect.Provider, error) {
	p := &Provider{lent: lent}
	if err := def.Decode(&p.options); err != nil {
		return nil, err
	}
	if field, err := p.options.fill(); err != nil {
		return nil, def.Errorf(field, "%v", err)
	}
	var err error
	if p.url, err = parseTemplate(p.options.URL); err != nil {
		return nil, def.Errorf("url", "%v", err)
	}
	tls, err := p.options.TLS.Config(p.url.host)
	if err != nil {
		return nil, def.Errorf("tls", "%v", err)
	}
	transport := &http.Transport{
		DialContext: lent.Dialer.DialContext, TLSClientConfig: tls, ForceAttemptHTTP2: true,
		MaxIdleConns: def.MaxInFlight, MaxIdleConnsPerHost: def.MaxInFlight, IdleConnTimeout: 90 * time.Second,
		TLSHandshakeTimeout: 10 * time.Second, MaxResponseHeaderBytes: 64 << 10, DisableCompression: false,
	}
	if p.options.Proxy != "" {
		proxy, err := url.Parse(p.options.Proxy)
		if err != nil {
			return nil, def.Errorf("proxy", "%v", err)
		}
		transport.Proxy = http.ProxyURL(proxy)
	}
	// A redirect may lead anywhere, and would repeat or drop the body.
	p.client = &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return p, nil
}

// Do makes one request. The answer is the response's body, or all of it:
// {"status": 201, "headers": {…}, "body": …}, as that of a refusal always is.
func (p *Provider) Do(ctx context.Context, call effect.Call) (json.RawMessage, error) {
	if p.closed.Load() {
		return nil, domain.Unavailablef("http: the provider is closed")
	}
	req, err := p.request(ctx, call)
	if err != nil {
		return nil, err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return nil, p.unreached(ctx, err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, effect.MaxAnswer+1))
	if err != nil {
		return nil, p.unreached(ctx, err)
	}
	return p.verdict(resp, text)
}

// request makes the request of a call.
func (p *Provider) request(ctx context.Context, call effect.Call) (*http.Request, error) {
	payload, err := decode(call.Payload)
	if err != nil {
		return nil, err
	}
	to, err := p.url.fill(call, payload)
	if err != nil {
		return nil, err
	}
	body, kind, err := p.body(call.Payload, payload)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, p.options.Method, to, bytes.NewReader(body))
	if err != nil {
		return nil, effect.Refusedf("http: the address cannot be made: %s", p.hide(err.Error()))
	}
	if kind == "" {
		req.Body, req.ContentLength, req.GetBody = http.NoBody, 0, nil
	} else {
		req.Header.Set("Content-Type", kind)
	}
	req.Header.Set("User-Agent", "ramet")
	req.Header.Set("Accept", "application/json, */*;q=0.5")
	req.Header.Set(p.options.IdempotencyHeader, call.CommandID)
	if call.TenantName != "" {
		req.Header.Set("X-Tenant-Id", call.TenantName)
	}
	if trace := call.TraceParent(); trace != "" {
		req.Header.Set("Traceparent", trace)
	}
	return req, p.headers(ctx, req.Header, req)
}

// headers sets those of the operator, with their secrets.
func (p *Provider) headers(ctx context.Context, h http.Header, req *http.Request) error {
	for name, text := range p.options.Headers {
		v, err := text.Read(ctx, p.lent.Secrets)
		if err != nil {
			return err
		}
		if !httpguts.ValidHeaderFieldValue(v) {
			return fmt.Errorf("http: header %s has characters that no header can have: look at its secrets", name)
		}
		h.Set(name, v)
	}
	switch {
	case !p.options.Bearer.IsZero():
		v, err := p.options.Bearer.Read(ctx, p.lent.Secrets)
		if err != nil {
			return err
		}
		if !httpguts.ValidHeaderFieldValue(v) {
			return errors.New("http: bearer has characters that no header can have")
		}
		h.Set("Authorization", "Bearer "+v)
	case p.options.Basic != nil:
		v, err := p.options.Basic.Password.Read(ctx, p.lent.Secrets)
		if err != nil {
			return err
		}
		req.SetBasicAuth(p.options.Basic.User, v)
		p.lent.Secrets.Hide(strings.TrimPrefix(req.Header.Get("Authorization"), "Basic ")) // which says it all, to targets that echo
	}
	return nil
}

// body is what is sent, with its type; "": nothing is.
func (p *Provider) body(raw json.RawMessage, payload any) (body []byte, kind string, err error) {
	if p.options.Body == bodyNone {
		return nil, "", nil
	}
	if p.options.Body != bodyPayload {
		v, ok := pick(payload, p.options.Body)
		if !ok {
			return nil, "", effect.Refusedf("http: the payload has no %s", strings.TrimPrefix(p.options.Body, "payload."))
		}
		if raw, err = json.Marshal(v); err != nil {
			return nil, "", effect.Refusedf("http: %s cannot be sent: %v", p.options.Body, err)
		}
		payload = v
	}
	if p.options.Encoding == encodingJSON {
		if len(raw) == 0 {
			raw = json.RawMessage("null")
		}
		return raw, "application/json", nil
	}
	m, ok := payload.(map[string]any)
	if !ok {
		return nil, "", effect.Refusedf("http: a form wants an object with names and values")
	}
	form := url.Values{}
	for name, v := range m {
		text, ok := scalar(v)
		if !ok {
			return nil, "", effect.Refusedf("http: field %s of a form: want a text, a number or a boolean", domain.PlainText(name, 64))
		}
		form.Set(name, text)
	}
	return []byte(form.Encode()), "application/x-www-form-urlencoded", nil
}

// answer is what a saga gets.
type answer struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers,omitzero"`
	Body    json.RawMessage   `json:"body,omitzero"`
}

// told are the headers that go into an answer.
var told = []string{"Content-Type", "Location", "Etag", "Retry-After", "X-Request-Id"}

// verdict says what a response means.
func (p *Provider) verdict(resp *http.Response, text []byte) (json.RawMessage, error) {
	a := answer{Status: resp.StatusCode, Headers: map[string]string{}}
	for _, name := range told {
		if v := resp.Header.Get(name); v != "" {
			a.Headers[strings.ToLower(name)] = domain.PlainText(v, 250)
		}
	}
	if len(text) > 0 {
		whole := max(resp.ContentLength, 0)
		if len(text) > effect.MaxAnswer {
			whole, text = max(whole, int64(len(text))), text[:effect.MaxAnswer]
		}
		a.Body = effect.Body(text, whole)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false) // it would make a body six times as long
	if err := enc.Encode(a); err != nil {
		return nil, fmt.Errorf("http: the answer cannot be kept: %w", err)
	}
	full := bytes.TrimSuffix(out.Bytes(), []byte("\n"))
	code := resp.StatusCode
	cause := fmt.Sprintf("http: %s answers %s", p.url.origin, strings.TrimSpace(strconv.Itoa(code)+" "+http.StatusText(code)))
	switch {
	case (code/100 == 2 || slices.Contains(p.options.Success, code)) && p.options.Answer == answerBody:
		return a.Body, nil
	case code/100 == 2 || slices.Contains(p.options.Success, code):
		return full, nil
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code/100 == 5 && code != http.StatusNotImplemented:
		return nil, &effect.RetryAfter{Err: errors.New(cause), After: retryAfter(resp.Header.Get("Retry-After"), time.Now())}
	case code/100 == 3:
		cause += ": redirects are not followed, set the address that is right"
	}
	return nil, &effect.Refused{Cause: cause, Answer: full}
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(text string, now time.Time) time.Duration {
	if n, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// unreached is an error of the way there or back, without the address, which
// may have been filled in with what is nobody's business.
func (p *Provider) unreached(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var on *url.Error
	if errors.As(err, &on) {
		err = on.Err
	}
	var closed *effect.Refused // by the egress rules
	if errors.As(err, &closed) {
		return closed
	}
	var slow net.Error
	if errors.As(err, &slow) && slow.Timeout() {
		return fmt.Errorf("http: %s: %w", p.url.origin, context.DeadlineExceeded)
	}
	return fmt.Errorf("http: %s: %s", p.url.origin, p.hide(err.Error()))
}

func (p *Provider) hide(text string) string {
	return domain.PlainText(p.lent.Secrets.Redact(text), 500)
}

// Check asks for the path that the operator named, or connects.
func (p *Provider) Check(ctx context.Context, _ domain.TenantID) error {
	u, err := url.Parse(p.url.origin)
	if err != nil {
		return err
	}
	if p.options.Check == "" {
		port := u.Port()
		if port == "" {
			port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
		}
		conn, err := p.lent.Dialer.DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
		if err != nil {
			return p.unreached(ctx, err)
		}
		return conn.Close()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url.origin+p.options.Check, http.NoBody)
	if err != nil {
		return err
	}
	if err := p.headers(ctx, req.Header, req); err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return p.unreached(ctx, err)
	}
	resp.Body.Close()
	if resp.StatusCode >= 400 {
		return domain.Unavailablef("http: %s%s answers %s", p.url.origin, p.options.Check, resp.Status)
	}
	return nil
}

// Target is scheme://host:port.
func (p *Provider) Target() string { return p.url.origin }

// Close ends idle connections.
func (p *Provider) Close() error {
	p.closed.Store(true)
	p.client.CloseIdleConnections()
	return nil
}
