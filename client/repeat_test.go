package client_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
)

// faults are what a request may meet, and whether one that may be repeated is, after that.
var faults = []struct {
	name   string
	again  bool
	after  time.Duration // the least until it is asked again
	status int           // of the answer; 0: there is none, but err
	header string        // Retry-After
	err    error
	cut    bool // the answer breaks off
}{
	{name: "refused", again: true, err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}},
	{name: "reset before it was sent", again: true, err: &net.OpError{Op: "write", Err: os.NewSyscallError("write", syscall.EPIPE)}},
	{name: "reset after it was sent", again: true, err: &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}},
	{name: "cut off in the answer", again: true, status: 200, cut: true},
	{name: "late", again: true, err: os.ErrDeadlineExceeded},
	{name: "429", again: true, status: 429, header: "7", after: 7 * time.Second},
	{name: "503", again: true, status: 503, header: "7", after: 7 * time.Second},
	{name: "503 for an hour", again: true, status: 503, header: "3600", after: 30 * time.Second},
	{name: "503 without a time", again: true, status: 503},
	{name: "502 of a proxy", again: true, status: 502},
	{name: "504 of a proxy", again: true, status: 504},
	{name: "500", status: 500},
	{name: "409", status: 409},
	{name: "412", status: 412},
	{name: "400", status: 400},
	{name: "403", status: 403},
	{name: "404", status: 404},
	{name: "408", status: 408},
	{name: "413", status: 413},
	{name: "422", status: 422},
}

// meets has the first request meet a fault, and answers those behind it.
type meets struct {
	fault  func() (*http.Response, error)
	bodies []string
	at     []time.Time
}

func (m *meets) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	m.bodies, m.at = append(m.bodies, r.Method+" "+r.URL.String()+" "+r.Header.Get("Idempotency-Key")+" "+string(body)), append(m.at, time.Now())
	if len(m.at) == 1 {
		return m.fault()
	}
	return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader("{}"))}, nil
}

// broken is a body that breaks off.
type broken struct{ io.Reader }

func (b broken) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	if err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
func (broken) Close() error { return nil }

// Every operation is met by every fault, with a key, with one that the client makes and without: asked again is what the
// contract says may be, and nothing else.
func TestWhatIsAskedAgainIsWhatTheContractSays(t *testing.T) {
	for _, o := range api.Table {
		if o.Bytes != "" { // files are read by pieces, not by calls
			continue
		}
		for _, f := range faults {
			for _, key := range []string{"", "k", "its own"} {
				may := o.Repeatable(key != "")
				synctest.Test(t, func(t *testing.T) {
					m := &meets{fault: func() (*http.Response, error) {
						if f.err != nil {
							return nil, f.err
						}
						answer := &http.Response{StatusCode: f.status, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil))}
						if f.header != "" {
							answer.Header.Set("Retry-After", f.header)
						}
						if f.cut {
							answer.Body = broken{strings.NewReader(`{"jo`)}
						}
						return answer, nil
					}}
					c, err := client.New(client.Config{URL: "http://node", Retry: time.Minute, Keyed: key == "its own", HTTP: &http.Client{Transport: m}})
					if err != nil {
						t.Fatal(err)
					}
					ctx := context.Context(t.Context())
					if key == "k" {
						ctx = client.Once(ctx, key)
					}
					err = client.Try(ctx, c, o)
					what := fmt.Sprintf("%s, key %q, %s", o.Name, key, f.name)
					want := 1
					if may && f.again {
						want = 2
					}
					if len(m.at) != want || (err == nil) != (want == 2) {
						t.Fatalf("%s: asked %d times, %v, want %d", what, len(m.at), err, want)
					}
					if want == 2 && (m.bodies[0] != m.bodies[1] || m.at[1].Sub(m.at[0]) < f.after) {
						t.Errorf("%s: asked %q, then, after %v, %q", what, m.bodies[0], m.at[1].Sub(m.at[0]), m.bodies[1])
					}
				})
			}
		}
	}
}
