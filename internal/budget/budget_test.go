package budget_test

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/budget"
)

func TestAPoolHasAPartForEach(t *testing.T) {
	b := budget.New(budget.Config{Streams: 10, StreamsPerActor: 4}, nil)
	p := b.Remote.Streams
	take := func(who domain.ActorID, n int64, want error) {
		t.Helper()
		if err := p.Take(who, n); !errors.Is(err, want) {
			t.Errorf("%d takes %d: got %v, want %v", who, n, err, want)
		}
	}
	take(1, 4, nil)
	take(1, 1, domain.ErrExhausted)
	take(2, 4, nil)
	take(3, 3, domain.ErrUnavailable)
	take(3, 2, nil)
	p.Give(1, 4)
	take(3, 2, nil)
	if got := p.Used(); got != 8 {
		t.Errorf("%d are held, want 8", got)
	}
	if got := b.Refusals()["streams"]; got != 2 {
		t.Errorf("%d refusals, want 2", got)
	}
	if err := b.Local.Streams.Take(domain.Operator, 1); err != nil {
		t.Errorf("at the local socket: got %v", err)
	}
}

func TestAHoldStaysWhoseItWas(t *testing.T) {
	p := budget.New(budget.Config{Bytes: 100, BytesPerActor: 50}, nil).Remote.Bytes
	h := budget.Hold{Pool: p, Who: 1}
	for _, err := range []error{h.Resize(50), h.Resize(20)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	h.Who = 2
	if err := h.Resize(51); !errors.Is(err, domain.ErrExhausted) {
		t.Errorf("got %v", err)
	}
	h.End()
	if got := p.Used(); got != 0 {
		t.Errorf("%d are held", got)
	}
	if err := errors.Join(h.Resize(50), p.Take(1, 50)); err != nil {
		t.Error(err)
	}
}

// end is a connection that comes from somewhere.
type end struct {
	net.Conn
	from   string
	closed bool
}

func (e *end) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(e.from)) }
func (e *end) Close() error         { e.closed = true; return nil }

func TestAnAddressHoldsAQuarterOfWhatStrangersHave(t *testing.T) {
	b := budget.New(budget.Config{Bytes: 160, BytesPerActor: 80, Shared: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, nil)
	seat := func(from string) *budget.Seat {
		t.Helper()
		s, err := b.Sit(&end{from: from})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	hold := func(who domain.ActorID, from *budget.Seat, n int64, want error) *budget.Hold {
		t.Helper()
		h := &budget.Hold{Pool: b.Remote.Bytes, Who: who, From: from}
		if err := h.Resize(n); !errors.Is(err, want) {
			t.Errorf("%d bytes of %d: got %v, want %v", n, who, err, want)
		}
		return h
	}
	first := hold(0, seat("192.0.2.1:1"), 20, nil)
	hold(0, seat("192.0.2.1:2"), 1, domain.ErrExhausted)
	hold(0, seat("192.0.2.2:1"), 20, nil)
	hold(0, seat("10.1.2.3:1"), 40, nil) // many share it
	hold(0, seat("192.0.2.3:1"), 1, domain.ErrExhausted)
	hold(7, seat("192.0.2.1:3"), 80, nil) // who is known has a part of his own
	first.End()
	hold(0, seat("192.0.2.1:2"), 20, nil)
}

func TestWhatCountsAsAnAddress(t *testing.T) {
	b := budget.New(budget.Config{Connections: 100, PerAddress: 1, Shared: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}, nil)
	seat := func(from string, room bool) {
		t.Helper()
		s, err := b.Sit(&end{from: from})
		if err == nil {
			err = s.SignIn(7)
		}
		if (err == nil) != room {
			t.Errorf("%s: got %v", from, err)
		}
	}
	seat("192.0.2.1:1", true)
	seat("192.0.2.1:2", false)
	seat("[::ffff:192.0.2.1]:3", false)
	seat("192.0.2.2:1", true)
	seat("[2001:db8:0:1::1]:1", true)
	seat("[2001:db8:0:1:ffff::2]:1", false)
	seat("[2001:db8:0:2::1]:1", true)
	seat("10.1.2.3:1", true)
	seat("10.1.2.3:2", true)
}

func TestStrangersOfTheFullestAddressGoFirst(t *testing.T) {
	b := budget.New(budget.Config{Connections: 100, Strangers: 3}, nil)
	var list []*end
	for _, from := range []string{"192.0.2.1:1", "192.0.2.2:1", "192.0.2.2:2", "192.0.2.3:1"} {
		e := &end{from: from}
		list = append(list, e)
		if _, err := b.Sit(e); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true, false, false} {
		if list[i].closed != want {
			t.Errorf("the connection from %s: closed %v, want %v", list[i].from, list[i].closed, want)
		}
	}
	if got := b.Used()["strangers"]; got != 3 {
		t.Errorf("%d strangers, want 3", got)
	}
}

func TestASeatIsGivenBackOnce(t *testing.T) {
	b := budget.New(budget.Config{Connections: 10, Strangers: 2}, nil)
	s, err := b.Sit(&end{from: "192.0.2.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	signIn := func() { err = errors.Join(err, s.SignIn(8)) }
	for _, act := range []func(){func() { err = s.SignIn(7) }, signIn, s.SignOut, s.SignOut, signIn, s.Leave, s.Leave, s.SignOut} {
		act()
	}
	if err != nil {
		t.Error(err)
	}
	if got := b.Used(); got["connections"] != 0 || got["strangers"] != 0 {
		t.Errorf("got %v", got)
	}
	if err := s.SignIn(7); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("after it has left: got %v", err)
	}
}

func TestBoundsThatCannotHold(t *testing.T) {
	for _, c := range []struct {
		cfg  budget.Config
		want string
	}{
		{budget.Config{}, ""},
		{budget.Config{Connections: 500, Strangers: 50}, ""},
		{budget.Config{Streams: -1}, "doors.streams is -1"},
		{budget.Config{Connections: 10, Strangers: 10}, "doors.strangers is 10, want less than"},
		{budget.Config{Connections: 1 << 31}, "raise its limit"},
	} {
		err := c.cfg.Check()
		if c.want == "" && err == nil {
			continue
		}
		if err == nil || c.want == "" || !strings.Contains(err.Error(), c.want) || !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("%+v: got %v, want %q", c.cfg, err, c.want)
		}
	}
}

// TestADoorOutlivesItsDescriptors has a child process use up all descriptors.
func TestADoorOutlivesItsDescriptors(t *testing.T) {
	if os.Getenv("BUDGET_CHILD") != "" {
		outOfDescriptors(t)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestADoorOutlivesItsDescriptors$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), "BUDGET_CHILD=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func outOfDescriptors(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := budget.New(budget.Config{}, nil)
	seated := b.Listen(ln, func(net.Conn, error) {})
	defer seated.Close()
	go func() {
		for {
			c, err := seated.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.WriteString(c, "hello"); c.Close(); seated.Gone(c) }()
		}
	}()
	if got := greet(t, dial(t, ln)); got != "hello" {
		t.Fatalf("at first: got %q", got)
	}
	first := dial(t, ln)
	greet(t, first)
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 64
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	// The client has a descriptor of this process, too: it is opened first.
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	var taken []*os.File
	for {
		f, err := os.Open(os.DevNull)
		if err != nil {
			break
		}
		taken = append(taken, f)
	}
	port := ln.Addr().(*net.TCPAddr).Port
	if err := syscall.Connect(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	// It is shown out, and does not wait for ever.
	if n, _ := syscall.Read(fd, make([]byte, 10)); n > 0 {
		t.Errorf("got %d bytes though there was no descriptor", n)
	}
	for _, f := range taken {
		f.Close()
	}
	syscall.Close(fd)
	if got := greet(t, dial(t, ln)); got != "hello" {
		t.Errorf("when there are descriptors again: got %q", got)
	}
	if b.Refusals()["files"] == 0 {
		t.Error("it was not counted")
	}
}

func dial(t *testing.T, ln net.Listener) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func greet(t *testing.T, c net.Conn) string {
	t.Helper()
	defer c.Close()
	text, err := io.ReadAll(c)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestADoorOutlivesItsMachine lets accepting fail as it does while another program of
// the same user has all that the kernel gives it to wait with.
func TestADoorOutlivesItsMachine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		near, far := net.Pipe()
		defer near.Close()
		defer far.Close()
		b := budget.New(budget.Config{}, nil)
		ln := b.Listen(&poorListener{
			errs: []error{syscall.ENOSPC, syscall.ENOMEM, syscall.ENETDOWN, syscall.EPERM}, conn: near,
		}, func(net.Conn, error) {})
		defer ln.Close()
		if conn, err := ln.Accept(); err != nil || conn != near {
			t.Errorf("got %v, %v", conn, err)
		}
		if got := b.Refusals()["not_accepted"]; got != 4 {
			t.Errorf("got %d failures counted, want 4", got)
		}
		for _, final := range []error{syscall.EBADF, syscall.EINVAL, net.ErrClosed} {
			ln := b.Listen(&poorListener{errs: []error{final}}, func(net.Conn, error) {})
			if _, err := ln.Accept(); !errors.Is(err, final) {
				t.Errorf("got %v, want %v", err, final)
			}
			ln.Close()
		}
	})
}

// poorListener fails before it has a connection.
type poorListener struct {
	errs []error
	conn net.Conn
}

func (l *poorListener) Accept() (net.Conn, error) {
	if len(l.errs) == 0 {
		return l.conn, nil
	}
	err := l.errs[0]
	l.errs = l.errs[1:]
	return nil, &net.OpError{Op: "accept", Net: "tcp", Err: err}
}

func (l *poorListener) Close() error   { return nil }
func (l *poorListener) Addr() net.Addr { return &net.TCPAddr{} }
