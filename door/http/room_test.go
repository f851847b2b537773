package http_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	nethttp "net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/client"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/door/http"
	"github.com/ramet-run/ramet/internal/budget"
	"github.com/ramet-run/ramet/internal/testcert"
	"github.com/ramet-run/ramet/internal/testpipe"
	"github.com/ramet-run/ramet/internal/testwait"
	"github.com/ramet-run/ramet/internal/watched"
	"github.com/ramet-run/ramet/service"
)

// bounded is a rig with a budget, and the budget.
func bounded(t *testing.T, c budget.Config) (*rig, *budget.Budget) {
	t.Helper()
	b := budget.New(c, nil)
	return newRig(t, func(c *http.Config) { c.Budget = b }), b
}

// counted is a listener that counts the bytes that its connections are read.
type counted struct {
	net.Listener
	read atomic.Int64
}

type countedConn struct {
	net.Conn
	read *atomic.Int64
}

func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return countedConn{c, &l.read}, err
}

func (c countedConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.read.Add(int64(n))
	return n, err
}

// listen serves the door over TCP.
func (r *rig) listen() *counted {
	r.Helper()
	ln, err := http.ListenTCP("127.0.0.1:0", "", "")
	if err != nil {
		r.Fatal(err)
	}
	c := &counted{Listener: ln}
	r.serve(c)
	return c
}

// dial connects from an address.
func (r *rig) dial(ln net.Listener, from string) net.Conn {
	r.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := d.DialContext(r.Context(), "tcp", ln.Addr().String())
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(func() { c.Close() })
	return c
}

// over sends a request on a connection of one's own and reads the head of its
// answer.
func (r *rig) over(c net.Conn, as domain.ActorID, method, path, body string, header ...string) (*nethttp.Response, error) {
	r.Helper()
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: n1\r\nContent-Length: %d\r\n", method, path, len(body))
	if as != 0 {
		head += "Authorization: Bearer " + r.token(as) + "\r\n"
	}
	for _, h := range header {
		head += h + "\r\n"
	}
	// The head goes first, and at once: a large body is not copied to go with it.
	if _, err := io.WriteString(c, head+"\r\n"); err != nil {
		return nil, err
	}
	go func() { _, _ = io.WriteString(c, body) }() // the other end may not read it all
	return nethttp.ReadResponse(bufio.NewReader(c), nil)
}

// closes waits for the end of a connection.
func closes(t testing.TB, c net.Conn) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Second))
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal("the connection stays open")
	}
}

func TestBodiesOfThoseWithoutARightAreNotRead(t *testing.T) {
	r, _ := bounded(t, budget.Config{Connections: 1000})
	ln := r.listen()
	body := `{"script":"` + strings.Repeat("x", http.MaxBody-100) + `","script_type":"lines"}`
	const conns = 150
	// One after the other: 150 at once, of 8 MiB each, may take longer on a busy
	// machine than a head may take to arrive.
	for i := range conns {
		c := r.dial(ln, fmt.Sprintf("127.0.1.%d", 1+i%50))
		answer, err := r.over(c, stranger, "POST", "/v1/contexts/7/jobs", body)
		if err != nil || answer.StatusCode != nethttp.StatusForbidden {
			t.Fatalf("got %v, %v, want 403", answer, err)
		}
		c.Close()
	}
	if most, got := int64(conns*(64<<10)), ln.read.Load(); got > most {
		t.Errorf("%d bytes were read of bodies that nobody wants, want at most %d", got, most)
	}
}

func TestALongBodyIsRefusedByItsLength(t *testing.T) {
	r := newRig(t)
	ln := r.listen()
	for _, c := range []struct{ method, path string }{{"POST", "/v1/contexts/7/jobs"}, {"POST", "/v1/contexts/7/jobs/10/1/cancel"}} {
		answer, err := r.over(r.dial(ln, "127.0.0.1"), admin, c.method, c.path, strings.Repeat(" ", http.MaxBody+1))
		if err != nil || answer.StatusCode != nethttp.StatusRequestEntityTooLarge {
			t.Errorf("%v: got %v, %v, want 413", c, answer, err)
		}
	}
	if got := ln.read.Load(); got > 128<<10 {
		t.Errorf("%d bytes were read", got)
	}
}

func TestBytesOfOneActorAreBounded(t *testing.T) {
	r, b := bounded(t, budget.Config{Bytes: 4 << 20, BytesPerActor: 1 << 20})
	ln := r.listen()
	// It holds nearly all that it may, and the rest does not come.
	slow := r.dial(ln, "127.0.0.2")
	_, err := fmt.Fprintf(slow, "POST /v1/contexts/7/jobs HTTP/1.1\r\nHost: n1\r\nAuthorization: Bearer %s\r\nContent-Length: 5000000\r\n\r\n%s",
		r.token(admin), strings.Repeat(" ", 900<<10))
	if err != nil {
		t.Fatal(err)
	}
	testwait.Until(t, "the bytes are counted", func() bool { return b.Used()["bytes"] >= 900<<10 })
	answer, err := r.over(r.dial(ln, "127.0.0.2"), admin, "POST", "/v1/contexts/7/jobs", strings.Repeat(" ", 300<<10))
	if err != nil || answer.StatusCode != nethttp.StatusTooManyRequests || answer.Header.Get("Retry-After") == "" {
		t.Fatalf("got %v, %v, want 429 with Retry-After", answer, err)
	}
	// Small requests of its and large ones of others come through.
	for _, c := range []struct {
		as   domain.ActorID
		size int
	}{{admin, 100}, {domain.Operator, 300 << 10}} {
		answer, err := r.over(r.dial(ln, "127.0.0.2"), c.as, "POST", "/v1/contexts/1/jobs", strings.Repeat(" ", c.size))
		if err != nil || answer.StatusCode == nethttp.StatusTooManyRequests || answer.StatusCode == nethttp.StatusServiceUnavailable {
			t.Errorf("%v: got %v, %v", c, answer, err)
		}
	}
	slow.Close()
	testwait.Until(t, "the bytes are given back", func() bool { return b.Used()["bytes"] == 0 })
}

func TestIdleConnectionsKeepNobodyOut(t *testing.T) {
	r, b := bounded(t, budget.Config{Connections: 64, Local: 4})
	ln, socket := r.listen(), r.listenSocket()
	idle := make([]net.Conn, 900)
	for i := range idle {
		idle[i] = r.dial(ln, fmt.Sprintf("127.0.1.%d", 1+i%3))
	}
	// The oldest are gone, and the newest of the addresses that have most.
	for _, c := range idle[:len(idle)-64] {
		closes(t, c)
	}
	if got := b.Used()["connections"]; got > 64 {
		t.Errorf("%d connections are held", got)
	}
	answer, err := r.over(r.dial(ln, "127.0.0.9"), reader, "GET", "/v1/contexts/7/jobs", "")
	if err != nil || answer.StatusCode != nethttp.StatusOK {
		t.Errorf("somebody else: got %v, %v", answer, err)
	}
	for range 20 { // a script finds the socket, and has nothing to say
		silent, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer silent.Close()
	}
	c, err := client.New(client.Config{Socket: socket})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Contexts(t.Context()); err != nil {
		t.Errorf("the local socket: got %v", err)
	}
}

func TestConnectionsOfAnAddressAndAnActorAreBounded(t *testing.T) {
	r, _ := bounded(t, budget.Config{Connections: 64, PerAddress: 3, PerActor: 5})
	ln := r.listen()
	get := func(from string, as domain.ActorID) (*nethttp.Response, error) {
		t.Helper()
		return r.over(r.dial(ln, from), as, "GET", "/v1/contexts/7/jobs", "")
	}
	want := func(status int, code, from string, as domain.ActorID) {
		t.Helper()
		answer, err := get(from, as)
		if err != nil {
			t.Fatal(err)
		}
		var p api.Problem
		if answer.StatusCode != status ||
			status >= 400 && (json.NewDecoder(answer.Body).Decode(&p) != nil || p.Code != code || answer.Header.Get("Retry-After") == "") {
			t.Errorf("%s as %d: got %v %+v, want %d %s with Retry-After", from, as, answer, p, status, code)
		}
	}
	for range 3 {
		want(200, "", "127.0.0.2", reader)
	}
	want(429, "exhausted", "127.0.0.2", reader) // the address is full
	want(200, "", "127.0.0.3", reader)
	want(200, "", "127.0.0.3", reader)
	want(429, "exhausted", "127.0.0.4", reader) // now the actor is
	want(200, "", "127.0.0.4", admin)
}

func TestDeliveriesFromOneAddressLeaveRoomForOthers(t *testing.T) {
	r, b := bounded(t, budget.Config{Requests: 64})
	ln := r.listen()
	for range 4 { // a quarter of an actor's quarter
		c := r.dial(ln, "127.0.0.2")
		if _, err := io.WriteString(c, "POST /v1/hooks/7/nothing HTTP/1.1\r\nHost: n1\r\nContent-Length: 9\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
	}
	testwait.Until(t, "four are under way", func() bool { return b.Used()["requests"] == 4 })
	for from, want := range map[string]int{"127.0.0.2": nethttp.StatusTooManyRequests, "127.0.0.3": nethttp.StatusUnauthorized} {
		answer, err := r.over(r.dial(ln, from), 0, "POST", "/v1/hooks/7/nothing", "{}")
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode != want {
			t.Errorf("from %s: got %v, want %d", from, answer, want)
		}
	}
}

func TestStreamsOfOneReaderLeaveRoomForOthers(t *testing.T) {
	r, b := bounded(t, budget.Config{Streams: 1024})
	ln, socket := r.listen(), r.listenSocket()
	r.submit(1, "gate")
	follow := func(c net.Conn, as domain.ActorID) int {
		t.Helper()
		answer, err := r.over(c, as, "GET", "/v1/contexts/7/jobs/10/1/wait", "", "Accept: text/event-stream")
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode
	}
	refused := 0
	for i := range 1040 {
		c := r.dial(ln, fmt.Sprintf("127.0.1.%d", 1+i%40))
		if follow(c, reader) != nethttp.StatusOK {
			refused++
			c.Close()
		}
	}
	if most := b.Config().StreamsPerActor; refused != 1040-most {
		t.Errorf("%d of 1040 streams were refused, want all but %d", refused, most)
	}
	if got := follow(r.dial(ln, "127.0.0.2"), admin); got != nethttp.StatusOK {
		t.Errorf("another actor: got %d", got)
	}
	local, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	if got := follow(local, admin); got != nethttp.StatusOK {
		t.Errorf("at the local socket: got %d", got)
	}
	close(r.script.gate)
}

func TestWhatComesSlowlyEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		send func(token string, w io.Writer)
		want string // of the answer
		in   time.Duration
	}{
		{"a connection that says nothing", func(string, io.Writer) {}, "", 10 * time.Second},
		{"a header of a byte a second", func(_ string, w io.Writer) {
			drip(w, "GET /info HTTP/1.1\r\nX-Long: "+strings.Repeat("x", 1000), 1, time.Second)
		}, "400", 10 * time.Second},
		{"a body that does not come", func(token string, w io.Writer) {
			fmt.Fprintf(w, "POST /v1/contexts/7/jobs HTTP/1.1\r\nHost: n1\r\nAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n{", token)
		}, "408", 5 * time.Second},
		{"a body of half the pace", func(token string, w io.Writer) {
			fmt.Fprintf(w, "POST /v1/contexts/7/jobs HTTP/1.1\r\nHost: n1\r\nAuthorization: Bearer %s\r\nContent-Length: 8000000\r\n\r\n", token)
			drip(w, strings.Repeat(" ", 8_000_000), 32<<10, time.Second)
		}, "408", 12 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRigWithout(t, func(*service.Parts) {})
				ln := testpipe.Listen()
				r.serve(ln)
				ours, err := ln.Dial()
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				var sender sync.WaitGroup
				sender.Go(func() { c.send(r.token(admin), ours) })
				answer, _ := io.ReadAll(ours)
				took := time.Since(began)
				ours.Close()
				sender.Wait()
				if status, _, _ := strings.Cut(strings.TrimPrefix(string(answer), "HTTP/1.1 "), " "); status != c.want {
					t.Errorf("got %q, want %s", answer, c.want)
				}
				if took > c.in+time.Second {
					t.Errorf("it took %v, want %v", took, c.in)
				}
			})
		})
	}
}

// drip writes a text in pieces.
func drip(w io.Writer, text string, piece int, pause time.Duration) {
	for len(text) > 0 {
		n := min(piece, len(text))
		if _, err := io.WriteString(w, text[:n]); err != nil {
			return
		}
		text = text[n:]
		time.Sleep(pause)
	}
}

// TestRapidResetOfHTTP2 opens streams and takes them back faster than they can
// be served.
func TestRapidResetOfHTTP2(t *testing.T) {
	r, b := bounded(t, budget.Config{})
	cert := testcert.New(t)
	ln, err := http.ListenTCP("127.0.0.1:0", cert.Cert, cert.Key)
	if err != nil {
		t.Fatal(err)
	}
	r.serve(ln)
	conn, err := tls.Dial("tcp", ln.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}}) // of this test
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	first, err := framer.ReadFrame()
	settings, ok := first.(*http2.SettingsFrame)
	if err != nil || !ok {
		t.Fatalf("got %v, %v", first, err)
	}
	if most, there := settings.Value(http2.SettingMaxConcurrentStreams); !there || most > 100 {
		t.Errorf("%d streams of one connection may be open at once", most)
	}
	go func() { _, _ = io.Copy(io.Discard, conn) }()
	var head bytes.Buffer
	e := hpack.NewEncoder(&head)
	r.submit(1, "gate")
	for n, v := range map[string]string{":method": "GET", ":scheme": "https", ":authority": "n1", ":path": "/v1/contexts/7/jobs/10/1/wait"} {
		_ = e.WriteField(hpack.HeaderField{Name: n, Value: v}) // into memory
	}
	_ = e.WriteField(hpack.HeaderField{Name: "authorization", Value: "Bearer " + r.token(reader), Sensitive: true})
	for i := range uint32(watched.Rounds(20_000, 4_000)) {
		id := 1 + 2*i
		err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: head.Bytes(), EndHeaders: true, EndStream: true})
		if err != nil || framer.WriteRSTStream(id, http2.ErrCodeCancel) != nil {
			break // the server has had enough
		}
		if i%100 == 0 {
			if got := b.Used()["requests"]; got > 100 {
				t.Fatalf("%d requests are in progress", got)
			}
		}
	}
	other := &nethttp.Client{Transport: &nethttp.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}}
	defer other.CloseIdleConnections()
	req, err := nethttp.NewRequestWithContext(t.Context(), "GET", "https://"+ln.Addr().String()+"/v1/contexts/7/jobs", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.token(admin))
	answer, err := other.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != nethttp.StatusOK || answer.ProtoMajor != 2 {
		t.Errorf("got %v", answer)
	}
	close(r.script.gate)
	conn.Close()
	testwait.Until(t, "all requests end", func() bool { return b.Used()["requests"] == 0 })
}

// An address whose tokens are not good is not listened to for a while; others, who
// has signed in there, and the local socket are.
func TestRefusedTokensOfAnAddressAreBounded(t *testing.T) {
	r, _ := bounded(t, budget.Config{Refused: 1})
	ln := r.listen()
	status := func(c net.Conn, as domain.ActorID, header ...string) (int, string) {
		t.Helper()
		answer, err := r.over(c, as, "GET", "/v1/contexts", "", header...)
		if err != nil {
			t.Fatal(err)
		}
		return answer.StatusCode, answer.Header.Get("Retry-After")
	}
	known := r.dial(ln, "127.0.0.2")
	if got, _ := status(known, admin); got != nethttp.StatusOK {
		t.Fatalf("got %d", got)
	}
	bad := "Authorization: Bearer x.y.z"
	if got, _ := status(r.dial(ln, "127.0.0.2"), 0); got != nethttp.StatusUnauthorized {
		t.Errorf("without a token: got %d", got)
	}
	if got, _ := status(r.dial(ln, "127.0.0.2"), 0, bad); got != nethttp.StatusUnauthorized {
		t.Errorf("the first: got %d", got)
	}
	for _, as := range []domain.ActorID{0, admin} {
		header := []string{bad}
		if as != 0 {
			header = nil
		}
		got, after := status(r.dial(ln, "127.0.0.2"), as, header...)
		if n, err := strconv.Atoi(after); got != nethttp.StatusTooManyRequests || err != nil || n < 2 || n > 60 {
			t.Errorf("as %d: got %d, come again in %q s, want 429 and up to 60 s", as, got, after)
		}
	}
	if got, _ := status(known, admin); got != nethttp.StatusOK {
		t.Errorf("who had signed in: got %d", got)
	}
	if got, _ := status(r.dial(ln, "127.0.0.3"), admin); got != nethttp.StatusOK {
		t.Errorf("another address: got %d", got)
	}
	socket := r.listenSocket()
	for range 3 {
		c, err := net.Dial("unix", socket)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if got, _ := status(c, 0, bad); got != nethttp.StatusUnauthorized {
			t.Errorf("at the local socket: got %d", got)
		}
	}
}
