package bustest

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
)

var refusalTests = []test{
	{"an address of another form is refused", testBadAddresses},
	{"a parcel that is empty or too large is refused", testBadBodies},
	{"nothing is sent for an ended context", testSendEnded},
}

func testBadAddresses(t *testing.T, f Factory) {
	r := open(t, f)
	a := r.node(0)
	scheme := a.Scheme()
	for _, to := range []string{
		"", ":", scheme, scheme + ":", "other" + strings.TrimPrefix(string(a.Self()), scheme),
		" " + string(a.Self()), string(a.Self()) + " ", string(a.Self()) + "\n", string(a.Self()) + ".x",
		strings.ToUpper(string(a.Self())), scheme + ":*", scheme + ":>", scheme + ":../x", scheme + ":a/b?c",
		scheme + ":" + strings.Repeat("a", 300), strings.TrimPrefix(string(a.Self()), scheme+":"),
	} {
		if err := a.Send(r.ctx, domain.Address(to), []byte("x")); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("send to %q: got %v, want invalid", to, err)
		}
	}
}

func testBadBodies(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	for _, size := range []int{0, bus.MaxParcel + 1, 2 * bus.MaxParcel} {
		if err := a.Send(r.ctx, b.Self(), make([]byte, size)); !errors.Is(err, domain.ErrInvalid) {
			t.Errorf("send %d bytes: got %v, want invalid", size, err)
		}
	}
	r.send(a, b.Self(), "it still works")
	r.wants(b, "it still works")
}

func testSendEnded(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	r.send(a, b.Self(), "before")
	ctx, cancel := context.WithCancel(r.ctx)
	cancel()
	if err := a.Send(ctx, b.Self(), []byte("ended")); !errors.Is(err, context.Canceled) {
		t.Errorf("send: got %v, want %v", err, context.Canceled)
	}
	r.wants(b, "before")
	r.nothingMore(b)
}
