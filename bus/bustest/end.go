package bustest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ramet-run/ramet/domain"
)

var endTests = []test{
	{"an ended context ends the wait", testReceiveEnded},
	{"a parcel is not lost to a wait that ended", testAbandonedWait},
	{"close ends every wait", testCloseEndsWaits},
	{"a closed bus refuses", testClosed},
}

func testReceiveEnded(t *testing.T, f Factory) {
	r := open(t, f)
	a := r.node(0)
	ended, cancel := context.WithCancel(r.ctx)
	cancel()
	soon, cancel2 := context.WithTimeout(r.ctx, 4*pause)
	defer cancel2()
	for _, c := range []struct {
		name string
		ctx  context.Context
		want error
	}{
		{"already ended", ended, context.Canceled},
		{"ends while it waits", soon, context.DeadlineExceeded},
	} {
		if _, err := a.Receive(c.ctx); !errors.Is(err, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, err, c.want)
		}
	}
}

func testAbandonedWait(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	for range 5 {
		ctx, cancel := context.WithTimeout(r.ctx, pause)
		_, _ = b.Receive(ctx)
		cancel()
	}
	r.send(a, b.Self(), "after that")
	r.wants(b, "after that")
}

func testCloseEndsWaits(t *testing.T, f Factory) {
	r := open(t, f)
	a := r.node(0)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			if _, err := a.Receive(r.ctx); !errors.Is(err, domain.ErrUnavailable) {
				t.Errorf("receive: got %v, want unavailable", err)
			}
		})
	}
	time.Sleep(pause) // lets them begin; that they have not changes nothing
	r.close(a)
	wg.Wait()
}

func testClosed(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	r.send(a, b.Self(), "hello")
	p := r.hold(b)
	r.close(b)
	if err := b.Send(r.ctx, a.Self(), []byte("x")); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("send: got %v, want unavailable", err)
	}
	if _, err := b.Receive(r.ctx); !errors.Is(err, domain.ErrUnavailable) {
		t.Errorf("receive: got %v, want unavailable", err)
	}
	_ = p.Done(r.ctx) // may fail, must return
	r.close(b)
	_, _ = b.Self(), b.Durability()
}
