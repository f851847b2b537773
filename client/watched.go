package client

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/ramet-run/ramet/client/internal/pulse"
)

// watched ends requests whose node does nothing any more: one that waits for a job waits as long as the job, and no
// connection tells of a process that was stopped.
type watched struct {
	http  *http.Transport
	pulse *pulse.Pulse
	peer  atomic.Int64 // the process that listens on a socket; 0 where that is not known
}

// watch makes the client of a node at an address out of a transport.
func watch(url string, t *http.Transport) *http.Client {
	w := &watched{http: t, pulse: pulse.Of(url, t.RoundTrip)}
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if unix, ok := conn.(*net.UnixConn); ok && err == nil {
			w.peer.Store(int64(peerOf(unix)))
		}
		return conn, err
	}
	return &http.Client{Transport: w, CheckRedirect: stay}
}

// RoundTrip implements [http.RoundTripper].
func (w *watched) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, watched := w.pulse.Begin(r.Context())
	broken := func(err error) error {
		if watched.End() {
			return w.silent()
		}
		return err
	}
	answer, err := w.http.RoundTrip(r.WithContext(ctx))
	if err != nil {
		return nil, broken(err)
	}
	answer.Body = &pulse.Body{ReadCloser: answer.Body, Request: watched, Broken: broken}
	return answer, nil
}

// silent says which process does nothing any more.
func (w *watched) silent() error {
	if pid := w.peer.Load(); pid != 0 {
		return fmt.Errorf("%w; it is process %d, which may be stopped", pulse.ErrSilent, pid)
	}
	return pulse.ErrSilent
}

// CloseIdleConnections lets go of those to the node.
func (w *watched) CloseIdleConnections() { w.http.CloseIdleConnections() }
