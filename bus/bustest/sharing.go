package bustest

import (
	"fmt"
	"sync"
	"testing"

	"github.com/ramet-run/ramet/bus"
)

var sharingTests = []test{
	{"each parcel goes to one of those who wait", testWaiters},
	{"several processes of a node share its parcels", testProcesses},
	{"done may be said twice and late", testDone},
}

// count has takers receive until n parcels were there, and tells how often
// each came.
func (r *rig) count(n int, takers ...bus.Bus) map[string]int {
	r.Helper()
	var (
		mu   sync.Mutex
		got  = map[string]int{}
		left = make(chan struct{}, n)
		wg   sync.WaitGroup
	)
	for range n {
		left <- struct{}{}
	}
	close(left)
	// A taker takes a token before it waits, so that none waits in vain.
	for _, b := range takers {
		wg.Go(func() {
			for range left {
				p, err := b.Receive(r.ctx)
				if err != nil {
					r.Errorf("receive: %v", err)
					return
				}
				if err := p.Done(r.ctx); err != nil {
					r.Errorf("done: %v", err)
				}
				mu.Lock()
				got[string(p.Body)]++
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return got
}

func (r *rig) once(got map[string]int, n int) {
	r.Helper()
	if len(got) != n && r.Doubles == "" {
		r.Errorf("got %d different parcels, want %d", len(got), n)
	}
	for body, times := range got {
		if times != 1 && r.Doubles == "" {
			r.Errorf("got %q %d times", body, times)
		}
	}
}

func testWaiters(t *testing.T, f Factory) {
	n := 200
	if f.Features.Few != "" {
		n = 16
	}
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range n {
			r.send(a, b.Self(), fmt.Sprint("parcel ", i))
		}
	})
	r.once(r.count(n, b, b, b, b), n)
	wg.Wait()
}

func testProcesses(t *testing.T, f Factory) {
	skip(t, f.Features.Alone)
	const n = 100
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	// One at first, so that the node is known.
	r.send(a, b.Self(), "hello")
	r.wants(b, "hello")
	b2 := r.node(1)
	if b2.Self() != b.Self() {
		t.Fatalf("two processes of a node are %s and %s", b.Self(), b2.Self())
	}
	for i := range n {
		r.send(a, b.Self(), fmt.Sprint("parcel ", i))
	}
	// Either may have all of them: each asks for all, until together they had n.
	got, times := map[string]int{}, 0
	parcels := make(chan string)
	var wg sync.WaitGroup
	for _, p := range []bus.Bus{b, b2} {
		wg.Go(func() {
			for {
				p, err := p.Receive(r.ctx)
				if err != nil {
					return // closed below
				}
				_ = p.Done(r.ctx)
				parcels <- string(p.Body)
			}
		})
	}
	for ; times < n; times++ {
		got[<-parcels]++
	}
	go func() { wg.Wait(); close(parcels) }()
	r.close(b)
	r.close(b2)
	for s := range parcels {
		got[s]++
	}
	r.once(got, n)
}

func testDone(t *testing.T, f Factory) {
	r := open(t, f)
	a, b := r.node(0), r.node(1)
	r.send(a, b.Self(), "one")
	r.send(a, b.Self(), "two")
	one, two := r.hold(b), r.hold(b)
	for _, p := range []bus.Parcel{two, one, two} {
		if err := p.Done(r.ctx); err != nil {
			t.Errorf("done: %v", err)
		}
	}
	r.nothingMore(b)
}
