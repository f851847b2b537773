// Package failover has a client ask another node of a board when one does not answer.
//
//	cfg, err := failover.Config(
//		failover.Node{URL: "https://a.example:7480", Token: forA},
//		failover.Node{URL: "https://b.example:7480", Token: forB})
//	...
//	c, err := client.New(cfg)
//
// All requests go to one node. Where that gives no answer, breaks one off, or says that it has
// no time (502, 503, 504), those that follow go to the next in turn. The request itself is sent
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
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
)

const (
	// dialTimeout bounds the making of a connection: a machine that is off says nothing.
	dialTimeout = 3 * time.Second
	// retry is for how long a request is sent again.
	retry = 30 * time.Second
)

// Node is one of those that share a board.
type Node struct {
	// URL is its address: http://host:port or https://, without a path.
	URL string
	// Token gives the token for that node, as [client.Config.Token] does: one node's is not good
	// at another. Required.
	Token func(ctx context.Context) (string, error)
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
		t.nodes = append(t.nodes, target{u.Scheme, u.Host, n.Token})
	}
	// A token goes to the node that it was made for, so redirects are not followed.
	stay := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return client.Config{URL: nodes[0].URL, Retry: retry, HTTP: &http.Client{Transport: t, CheckRedirect: stay}}, nil
}

// inTurn sends requests to one node until that fails.
type inTurn struct {
	http  *http.Transport
	nodes []target
	moves atomic.Int64 // from one to the next
}

type target struct {
	scheme, host string
	token        func(ctx context.Context) (string, error)
}

// RoundTrip implements [http.RoundTripper].
func (t *inTurn) RoundTrip(r *http.Request) (*http.Response, error) {
	moves := t.moves.Load()
	n := t.nodes[moves%int64(len(t.nodes))]
	token, err := n.token(r.Context())
	if err != nil {
		return nil, fmt.Errorf("make a token for %s: %w", n.host, err)
	}
	there := r.Clone(r.Context())
	there.URL.Scheme, there.URL.Host, there.Host = n.scheme, n.host, n.host
	there.Header.Set("Authorization", "Bearer "+token)
	answer, err := t.http.RoundTrip(there)
	if err != nil {
		t.leave(r.Context(), moves)
		return nil, fmt.Errorf("%s: %w", n.host, err)
	}
	switch answer.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		t.leave(r.Context(), moves)
	}
	answer.Body = &body{answer.Body, func() { t.leave(r.Context(), moves) }}
	return answer, nil
}

// leave has later requests go to the next node, unless somebody else has seen to that, or the
// caller has only lost patience.
func (t *inTurn) leave(ctx context.Context, moves int64) {
	if ctx.Err() == nil {
		t.moves.CompareAndSwap(moves, moves+1)
	}
}

// CloseIdleConnections lets go of those to all nodes.
func (t *inTurn) CloseIdleConnections() { t.http.CloseIdleConnections() }

// body tells when an answer breaks off.
type body struct {
	io.ReadCloser
	broken func()
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		b.broken()
	}
	return n, err
}
