package bustest

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
)

var parcelTests = []test{
	{"a parcel arrives as it was sent", testArrives},
	{"a parcel of the greatest size arrives", testGreatest},
	{"a parcel is the receiver's own", testNoAliases},
	{"a node can send to itself", testSelf},
	{"the sender is known", testFrom},
	{"an address says its bus and differs from node to node", testAddresses},
	{"a bus says what its parcels survive", testDurability},
	{"nobody gets what is for another", testNoCrossing},
	{"many parcels cross in both directions", testMany},
}

func testArrives(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	var every [256]byte
	for i := range every {
		every[i] = byte(i)
	}
	for _, body := range []string{"x", "hello", "\x00", "\r\n\r\n", `{"a":"ü"}`, string(every[:])} {
		r.send(a, b.Self(), body)
		if got := string(r.receive(b).Body); got != body {
			t.Errorf("got %q, want %q", got, body)
		}
	}
	r.nothingMore(b)
}

func testGreatest(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	// What does not compress, so that no driver gets by with less.
	body := make([]byte, bus.MaxParcel)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(body)
	r.send(a, b.Self(), string(body))
	if got := r.receive(b).Body; string(got) != string(body) {
		t.Errorf("got %d bytes that differ from the %d sent", len(got), len(body))
	}
}

func testNoAliases(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	r.send(a, b.Self(), "warm") // the way is open: the next is taken at once
	r.receive(b)
	buf := []byte("first")
	if err := a.Send(r.ctx, b.Self(), buf); err != nil {
		t.Fatal(err)
	}
	copy(buf, "XXXXX")
	if got := string(r.receive(b).Body); got != "first" {
		t.Errorf("got %q after the sender reused its buffer, want %q", got, "first")
	}
}

func testSelf(t *testing.T, f Factory) {
	skip(t, f.Features.NoSelf)
	r := open(t, f)
	a := r.node(0)
	r.send(a, a.Self(), "to me")
	r.wants(a, "to me")
}

func testFrom(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	r.send(a, b.Self(), "from a")
	want := a.Self()
	if r.Nameless != "" {
		want = ""
	}
	if got := r.receive(b).From; got != want {
		t.Errorf("got a parcel from %q, want %q", got, want)
	}
}

func testAddresses(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	if a.Self() == b.Self() {
		t.Errorf("both nodes are %q", a.Self())
	}
	for _, n := range []bus.Bus{a, b} {
		if !strings.HasPrefix(string(n.Self()), n.Scheme()+":") || n.Scheme() == "" || n.Scheme() != a.Scheme() {
			t.Errorf("got address %q of a bus %q", n.Self(), n.Scheme())
		}
	}
}

func testDurability(t *testing.T, f Factory) {
	r := open(t, f)
	switch d := r.node(0).Durability(); d {
	case board.DurableMemory, board.DurableProcess, board.DurableDisk, board.DurableQuorum:
	default:
		t.Errorf("got durability %q", d)
	}
}

func testNoCrossing(t *testing.T, f Factory) {
	r := open(t, f)
	nodes := []bus.Bus{r.node(0), r.node(1), r.node(2)}
	want := make([][]string, len(nodes))
	for i := range 30 {
		from, to := nodes[i%3], (i+1+i%2)%3
		body := fmt.Sprintf("parcel %d for %s", i, nodes[to].Self())
		r.send(from, nodes[to].Self(), body)
		want[to] = append(want[to], body)
	}
	for i, n := range nodes {
		r.wants(n, want[i]...)
		r.nothingMore(n)
	}
}

func testMany(t *testing.T, f Factory) {
	const senders = 8
	each := 50
	if f.Features.Few != "" {
		each = 4
	}
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	var wg sync.WaitGroup
	for _, way := range [][2]bus.Bus{{a, b}, {b, a}} {
		from, to := way[0], way[1]
		var want []string
		for s := range senders {
			for i := range each {
				want = append(want, fmt.Sprintf("%s %d.%d", from.Self(), s, i))
			}
			wg.Go(func() {
				for i := range each {
					r.send(from, to.Self(), fmt.Sprintf("%s %d.%d", from.Self(), s, i))
				}
			})
		}
		wg.Go(func() { r.wants(to, want...) })
	}
	wg.Wait()
}
