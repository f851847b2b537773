package httpeffect

import (
	"cmp"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/effect"
)

// Options are what an operator says of an effect of kind http beside what all
// effects have.
type Options struct {
	// URL is http:// or https://. Its path and query may have {payload.a.b},
	// {command_id} and {tenant} in them.
	URL string `yaml:"url"`
	// Method is the request's. Default: POST.
	Method string `yaml:"method"`
	// Headers are sent with each request.
	Headers map[string]effect.Text `yaml:"headers"`
	// Body is payload (the default), none, or a part of the payload as
	// payload.a.b.
	Body string `yaml:"body"`
	// Encoding of the body is json (the default), or form for a flat object.
	Encoding string `yaml:"encoding"`
	// Bearer is a token for the header Authorization; Basic a name and password.
	Bearer effect.Text `yaml:"bearer"`
	Basic  *Basic      `yaml:"basic"`
	TLS    effect.TLS  `yaml:"tls"`
	// IdempotencyHeader has the command's id. Default: Idempotency-Key.
	IdempotencyHeader string `yaml:"idempotency_header"`
	// Success are statuses that mean that it was done, beside 200 to 299: 409
	// where the target answers so to a command that it has had.
	Success []int `yaml:"success"`
	// Answer is what a saga gets of a request that succeeded: body (the default),
	// or full, which has the status and some headers too.
	Answer string `yaml:"answer"`
	// Check is a path that Check asks for by GET. Default: it only connects.
	Check string `yaml:"check"`
	// Proxy is the URL of a proxy. Default: none is used, whatever the
	// environment says.
	Proxy string `yaml:"proxy"`
}

// Basic is a name and password.
type Basic struct {
	User     string      `yaml:"user"`
	Password effect.Text `yaml:"password"`
}

const (
	bodyPayload  = "payload"
	bodyNone     = "none"
	encodingJSON = "json"
	encodingForm = "form"
	answerBody   = "body"
	answerFull   = "full"
)

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// fixed are headers that are set already, or are the connection's.
var fixed = []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Upgrade", "Trailer", "Te", "Traceparent", "X-Tenant-Id"}

// fill sets defaults and looks whether all is right; else it names the field.
func (o *Options) fill() (field string, err error) {
	o.Method = strings.ToUpper(cmp.Or(o.Method, http.MethodPost))
	o.Encoding, o.Answer = cmp.Or(o.Encoding, encodingJSON), cmp.Or(o.Answer, answerBody)
	o.IdempotencyHeader = textproto.CanonicalMIMEHeaderKey(cmp.Or(o.IdempotencyHeader, "Idempotency-Key"))
	if o.Body == "" {
		o.Body = bodyPayload
		if o.Method == http.MethodGet || o.Method == http.MethodHead {
			o.Body = bodyNone
		}
	}
	switch {
	case !slices.Contains(methods, o.Method):
		return "method", domain.Invalidf("is %q: want one of %s", o.Method, strings.Join(methods, ", "))
	case o.Encoding != encodingJSON && o.Encoding != encodingForm:
		return "encoding", domain.Invalidf("is %q: want json or form", o.Encoding)
	case o.Answer != answerBody && o.Answer != answerFull:
		return "answer", domain.Invalidf("is %q: want body or full", o.Answer)
	case o.Body != bodyNone && o.Body != bodyPayload && !isPath(o.Body):
		return "body", domain.Invalidf("is %q: want payload, none, or a part of the payload as payload.order.lines", o.Body)
	case !o.Bearer.IsZero() && o.Basic != nil:
		return "bearer", domain.Invalidf("and basic: want one of them")
	case !httpguts.ValidHeaderFieldName(o.IdempotencyHeader):
		return "idempotency_header", domain.Invalidf("is %q: that is no name of a header", o.IdempotencyHeader)
	case o.Check != "" && !strings.HasPrefix(o.Check, "/"):
		return "check", domain.Invalidf("is %q: want a path as /health", o.Check)
	}
	for _, code := range o.Success {
		if code < 200 || code > 499 {
			return "success", domain.Invalidf("has %d: want statuses from 200 to 499", code)
		}
	}
	if u, err := url.Parse(o.Proxy); o.Proxy != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil) {
		return "proxy", domain.Invalidf("want http:// or https:// with a host, and no password")
	}
	return o.fillHeaders()
}

func (o *Options) fillHeaders() (field string, err error) {
	all := make(map[string]effect.Text, len(o.Headers))
	for name, text := range o.Headers {
		key := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return "headers", domain.Invalidf("%q: that is no name of a header", name)
		case slices.Contains(fixed, key) || key == o.IdempotencyHeader:
			return "headers", domain.Invalidf("%q is set already", name)
		case key == "Authorization" && (!o.Bearer.IsZero() || o.Basic != nil):
			return "headers", domain.Invalidf("Authorization is set by bearer or basic")
		}
		all[key] = text
	}
	o.Headers = all
	return "", nil
}
