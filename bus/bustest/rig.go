package bustest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
)

// patience is how long a test waits for what must come. Only a broken driver
// makes a test wait that long.
const patience = 2 * time.Minute

// pause is how long it waits before it tries again what a bus may refuse for a
// while.
const pause = 5 * time.Millisecond

// rig is a network under test with short ways to ask and to complain.
type rig struct {
	*testing.T
	Network
	Features
	ctx context.Context
}

func open(t *testing.T, f Factory) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	return &rig{T: t, Network: f.Open(t), Features: f.Features, ctx: ctx}
}

// node joins a node and sees to it that it ends with the test.
func (r *rig) node(i int) bus.Bus {
	r.Helper()
	b := r.Join(r.T, i)
	r.Cleanup(func() { r.close(b) })
	return b
}

func (r *rig) close(b bus.Bus) {
	r.Helper()
	if err := b.Close(); err != nil {
		r.Errorf("close %s: %v", b.Self(), err)
	}
}

// send sends until the bus takes the parcel.
func (r *rig) send(from bus.Bus, to domain.Address, body string) {
	r.Helper()
	for until := time.Now().Add(patience); ; {
		err := from.Send(r.ctx, to, []byte(body))
		if err == nil {
			return
		}
		if !errors.Is(err, domain.ErrUnavailable) || time.Now().After(until) {
			r.Fatalf("send %s to %s: %v", short(body), to, err)
		}
		time.Sleep(pause)
	}
}

// receive waits for a parcel and is done with it.
func (r *rig) receive(b bus.Bus) bus.Parcel {
	r.Helper()
	p := r.hold(b)
	if err := p.Done(r.ctx); err != nil {
		r.Errorf("done with %s: %v", short(string(p.Body)), err)
	}
	return p
}

// hold waits for a parcel and leaves it at that.
func (r *rig) hold(b bus.Bus) bus.Parcel {
	r.Helper()
	ctx, cancel := context.WithTimeout(r.ctx, patience)
	defer cancel()
	p, err := b.Receive(ctx)
	if err != nil {
		r.Fatalf("receive at %s: %v", b.Self(), err)
	}
	if p.Done == nil {
		r.Fatalf("parcel %s has no Done", short(string(p.Body)))
	}
	return p
}

// wants receives parcels until each of the bodies was there, in any order, and
// complains of any other.
func (r *rig) wants(b bus.Bus, bodies ...string) {
	r.Helper()
	missing := map[string]bool{}
	for _, s := range bodies {
		missing[s] = true
	}
	seen := map[string]bool{}
	for len(missing) > 0 {
		s := string(r.receive(b).Body)
		if !missing[s] && !(seen[s] && r.Doubles != "") {
			r.Fatalf("got parcel %s at %s, want one of %d others", short(s), b.Self(), len(missing))
		}
		delete(missing, s)
		seen[s] = true
	}
}

// nothingMore complains of parcels that are there, or come soon.
func (r *rig) nothingMore(b bus.Bus) {
	r.Helper()
	if r.Doubles != "" {
		return
	}
	// A mark of our own comes after whatever was there: buses in health keep
	// the order of what one node sends.
	if r.NoSelf == "" {
		r.send(b, b.Self(), "a mark")
		r.wants(b, "a mark")
		return
	}
	ctx, cancel := context.WithTimeout(r.ctx, 20*pause)
	defer cancel()
	if p, err := b.Receive(ctx); err == nil {
		r.Errorf("got parcel %s at %s, want none", short(string(p.Body)), b.Self())
	}
}

// short is a body in a complaint.
func short(body string) string {
	if len(body) > 40 {
		body = body[:40] + "…"
	}
	return `"` + strings.ToValidUTF8(body, "?") + `"`
}
