package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client/internal/pulse"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/tracing"
)

const (
	// maxAnswer bounds an answer: a page of jobs whose scripts are large.
	maxAnswer = 256 << 20 // bytes
	// dialTimeout bounds the making of a connection, not the answer: waiting
	// for a job takes as long as the job.
	dialTimeout = 10 * time.Second
	// socketBase is the address of a node that is asked on its socket.
	socketBase = "http://localhost"
)

// Config says which node, and as whom.
type Config struct {
	// URL is the node's address over TCP: http://host:port or https://.
	URL string
	// Socket is the path of the node's unix socket. One of URL and Socket is
	// required.
	Socket string
	// Cookie is the path of the file with the node's cookie, which proves on the
	// socket that the operator asks. Default: "cookie" in the socket's folder.
	Cookie string
	// Token gives the token sent with a request; it is called for each, so it should remember. Default: no token, but the cookie on the socket.
	Token func(ctx context.Context) (string, error)
	// Retry is for how long what may be asked twice is asked again while no node answers,
	// or has no time: see [Once] and [api.Operation.Repeatable]. A node's Retry-After is
	// waited for, unless that would be too late. Default: it is not.
	Retry time.Duration
	// Keyed has each request that creates be sent with a key of its own, where its context has none of [Once]: with Retry
	// an answer that is lost is asked for again, and nothing is made twice. Default: no key.
	Keyed bool
	// TraceParent is the header "traceparent" of W3C Trace Context that requests are sent
	// with: they belong to that trace, and what they create. One of the request's own, of
	// [tracing.In], goes before it. Default: none.
	TraceParent string
	// HTTP makes the requests. Default: a client of its own without a
	// timeout, which ends a request after a quarter of a minute where the node does not
	// answer GET /health either; with Socket it cannot be set.
	HTTP *http.Client
}

// Client talks to one node.
type Client struct {
	base   string // without a slash at the end
	where  string // for people
	prover prover
	http   *http.Client
	retry  time.Duration
	keyed  bool
	trace  string
}

// New prepares a client; it connects to nothing yet.
//
// Errors: [domain.ErrInvalid].
func New(cfg Config) (*Client, error) {
	c := &Client{prover: proverOf(cfg), http: cfg.HTTP, retry: cfg.Retry, keyed: cfg.Keyed, trace: cfg.TraceParent}
	switch {
	case (cfg.URL == "") == (cfg.Socket == ""):
		return nil, domain.Invalidf("client: want either a URL or a socket")
	case cfg.Socket != "" && cfg.HTTP != nil:
		return nil, domain.Invalidf("client: HTTP cannot be set together with Socket")
	case cfg.Socket != "":
		c.base, c.where = socketBase, cfg.Socket
		c.http = socketHTTP(cfg.Socket)
		return c, nil
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, domain.Invalidf("node %q: want an address such as http://localhost:7480", domain.HideURL(cfg.URL))
	}
	c.base = strings.TrimRight(u.String(), "/")
	c.where = c.base
	if c.http == nil {
		t := http.DefaultTransport.(*http.Transport).Clone()
		t.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
		t.DisableCompression = onThisMachine(u.Hostname()) // to compress costs more than it saves
		c.http = watch(c.base, t)
	}
	return c, nil
}

func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// socketHTTP reaches one unix socket, whatever the host.
func socketHTTP(path string) *http.Client {
	d := net.Dialer{Timeout: dialTimeout}
	return watch(socketBase, &http.Transport{
		DialContext:         func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", path) },
		MaxIdleConnsPerHost: 16,
		IdleConnTimeout:     time.Minute,
		DisableCompression:  true,
	})
}

// stay refuses redirects: a token goes to the node it was made for only.
func stay(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

// Close lets go of idle connections. The client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Call does any operation of package api: the methods of [Client] are these, with what
// reads better.
//
// Errors: those that the operation says, as an *[Error]; [domain.ErrUnavailable] where the
// node does not answer, which is [ErrUnanswered], too, where nobody knows whether it was done.
func Call[P, R any](ctx context.Context, c *Client, op api.Op[P, R], params P) (R, error) {
	result, _, err := ask(ctx, c, op, params)
	return result, err
}

// ask is Call, with the headers of the answer.
func ask[P, R any](ctx context.Context, c *Client, op api.Op[P, R], params P) (result R, answer http.Header, err error) {
	if answer, err = c.do(ctx, op.Operation, &params, &result); err != nil {
		result = *new(R)
	}
	return result, answer, err
}

// do does an operation, with pointers to parameters and to a result.
func (c *Client) do(ctx context.Context, o *api.Operation, params, result any) (http.Header, error) {
	path, query, body := o.Write(params)
	key := c.keyOf(ctx, o.Creates())
	w := way{again: o.Repeatable(key != ""), changes: o.Method != http.MethodGet && !o.Right.Reads()}
	return c.call(ctx, w, o.Method, path, query, header(ctx, o, key), body, result)
}

// way is what sending a request may do: whether it may be sent again, and whether it changes something.
type way struct{ again, changes bool }

// reading is the way of what changes nothing.
var reading = way{again: true}

// call is a request with a JSON answer; made again where that is safe. in and out may be nil.
func (c *Client) call(ctx context.Context, w way, method, path string, query url.Values, header http.Header, in, out any) (answer http.Header,
	err error) {
	body, err := encode(in)
	if err != nil {
		return nil, err
	}
	err = c.again(ctx, w.again, func() (err error) {
		answer, err = c.once(ctx, w.changes, method, path, query, header, body, out)
		return err
	})
	return answer, err
}

// once makes a request of call once.
func (c *Client) once(ctx context.Context, changes bool, method, path string, query url.Values, header http.Header, body []byte, out any) (http.Header,
	error) {
	resp, err := c.send(ctx, changes, method, path, query, body, header)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, c.unreachable(ctx, changes, err)
	case len(text) > maxAnswer:
		return nil, domain.Limitf("%s: the answer is longer than %d bytes; ask for fewer at once", c.where, maxAnswer)
	case out == nil:
		return resp.Header, nil
	}
	if err := json.Unmarshal(text, out); err != nil {
		return nil, fmt.Errorf("%s %s: the answer of %s cannot be read, is it a Ramet node of this version?: %w", method, path, c.where, err)
	}
	return resp.Header, nil
}

// encode writes a request's body; HTML's characters stay as they are.
func encode(in any) ([]byte, error) {
	if in == nil {
		return nil, nil
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(in); err != nil {
		return nil, domain.Invalidf("write the request: %v", err)
	}
	return b.Bytes(), nil
}

// send makes a request; what is no success becomes an error and is closed.
func (c *Client) send(ctx context.Context, changes bool, method, path string, query url.Values, body []byte, header http.Header) (*http.Response,
	error) {
	to := c.base + path
	if len(query) > 0 {
		to += "?" + query.Encode()
	}
	resp, err := c.proven(ctx, changes, func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
		if err != nil {
			return nil, domain.Invalidf("%s: %v", to, err)
		}
		req.Header.Set("Accept", "application/json")
		if trace := cmp.Or(tracing.Of(ctx), c.trace); trace != "" {
			req.Header.Set("Traceparent", trace)
		}
		if body != nil {
			req.Header.Set("Content-Type", "application/json")
		}
		for name, values := range header {
			req.Header[name] = values
		}
		return req, nil
	})
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, readProblem(resp, c.where)
	}
	return resp, nil
}

// unreachable says that the node did not answer, and where the request that it was sent changes something, that nobody knows
// whether it did. A context that ended is handed back as such: nothing is wrong with the node.
func (c *Client) unreachable(ctx context.Context, changes bool, err error) error {
	if cause := ctx.Err(); cause != nil {
		return cause
	}
	// The client's own text repeats the method and the URL.
	if wrapped := (*url.Error)(nil); errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	if errors.Is(err, domain.ErrInvalid) || errors.Is(err, domain.ErrForbidden) || errors.Is(err, domain.ErrNotFound) ||
		errors.Is(err, domain.ErrUnavailable) {
		return err // there is no token for it, so it was not sent
	}
	where := c.where
	if lost, ok := errors.AsType[*pulse.Lost](err); ok { // Config.HTTP asks several nodes
		where, err = lost.From, lost.Err
	}
	if !changes || unsent(err) {
		return domain.Unavailablef("no answer from %s (%v): is the node running?", where, err)
	}
	return &unanswered{domain.Unavailablef("no answer from %s (%v): nobody knows whether it was done; look before you do it again", where, err)}
}

// unsent reports whether a request came to nobody: there was no connection. Of an error that is not known it is not.
func unsent(err error) bool {
	if op, ok := errors.AsType[*net.OpError](err); ok {
		return op.Op == "dial" || op.Op == "proxyconnect"
	}
	_, stranger := errors.AsType[*tls.CertificateVerificationError](err)
	_, plain := errors.AsType[tls.RecordHeaderError](err)
	return stranger || plain || errors.Is(err, http.ErrSchemeMismatch)
}
