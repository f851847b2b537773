package myceliumbus_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/myceliumbus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/myceliumtest"
)

// logRecorder keeps what is logged, as LEVEL message.
type logRecorder struct {
	slog.Handler
	lines chan string
}

func (b logRecorder) Handle(_ context.Context, r slog.Record) error {
	b.lines <- r.Level.String() + " " + r.Message
	return nil
}

func newLogRecorder() (logRecorder, *slog.Logger) {
	b := logRecorder{slog.NewTextHandler(new(bytes.Buffer), nil), make(chan string, 1000)}
	return b, slog.New(b)
}

// next waits for a line that begins so.
func (b logRecorder) next(t *testing.T, start string) {
	t.Helper()
	select {
	case got := <-b.lines:
		if !strings.HasPrefix(got, start) {
			t.Fatalf("got log line %q, want %q", got, start)
		}
	case <-time.After(30 * time.Second):
		t.Fatalf("no log line %q", start)
	}
}

func (b logRecorder) empty(t *testing.T) {
	t.Helper()
	select {
	case got := <-b.lines:
		t.Errorf("got log line %q, want none more", got)
	default:
	}
}

// rig is two nodes with their daemons.
type rig struct {
	*testing.T
	net    *myceliumtest.Network
	da, db *myceliumtest.Daemon
	a, b   *myceliumbus.Bus
	log    logRecorder // of b
}

func newRig(t *testing.T) *rig {
	n := myceliumtest.NewNetwork()
	r := &rig{T: t, net: n, da: n.Start(t), db: n.Start(t)}
	r.a = open(t, r.da.URL())
	t.Cleanup(func() { r.a.Close() })
	var log *slog.Logger
	r.log, log = newLogRecorder()
	var err error
	if r.b, err = myceliumbus.Open(t.Context(), "mycelium:"+r.db.URL(), myceliumbus.Config{Logger: log}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.b.Close() })
	return r
}

func (r *rig) send(body string) {
	r.Helper()
	if err := r.a.Send(r.Context(), r.b.Self(), []byte(body)); err != nil {
		r.Fatal(err)
	}
}

func (r *rig) receive() bus.Parcel {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.Context(), 30*time.Second)
	defer cancel()
	p, err := r.b.Receive(ctx)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

func (r *rig) wants(want string) {
	r.Helper()
	if got := string(r.receive().Body); got != want {
		r.Errorf("got %.40q, want %.40q", got, want)
	}
}

// post makes another program's push to b's daemon.
func (r *rig) post(topic, payload string) {
	r.Helper()
	if topic != "" {
		topic = fmt.Sprintf(`"topic":%q,`, base64.StdEncoding.EncodeToString([]byte(topic)))
	}
	// By JSON-RPC, which takes more than HTTP.
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"pushMessage","params":[{"dst":{"pk":%q},%s"payload":%q}]}`,
		r.db.Key(), topic, base64.StdEncoding.EncodeToString([]byte(payload)))
	resp, err := http.Post(r.da.RPC(), "application/json", strings.NewReader(body))
	if err != nil {
		r.Fatal(err)
	}
	resp.Body.Close()
}

func TestAddressesAreKeysOfDaemons(t *testing.T) {
	r := newRig(t)
	if got, want := r.a.Self(), domain.Address("mycelium:"+r.da.Key()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	r.send("x")
	if got := r.receive().From; got != r.a.Self() {
		t.Errorf("got a parcel from %s, want %s", got, r.a.Self())
	}
}

func TestOtherProgramsKeepTheirMessages(t *testing.T) {
	r := newRig(t)
	r.post("", "no topic")
	r.post("ramet.parcel.x", "another topic")
	r.send("parcel")
	r.wants("parcel")
	if n := r.db.Inbox(); n != 2 {
		t.Errorf("got %d messages left in the daemon, want 2", n)
	}
}

func TestWhatIsNoParcelIsPassedOver(t *testing.T) {
	r := newRig(t)
	r.post("ramet.parcel", "")
	r.post("ramet.parcel", strings.Repeat("x", bus.MaxParcel+1))
	r.post("ramet.parcel", strings.Repeat("x", 3*bus.MaxParcel))
	r.send("parcel")
	r.wants("parcel")
	if n := r.db.Inbox(); n != 0 {
		t.Errorf("got %d messages left on our topic, want none", n)
	}
	r.log.empty(t)
}

func TestTopics(t *testing.T) {
	n := myceliumtest.NewNetwork()
	da, db := n.Start(t), n.Start(t)
	a, b := open(t, da.URL()+"/?topic=site%2Fa+b"), open(t, db.URL()+"?topic=site%2Fa+b")
	other := open(t, db.URL())
	for _, x := range []*myceliumbus.Bus{a, b, other} {
		defer x.Close()
	}
	if err := a.Send(t.Context(), other.Self(), []byte("x")); err != nil {
		t.Fatal(err)
	}
	if p, err := b.Receive(t.Context()); err != nil || string(p.Body) != "x" {
		t.Errorf("got %q, %v", p.Body, err)
	}
}

func TestOpenRefuses(t *testing.T) {
	for _, c := range []struct{ name, where string }{
		{"another bus", "nats://127.0.0.1:4222"},
		{"no host", "mycelium:http:///x"},
		{"no URL", "mycelium:127.0.0.1:8989"},
		{"another protocol", "mycelium:tcp://127.0.0.1:8989"},
		{"a path", "mycelium:http://127.0.0.1:8989/api/v1"},
		{"a password", "mycelium:http://u:secret@127.0.0.1:8989"},
		{"another option", "mycelium:http://127.0.0.1:8989/?topics=x"},
		{"an empty topic", "mycelium:http://127.0.0.1:8989/?topic="},
		{"a long topic", "mycelium:http://127.0.0.1:8989/?topic=" + strings.Repeat("x", 256)},
		{"a damaged query", "mycelium:http://127.0.0.1:8989/?topic=%zz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := myceliumbus.Open(t.Context(), c.where, myceliumbus.Config{})
			if !errors.Is(err, domain.ErrInvalid) || strings.Contains(err.Error(), "secret") {
				t.Errorf("got %v, want invalid", err)
			}
		})
	}
}

func TestOpenWantsAMyceliumDaemon(t *testing.T) {
	n := myceliumtest.NewNetwork()
	d := n.Start(t)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	// The port answers, but speaks JSON-RPC.
	if _, err := myceliumbus.Open(ctx, "mycelium:"+d.RPC(), myceliumbus.Config{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the context's error", err)
	}
}

func TestADaemonElsewhereIsWarnedOf(t *testing.T) {
	ended, cancel := context.WithCancel(t.Context())
	cancel() // nothing is dialled
	for where, warned := range map[string]bool{
		"http://192.0.2.1:8989": true, "http://mycelium.example:8989": true, "https://[2001:db8::1]": true,
		"http://127.0.0.1:8989": false, "http://127.1.2.3": false, "http://[::1]:8989": false, "http://localhost:8989": false, "": false,
	} {
		log, logger := newLogRecorder()
		if _, err := myceliumbus.Open(ended, "mycelium:"+where, myceliumbus.Config{Logger: logger}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v", where, err)
		}
		if got := len(log.lines) == 1; got != warned {
			t.Errorf("%s: warned %v, want %v", where, got, warned)
		}
	}
}

func TestOpenWaitsForADaemonThatStarts(t *testing.T) {
	d := myceliumtest.NewNetwork().Start(t)
	d.Stop()
	log, logger := newLogRecorder()
	done := make(chan error, 1)
	go func() {
		b, err := myceliumbus.Open(t.Context(), "mycelium:"+d.URL(), myceliumbus.Config{Logger: logger})
		if err == nil {
			err = b.Close()
		}
		done <- err
	}()
	log.next(t, "WARN Mycelium daemon does not answer; waiting")
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	log.empty(t)
}

func TestADaemonGoesAndComesBack(t *testing.T) {
	r := newRig(t)
	r.send("before")
	r.wants("before")
	got := make(chan bus.Parcel, 1)
	go func() { got <- r.receive() }()
	r.db.Stop()
	r.log.next(t, "WARN Mycelium daemon does not answer")
	if err := r.b.Send(t.Context(), r.a.Self(), []byte("x")); !errors.Is(err, domain.ErrUnavailable) || !strings.Contains(err.Error(), r.db.URL()) {
		t.Errorf("send: got %v, want unavailable", err)
	}
	r.send("meanwhile") // our daemon keeps it
	if err := r.db.Start(); err != nil {
		t.Fatal(err)
	}
	if p := <-got; string(p.Body) != "meanwhile" {
		t.Errorf("got %q", p.Body)
	}
	r.log.next(t, "INFO Mycelium daemon is back")
	r.log.empty(t)
}

func TestADaemonComesBackWithAnotherKey(t *testing.T) {
	r := newRig(t)
	go r.b.Receive(t.Context())
	r.db.Stop()
	r.log.next(t, "WARN Mycelium daemon does not answer")
	other, err := r.net.Open(myceliumtest.Config{API: strings.TrimPrefix(r.db.URL(), "http://")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(other.Stop)
	r.log.next(t, "ERROR Mycelium daemon is back with another key")
}

func TestNobodyWaitingNothingIsTaken(t *testing.T) {
	r := newRig(t)
	for i := range 3 {
		r.send(fmt.Sprint(i))
	}
	r.wants("0")
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if p, err := r.a.Receive(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %q, %v", p.Body, err)
	}
	if err := r.b.Close(); err != nil {
		t.Error(err)
	}
	if n := r.db.Inbox(); n != 2 {
		t.Errorf("got %d parcels left in the daemon, want 2", n)
	}
}

// TestNoCallMakesTheDaemonWait holds what keeps pushes quick: a call that waits
// would have the daemon's lock.
func TestNoCallMakesTheDaemonWait(t *testing.T) {
	r := newRig(t)
	r.send("x")
	r.wants("x")
	for _, call := range append(r.da.Requests(), r.db.Requests()...) {
		if strings.Contains(call, "timeout=") && !strings.Contains(call, "timeout=0&") {
			t.Errorf("called %s", call)
		}
	}
}

func TestAReceiverThatDoesNotAnswerFillsNoMemory(t *testing.T) {
	r := newRig(t)
	r.net.Cut(r.da, r.db)
	r.send("first")
	r.send("second") // not known yet
	r.a.Age(time.Minute)
	for range 3 {
		if err := r.a.Send(t.Context(), r.b.Self(), []byte("again")); !errors.Is(err, domain.ErrUnavailable) ||
			!strings.Contains(err.Error(), "has not answered since") {
			t.Errorf("got %v, want unavailable", err)
		}
	}
	if err := r.a.Send(t.Context(), r.a.Self(), []byte("others")); err != nil {
		t.Errorf("to another: %v", err)
	}
	r.net.Heal(r.da, r.db)
	r.send("third")
	for _, want := range []string{"first", "second", "third"} {
		r.wants(want)
	}

	// What our daemon gave up for good is no reason to wait for it.
	r.net.Cut(r.da, r.db)
	r.send("lost")
	r.a.Age(time.Minute)
	r.net.Advance(301 * time.Second)
	r.send("new")
	r.net.Heal(r.da, r.db)
	r.wants("new")
}

// TestPushingAgainGetsEverythingThere is how package post uses a bus: what was
// not answered goes again. Nothing is altered, whatever befalls it.
func TestPushingAgainGetsEverythingThere(t *testing.T) {
	for _, f := range []myceliumtest.Faults{
		{Lose: 0.3, Seed: 1}, {LoseAck: 0.3, Seed: 2}, {LoseAnswer: 0.3, Seed: 3}, {Double: 0.3, Reorder: 0.5, Seed: 4},
		{Lose: 0.1, LoseAck: 0.1, LoseAnswer: 0.1, Double: 0.1, Reorder: 0.1, Delay: 3 * time.Millisecond, Seed: 5},
	} {
		t.Run(fmt.Sprintf("%+v", f), func(t *testing.T) {
			const all = 40
			r := newRig(t)
			r.net.SetFaults(f)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			var mu sync.Mutex
			got := map[string]bool{}
			var wg sync.WaitGroup
			wg.Go(func() {
				defer cancel()
				for {
					p, err := r.b.Receive(ctx)
					if err != nil {
						t.Errorf("receive: %v", err)
						return
					}
					mu.Lock()
					got[string(p.Body)] = true
					n := len(got)
					mu.Unlock()
					if n == all {
						return
					}
				}
			})
			for ctx.Err() == nil {
				for i := range all {
					body := fmt.Sprint("parcel ", i)
					mu.Lock()
					done := got[body]
					mu.Unlock()
					if done {
						continue
					}
					if err := r.a.Send(ctx, r.b.Self(), []byte(body)); err != nil && !errors.Is(err, domain.ErrUnavailable) && ctx.Err() == nil {
						t.Errorf("send: %v", err)
					}
				}
			}
			wg.Wait()
			want := map[string]bool{}
			for i := range all {
				want[fmt.Sprint("parcel ", i)] = true
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// BenchmarkRoundTrip sends a parcel and waits for its answer. At both ends
// somebody always waits in Receive, as package post does.
func BenchmarkRoundTrip(b *testing.B) {
	n := myceliumtest.NewNetwork()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	var ends [2]*myceliumbus.Bus
	var got [2]chan bus.Parcel
	for i := range ends {
		end, err := myceliumbus.Open(ctx, "mycelium:"+n.Start(b).URL(), myceliumbus.Config{})
		if err != nil {
			b.Fatal(err)
		}
		defer end.Close()
		ends[i], got[i] = end, make(chan bus.Parcel, 1)
		go func() {
			for {
				p, err := end.Receive(ctx)
				if err != nil {
					return
				}
				got[i] <- p
			}
		}()
	}
	go func() {
		for {
			select {
			case p := <-got[1]:
				_ = ends[1].Send(ctx, p.From, p.Body)
			case <-ctx.Done():
				return
			}
		}
	}()
	for b.Loop() {
		if err := ends[0].Send(ctx, ends[1].Self(), []byte("x")); err != nil {
			b.Fatal(err)
		}
		<-got[0]
	}
}
