package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/bus"
	"github.com/ramet-run/ramet/bus/natsbus"
	"github.com/ramet-run/ramet/clockwork"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/flow"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/layout"
	"github.com/ramet-run/ramet/post"
	"github.com/ramet-run/ramet/script"
	"github.com/ramet-run/ramet/work"
)

// desk is a site that sends and receives messages.
type desk struct {
	*rig
	post     *post.Engine
	registry *identity.Registry
	keys     *identity.Keyring
	op       identity.Key
	flows    *flow.Engine

	done  atomic.Int64 // messages that ended at their sender
	want  atomic.Int64
	there chan struct{}
	stop  func()
}

// MessageSent, MessageReceived, MessageRefused and MessageEnded make the desk
// its own observer.
func (d *desk) MessageSent(domain.MessageType)     {}
func (d *desk) MessageReceived(domain.MessageType) {}
func (d *desk) MessageRefused(string)              {}

func (d *desk) MessageEnded(t domain.MessageType, _ domain.MessageStatus, _ time.Duration) {
	if t != domain.MessageResult && d.done.Add(1) == d.want.Load() {
		d.there <- struct{}{}
	}
}

// openDesk opens a site on a rig's board.
func openDesk(r *rig, buses func(keys *identity.Keyring, peers func() []natsbus.Peer) []bus.Bus) *desk {
	ctx := context.Background()
	dir, err := os.MkdirTemp(r.dir, "desk-")
	check(err)
	d := &desk{rig: r, there: make(chan struct{}, 1), registry: identity.NewRegistry(r.board)}
	op, err := d.registry.EnsureOperator(ctx, dir)
	check(err)
	d.op = op.Key
	_, _, err = d.registry.CreateTenant(ctx, domain.Tenant{ID: 2, Admins: domain.List[domain.ActorID]{domain.Operator}})
	check(err)
	d.keys, err = identity.OpenKeyring(dir)
	check(err)
	_, err = d.registry.EnsureNode(ctx, d.keys.Node.Pubkey(), domain.NodeAddress(d.keys.Node.Pubkey()))
	check(err)
	d.flows = flow.New(r.board, r.engine, flow.Config{})
	cfg := post.Config{Keys: d.keys, Registry: d.registry, Access: identity.NewAccess(d.registry, nil), Work: r.engine, Flows: d.flows, Observer: d}
	if buses != nil {
		cfg.Buses = buses(d.keys, func() []natsbus.Peer {
			if d.post == nil {
				return nil
			}
			var list []natsbus.Peer
			for _, n := range d.post.PeerNodes() {
				list = append(list, natsbus.Peer{Key: n.Pubkey, Link: n.LinkKey, Site: n.Site})
			}
			return list
		})
	}
	d.post = post.New(r.board, cfg)
	return d
}

// start lets the site work, with a runner.
func (d *desk) start(owner string) {
	ctx, cancel := context.WithCancel(context.Background())
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	runner := work.NewRunner(d.engine, work.RunnerConfig{ID: 1, Owner: owner, Runtimes: []script.Runtime{d.noop}})
	var wg sync.WaitGroup
	wg.Go(func() { check(runner.Run(ctx)) })
	wg.Go(func() { check(d.post.Supervise(owner).Run(ctx)) })
	wg.Go(func() {
		check(clockwork.Run(ctx, d.board, clockwork.Config{Owner: owner, Logger: log}, []clockwork.Maintenance{
			clockwork.Alarms(d.board, log, clockwork.Handlers(d.post.HandleAlarm, d.engine.HandleAlarm), nil),
			clockwork.Leases(d.board, log, d.engine.RecoverLease),
		}))
	})
	d.stop = func() { cancel(); wg.Wait() }
}

// send sends a message in the operator's name from context 1.
func (d *desk) send(m domain.Message) *domain.Message {
	m.CallerID, m.Job = domain.Operator, slices.Clone(m.Job) // they get ids of their own
	_, err := d.post.Send(context.Background(), 1, &m)
	check(err)
	return &m
}

// await sends n messages by 64 senders, each one after the other, and waits
// until all have ended.
func (d *desk) await(n int, m domain.Message) (took time.Duration) {
	d.want.Store(d.done.Load() + int64(n))
	begun := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var wg sync.WaitGroup
	for range 64 {
		wg.Go(func() {
			for left.Add(-1) >= 0 {
				d.send(m)
			}
		})
	}
	wg.Wait()
	<-d.there
	return time.Since(begun)
}

// rates measures messages a second, and round trips when idle.
func (d *desk) rates(out figures, name, to, key string) {
	n := min(*jobs, 20_000)
	chat := domain.Message{MessageType: domain.MessageChat, Message: strings.Repeat("a line of text, ", 8), DstContext: 2, DstNode: to, DstPubkey: key}
	d.await(min(n, 1000), chat) // warm
	// An inbox is bounded: what is in it is taken out between the rounds.
	cpu := selfCPU()
	var took time.Duration
	sent := 0
	for sent < n && sent < post.MaxInbox-2000 {
		k := min(4000, n-sent)
		took += d.await(k, chat)
		sent += k
	}
	out[name+"_chats_per_s"], out[name+"_cpu_us_per_chat"] = perSecond(sent, took), round((selfCPU()-cpu)*1e6/float64(sent))
	job := domain.Message{MessageType: domain.MessageJob, DstContext: 2, DstNode: to, Job: domain.List[domain.Job]{{Script: "x", ScriptType: "noop"}}}
	cpu = selfCPU()
	k := min(n, 5000)
	took = d.await(k, job)
	out[name+"_jobs_there_and_back_per_s"], out[name+"_cpu_us_per_job"] = perSecond(k, took), round((selfCPU()-cpu)*1e6/float64(k))
	var all []time.Duration
	for range 200 {
		begun := time.Now()
		m := d.send(job)
		_, err := d.post.Wait(context.Background(), 1, m.Key())
		check(err)
		all = append(all, time.Since(begun))
	}
	slices.Sort(all)
	out[name+"_round_trip_ms_p50"], out[name+"_round_trip_ms_p99"] = millis(percentile(all, 0.5)), millis(percentile(all, 0.99))
}

// messagesHere measures messages between two contexts of one board.
func messagesHere(r *rig) figures {
	d := openDesk(r, nil)
	d.start("bench/1")
	defer d.stop()
	out := figures{}
	d.rates(out, "here", "", d.op.Pubkey())
	return out
}

// messagesNATS measures messages between two sites, each with a board and an
// embedded NATS server, joined by a leaf link.
func messagesNATS(r *rig) figures {
	other, err := openRig(r.kind, *dir)
	check(err)
	defer other.close()
	var hub *natsbus.Bus
	a := openDesk(r, func(k *identity.Keyring, peers func() []natsbus.Peer) []bus.Bus {
		b, err := natsbus.Open(context.Background(),
			natsbus.Config{Node: k.Node.Pubkey(), Link: k.Bus, DataDir: filepath.Join(r.dir, "n"), LeafListen: "127.0.0.1:0", Peers: peers})
		check(err)
		hub = b
		return []bus.Bus{b}
	})
	defer hub.Close()
	_, sites := hub.Listening()
	var leaf *natsbus.Bus
	b := openDesk(other, func(k *identity.Keyring, peers func() []natsbus.Peer) []bus.Bus {
		b, err := natsbus.Open(context.Background(), natsbus.Config{Node: k.Node.Pubkey(), Link: k.Bus, DataDir: filepath.Join(other.dir, "n"),
			Leafs: []string{"nats://" + sites}, Peers: peers})
		check(err)
		leaf = b
		return []bus.Bus{b}
	})
	defer leaf.Close()
	meet(a, b)
	meet(b, a)
	hub.Refresh()
	leaf.Refresh()
	guest, err := b.registry.ActorByKey(context.Background(), a.op.Pubkey())
	check(err)
	_, _, err = b.registry.Grant(context.Background(), 2, guest.ID, domain.Admin)
	check(err)
	a.start("a/1")
	b.start("b/1")
	defer a.stop()
	defer b.stop()
	out := figures{}
	a.rates(out, "nats", b.post.Node(), b.op.Pubkey())
	return out
}

// meet lets a know b.
func meet(a, b *desk) {
	card, err := b.post.Card(context.Background(), "other")
	check(err)
	_, err = a.post.AddPeer(context.Background(), card)
	check(err)
	// The card is of a node that has not started: it says nothing of contexts.
	var batch board.Batch
	check(a.board.Commit(context.Background(), *batch.Include(layout.Contexts, "1", "2")))
}
