package natsbus

import (
	"context"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/internal/natslink"
)

// lookEvery is the pause between looks whether a link still stands while an
// answer over it is awaited.
const lookEvery = 200 * time.Millisecond

// relay stands between the exchange and the account of a link to another site.
// Nothing crosses but parcels, each with its answer.
type relay struct {
	log    *slog.Logger
	office *natslink.Wire // in the exchange
	link   *natslink.Wire
	far    *server.Account // of the link
	end    end             // who is at its other end
	seldom *natslink.Seldom

	run     context.Context
	stop    context.CancelFunc
	serving sync.WaitGroup
	out, in chan struct{} // hold one for each parcel under way

	mu    sync.Mutex
	reach map[string]bool               // nodes at the other end
	subs  map[string]*nats.Subscription // by subject
}

// link puts a relay between the exchange and an account.
func (h *host) link(account string, to end) error {
	a, err := h.server.LookupAccount(account)
	if err != nil {
		return err
	}
	w, err := h.dial(account)
	if err != nil {
		return err
	}
	r := &relay{
		log: h.log, office: h.office, link: w, end: to, far: a, seldom: &h.seldom,
		out: make(chan struct{}, MaxInFlight), in: make(chan struct{}, MaxInFlight),
		subs: map[string]*nats.Subscription{},
	}
	r.run, r.stop = context.WithCancel(context.Background())
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.relays == nil {
		r.close()
		return errClosed
	}
	h.relays[account] = r
	return nil
}

// settle tells each relay who is at its other end and who is here.
func (h *host) settle() {
	peers := h.cfg.Peers()
	h.mu.Lock()
	defer h.mu.Unlock()
	reached := map[string]bool{}
	for _, r := range h.relays {
		if r.end != (end{}) {
			reach := behind(r.end, peers)
			maps.Copy(reached, reach)
			r.settle(reach, h.local)
		}
	}
	for _, r := range h.relays {
		if r.end == (end{}) {
			rest := map[string]bool{}
			for _, p := range peers {
				if !reached[p.Key] && !h.local[p.Key] && !p.Own {
					rest[p.Key] = true
				}
			}
			r.settle(rest, h.local)
		}
	}
}

// behind is the nodes that a link to e leads to: those of the site, or the node of
// the key; and whoever is via one of them. None if nobody there is a peer.
func behind(e end, peers []Peer) map[string]bool {
	reach := map[string]bool{}
	for _, p := range at(e, peers) {
		reach[p] = true
	}
	for _, p := range peers {
		if p.Via != "" && reach[p.Via] {
			reach[p.Key] = true
		}
	}
	return reach
}

// at is the nodes that may be the server of e.
func at(e end, peers []Peer) (nodes []string) {
	for _, p := range peers {
		if !p.Own && (p.Key == e.key || e.site != "" && p.Site == e.site) {
			nodes = append(nodes, p.Key)
		}
	}
	return nodes
}

// settle subscribes to what is to cross from now on.
func (r *relay) settle(reach, local map[string]bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.reach = reach
	wanted := map[string]bool{}
	for key := range reach {
		if validKey(key) {
			wanted["out "+key] = true
			r.subscribe("out "+key, r.office, parcelSubject(key, "*"), r.letOut)
		}
	}
	for key := range local {
		wanted["in "+key] = true
		r.subscribe("in "+key, r.link, parcelSubject(key, "*"), r.letIn)
	}
	for name, sub := range r.subs {
		if !wanted[name] {
			_ = sub.Unsubscribe()
			delete(r.subs, name)
		}
	}
}

func (r *relay) subscribe(name string, w *natslink.Wire, subject string, handle nats.MsgHandler) {
	if r.subs[name] != nil {
		return
	}
	sub, err := w.Conn.Subscribe(subject, handle)
	if err != nil {
		r.log.Warn("NATS link cannot be served", "err", natslink.Words(err))
		return
	}
	r.subs[name] = sub
}

// letOut takes a parcel for the other site over the link.
func (r *relay) letOut(m *nats.Msg) {
	if _, from, ok := parties(m.Subject); !ok || r.reaches(from) {
		return // it came over the link, and does not go back
	}
	r.carry(r.out, r.link, m, func() bool { return r.far.Interest(m.Subject) > 0 })
}

// letIn puts a parcel of the other site into a mailbox here.
func (r *relay) letIn(m *nats.Msg) {
	if _, from, ok := parties(m.Subject); !ok || !r.reaches(from) {
		r.log.Log(r.run, r.seldom.Level(), "parcel over a NATS link refused: its sender is not at the other end", "sender", from, "link", r.end)
		refuse(m)
		return
	}
	r.carry(r.in, r.office, m, func() bool { return true })
}

func (r *relay) reaches(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reach[key]
}

// carry publishes a parcel on the other side and brings the answer back, as
// long as somebody is there to give one. It holds up its subscription while too
// many are under way.
func (r *relay) carry(places chan struct{}, to *natslink.Wire, m *nats.Msg, there func() bool) {
	select {
	case places <- struct{}{}:
	case <-r.run.Done():
		return
	}
	// Under the lock that close takes: after it, nothing begins.
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.run.Err() != nil {
		return
	}
	r.serving.Go(func() {
		defer func() { <-places }()
		ctx, cancel := context.WithCancel(r.run)
		defer cancel()
		defer watch(ctx, cancel, there)()
		answer, err := to.Request(ctx, &nats.Msg{Subject: m.Subject, Data: m.Data})
		if err == nil {
			err = refusal(answer)
		}
		if err != nil {
			refuse(m)
			return
		}
		// Not the stream's own words: they tell how much it holds.
		_ = m.Respond([]byte("{}"))
	})
}

// refuse answers as NATS does where nobody takes a message.
func refuse(m *nats.Msg) {
	if m.Reply != "" {
		_ = m.RespondMsg(&nats.Msg{Header: nats.Header{"Status": {"503"}}})
	}
}

// watch cancels a wait once nobody is there, looking now and then until ctx
// ends. A link that breaks takes with it what was written to it, and NATS tells
// nobody.
func watch(ctx context.Context, cancel func(), there func() bool) (stop func() bool) {
	return time.AfterFunc(lookEvery, func() {
		for there() {
			select {
			case <-time.After(lookEvery):
			case <-ctx.Done():
				return
			}
		}
		cancel()
	}).Stop
}

func (r *relay) close() {
	r.mu.Lock()
	r.stop()
	r.mu.Unlock()
	r.link.Close()
	r.serving.Wait()
}
