package natsbus

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/internal/natslink"
)

// A fetch asks for this much at once. It bounds what a slow receiver holds in
// memory, and what it keeps from other processes of the node.
const (
	fetchParcels = 256
	fetchBytes   = 4 << 20
	fetchWait    = 30 * time.Second
	// heartbeat is how often the server says that a fetch still stands.
	heartbeat = 5 * time.Second
)

// pull keeps the mailbox there and fetches from it until ctx ends.
//
// The client library's own consumers are not used: they hide what a server
// says of a fetch that ended, and take buffers by the count of messages, not
// their size.
func (b *Bus) pull(ctx context.Context) {
	defer close(b.pulled)
	for tries := 0; ctx.Err() == nil; {
		began := time.Now()
		why := b.fetch(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > fetchWait {
			tries = 0
		}
		b.log.Debug("fetching from the mailbox stopped", "reason", why, "tries", tries)
		if tries == 5 { // half a second to two after the first
			b.log.Warn("mailbox cannot be used; trying on", "reason", why)
		}
		select {
		case <-time.After(natslink.Pause(tries)):
			tries++
		case <-b.wire.Again:
			tries = 0
		case <-ctx.Done():
		}
	}
}

// fetch looks at the mailbox and fetches from it until something is wrong.
func (b *Bus) fetch(ctx context.Context) (why string) {
	if b.wire.Life().Err() != nil {
		return "the server cannot be reached"
	}
	if err := b.look(ctx); err != nil {
		return natslink.Words(err)
	}
	if b.host == nil {
		b.looked.Do(func() { b.checkAccount(ctx) })
	}
	inbox := b.wire.Conn.NewInbox()
	// Room for two fetches: after a reconnect the one before may go on.
	arrived := make(chan *nats.Msg, 2*fetchParcels+64)
	sub, err := b.wire.Conn.ChanSubscribe(inbox+".*", arrived)
	if err != nil {
		return natslink.Words(err)
	}
	defer b.giveBack(sub, arrived)
	ask, _ := json.Marshal(map[string]int64{
		"batch": fetchParcels, "max_bytes": fetchBytes,
		"expires": int64(fetchWait), "idle_heartbeat": int64(heartbeat),
	})
	for n := 0; ; n++ {
		reply := inbox + "." + strconv.Itoa(n)
		if err := b.wire.Conn.PublishRequest(b.next, reply, ask); err != nil {
			return natslink.Words(err)
		}
		if why := b.collect(ctx, arrived, reply); why != "" {
			return why
		}
	}
}

// look makes sure that the mailbox is there.
func (b *Bus) look(ctx context.Context) error {
	// Shorter than it may take where a cluster is choosing a leader: it answers
	// nothing meanwhile, and is asked again.
	ctx, cancel := context.WithTimeout(ctx, natslink.AnswerTime/4)
	defer cancel()
	defer context.AfterFunc(b.wire.Life(), cancel)()
	js, err := jetstream.New(b.wire.Conn)
	if err != nil {
		return err
	}
	return findMailbox(ctx, js, b.key, b.limits, func(c jetstream.StreamConfig) {
		d := durability(c, b.synced)
		b.durable.Store(&d)
	})
}

// collect takes what one fetch brings until it ends. It returns "" when the
// next may follow.
func (b *Bus) collect(ctx context.Context, arrived <-chan *nats.Msg, reply string) (why string) {
	silence := time.NewTimer(2 * heartbeat)
	defer silence.Stop()
	for left := fetchParcels; left > 0; silence.Reset(2 * heartbeat) {
		select {
		case m := <-arrived:
			// What the server itself says comes on the inbox; a parcel bears the
			// subject it was sent to, and a sender may set any header.
			switch {
			case !isStatus(m):
			case m.Subject != reply, m.Header.Get("Status") == "100":
				continue // of an earlier fetch, or a heartbeat
			default:
				return ended(m.Header.Get("Status"), m.Header.Get("Description"))
			}
			left--
			if !b.deliver(ctx, m) {
				return "closed"
			}
		case <-silence.C:
			return "the server is silent"
		case <-b.wire.Again:
			return "" // connected anew: the server has forgotten the fetch
		case <-ctx.Done():
			return "closed"
		}
	}
	return ""
}

// isStatus says whether the server speaks of a fetch itself.
func isStatus(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, nats.InboxPrefix) }

// ended says what is wrong after a fetch ended with this status, "" for nothing.
func ended(status, description string) string {
	switch {
	case status == "404", status == "408":
		return "" // its time is over
	case status == "409" && (strings.Contains(description, "MaxBytes") || strings.Contains(description, "Batch Completed")):
		return ""
	case status == "503":
		return "the mailbox is not there"
	}
	return status + " " + description
}

// deliver hands a parcel to Receive; false when the bus was closed first.
func (b *Bus) deliver(ctx context.Context, m *nats.Msg) bool {
	to, from, ok := parties(m.Subject)
	if !ok || to != b.key || len(m.Data) == 0 {
		_ = m.Respond([]byte("+TERM")) // not made by this package
		return true
	}
	h := b.hold(m)
	p := bus.Parcel{From: domain.Address(scheme + ":" + from), Body: m.Data, Done: h.done}
	select {
	case b.parcels <- p:
		return true
	case <-ctx.Done():
		return false // Close gives it back
	}
}

// giveBack ends the fetch, and has what it brought and nobody received come
// again at once.
func (b *Bus) giveBack(sub *nats.Subscription, arrived <-chan *nats.Msg) {
	// Drain, not Unsubscribe: what is on its way to us when the server hears of
	// it would be dropped, and come again only after AckWait.
	// The library may say more than once that it is closed: a connection that
	// breaks, and the drain that finds it broken.
	ended := make(chan struct{})
	tell := sync.OnceFunc(func() { close(ended) })
	sub.SetClosedHandler(func(string) { tell() })
	if sub.Drain() == nil {
		select {
		case <-ended:
		case <-time.After(time.Second):
		}
	}
	for {
		select {
		case m := <-arrived:
			if !isStatus(m) {
				_ = m.Respond([]byte("-NAK"))
			}
		default:
			return
		}
	}
}
