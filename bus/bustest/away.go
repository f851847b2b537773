package bustest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

var awayTests = []test{
	{"a parcel for a node that is away waits for it", testAway},
	{"what was not done with comes again when the node starts anew", testReturn},
	{"what was done with does not", testDoneStays},
	{"a cut link refuses at once and heals", testCut},
}

func testAway(t *testing.T, f Factory) {
	skip(t, f.Features.Forgets)
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	to := b.Self()
	r.send(a, to, "hello")
	r.wants(b, "hello")
	r.close(b)
	var want []string
	for i := range 20 {
		want = append(want, fmt.Sprint("meanwhile ", i))
		r.send(a, to, want[i])
	}
	b = r.node(1)
	r.wants(b, want...)
	r.nothingMore(b)
}

func testReturn(t *testing.T, f Factory) {
	skip(t, f.Features.NoReturn)
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	want := []string{"one", "two", "three"}
	for _, s := range want {
		r.send(a, b.Self(), s)
	}
	r.hold(b)
	r.hold(b)
	r.close(b)
	r.wants(r.node(1), want...)
}

func testDoneStays(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	r.send(a, b.Self(), "one")
	r.send(a, b.Self(), "two")
	r.wants(b, "one", "two")
	r.close(b)
	b = r.node(1)
	r.send(a, b.Self(), "three")
	r.wants(b, "three")
	r.nothingMore(b)
}

func testCut(t *testing.T, f Factory) {
	r := open(t, f)
	if r.Cut == nil {
		t.Skip("the network cannot be cut")
	}
	a, b, c := r.node(0), r.node(1), r.node(2)
	for _, to := range []domain.Address{b.Self(), c.Self()} {
		r.send(a, to, "before")
	}
	r.wants(b, "before")
	r.wants(c, "before")

	r.Cut(0, 1)
	began := time.Now()
	err := a.Send(r.ctx, b.Self(), []byte("into the gap"))
	if err != nil && !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("send over a cut link: got %v, want nil or unavailable", err)
	}
	if took := time.Since(began); took > patience/3 {
		t.Errorf("send over a cut link took %v", took)
	}
	r.send(a, c.Self(), "the others go on")
	r.wants(c, "the others go on")

	r.Heal()
	r.send(a, b.Self(), "after")
	r.send(b, a.Self(), "and back")
	// What was sent into the gap may or may not have been taken.
	for got := ""; got != "after"; {
		if got = string(r.receive(b).Body); got != "after" && got != "into the gap" {
			t.Fatalf("got %q, want %q", got, "after")
		}
	}
	r.wants(a, "and back")
}
