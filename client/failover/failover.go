// Package failover has a client ask another node of a board when one does not answer.
//
//	cfg, err := failover.Config(
//		failover.Node{URL: "https://a.example:7480", Token: forA},
//		failover.Node{URL: "https://b.example:7480", Token: forB})
//	...
//	c, err := client.New(cfg)
//
// All requests go to one node. Where that gives no answer, breaks one off, says that it has no time (502, 503, 504), or
// does not answer before the deadline of a request's context, those that follow go to the next in turn. A node that takes
// requests and does nothing any more is found out while one waits: it does not answer GET /health, and the request ends. It is sent
// again by the client, and by its rules: what may be done twice, also with a key of
// [client.Once], which all nodes of a board know. What may not ends with
// [domain.ErrUnavailable], and nobody knows whether it was done.
//
// It stands apart from package client, since most programs have one address.
package failover

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/client/internal/pulse"
	"github.com/ramet-run/ramet/domain"
)

const (
	// dialTimeout bounds the making of a connection: a machine that is off says nothing.
	dialTimeout = 3 * time.Second
	// retry is for how long a request is sent again: a node that hangs is left well within that.
	retry = 30 * time.Second
)

// Node is one of those that share a board.
type Node struct {
	// URL is its address: http://host:port or https://, without a path.
	URL string
	// Token gives the token for that node, as [client.Config.Token] does: one node's is not good
	// at another. With [domain.ErrUnavailable] the next node is asked. Required.
	Token func(ctx context.Context) (string, error)
}

// Address is where a node is, and what it is called: "" where that is not said.
type Address struct{ URL, Name string }

// Addresses reads those of a text, which has commas between them, and behind a # the node's name:
// http://a:7480#nina,http://b:7480#nora. What is wrong with one says [Config].
func Addresses(text string) (list []Address) {
	for one := range strings.SplitSeq(text, ",") {
		url, name, _ := strings.Cut(strings.TrimSpace(one), "#")
		list = append(list, Address{url, name})
	}
	return list
}

// Config is that of a client of several nodes. Its Retry, 30 s, may be changed.
//
// Errors: [domain.ErrInvalid].
func Config(nodes ...Node) (client.Config, error) {
	if len(nodes) == 0 {
		return client.Config{}, domain.Invalidf("failover: want the address of one node at least")
	}
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.DialContext = (&net.Dialer{Timeout: dialTimeout}).DialContext
	t := &inTurn{http: transport}
	for _, n := range nodes {
		u, err := url.Parse(n.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" ||
			u.User != nil {
			return client.Config{}, domain.Invalidf("node %q: want an address such as http://localhost:7480", domain.HideURL(n.URL))
		}
		if n.Token == nil {
			return client.Config{}, domain.Invalidf("node %q: want a token for it", domain.HideURL(n.URL))
		}
		t.nodes = append(t.nodes, &target{scheme: u.Scheme, host: u.Host, token: n.Token,
			pulse: pulse.Of(u.Scheme+"://"+u.Host, func(r *http.Request) (*http.Response, error) { return t.http.RoundTrip(r) })})
	}
	// A token goes to the node that it was made for, so redirects are not followed.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client.Config{URL: nodes[0].URL, Retry: retry, HTTP: &http.Client{Transport: t, CheckRedirect: stay}}, nil
}

// inTurn sends requests to one node until that fails.
type inTurn struct {
	http  http.RoundTripper
	nodes []*target
	moves atomic.Int64 // from one to the next
}

type target struct {
	scheme, host string
	token        func(ctx context.Context) (string, error)
	failed       atomic.Pointer[time.Time] // when it was left last; nil: it has answered since
	pulse        *pulse.Pulse
}

func (n *target) url() string { return n.scheme + "://" + n.host }

// RoundTrip implements [http.RoundTripper].
func (t *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	moves := t.moves.Load()
	n := t.nodes[moves%int64(len(t.nodes))]
	token, err := n.token(r.Context())
	if err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		if errors.Is(err, domain.ErrUnavailable) {
			t.leave(r.Context(), n, moves)
		}
		return nil, fmt.Errorf("make a token for %s: %w", n.url(), err)
	}
	ctx, watched := n.pulse.Begin(r.Context())
	there, to := r.WithContext(ctx), *r.URL
	to.Scheme, to.Host = n.scheme, n.host
	there.URL, there.Host, there.Header = &to, n.host, maps.Clone(r.Header)
	if token != "" {
		there.Header["Authorization"] = []string{"Bearer " + token}
	}
	broken := func(err error) error {
		t.leave(r.Context(), n, moves)
		if watched.End() {
			err = pulse.ErrSilent
		}
		return &pulse.Lost{From: n.url(), Err: err}
	}
	answer, err := t.http.RoundTrip(there)
	if err != nil {
		return nil, broken(err)
	}
	switch answer.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		if t.leave(r.Context(), n, moves); t.another(n) {
			answer.Header.Del("Retry-After") // which is this node's, and the next one is asked
		}
	default:
		n.failed.Store(nil)
	}
	answer.Body = &pulse.Body{ReadCloser: answer.Body, Request: watched, Broken: broken}
	return answer, nil
}

// leave has later requests go to the next node, unless somebody else has seen to that, or the
// caller has gone. Where its time is over the node may be one that answers nothing.
func (t *inTurn) leave(ctx context.Context, n *target, moves int64) {
	if errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	now := time.Now()
	n.failed.Store(&now)
	t.moves.CompareAndSwap(moves, moves+1)
}

// another reports whether there is a node beside this one that has not failed just now.
func (t *inTurn) another(than *target) bool {
	return slices.ContainsFunc(t.nodes, func(n *target) bool {
		failed := n.failed.Load()
		return n != than && (failed == nil || time.Since(*failed) > retry)
	})
}

// CloseIdleConnections lets go of those to all nodes.
func (t *inTurn) CloseIdleConnections() {
	if c, ok := t.http.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}
