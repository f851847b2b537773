package myceliumtest

import (
	"bufio"
	"context"
	"encoding/gob"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// This file joins daemons of several processes: each link is one TCP
// connection, with packets in gob. What the real daemons speak there is
// another thing; nobody but us listens.

// redial is the pause between attempts to reach a peer.
const redial = 100 * time.Millisecond

// peer is an endpoint that this daemon keeps a link with.
type peer struct {
	proto, addr string
	stop        context.CancelFunc // ends the dialling and the link; nil while the daemon is stopped
	link        *link              // nil while there is none
}

// parseEndpoint reads tcp://127.0.0.1:9651. The error is what the API says.
func parseEndpoint(s string) (*peer, error) {
	proto, addr, ok := strings.Cut(s, "://")
	if !ok {
		return nil, fmt.Errorf("missing leading protocol identifier")
	}
	proto = strings.ToLower(proto)
	if !slices.Contains([]string{"tcp", "quic", "tls"}, proto) {
		return nil, fmt.Errorf("protocol for endpoint is not supported")
	}
	if _, err := netip.ParseAddrPort(addr); err != nil {
		return nil, fmt.Errorf("failed to parse address: invalid socket address syntax")
	}
	return &peer{proto: proto, addr: addr}, nil
}

func (d *Daemon) addPeer(endpoint string) error {
	p, err := parseEndpoint(endpoint)
	if err != nil {
		return err
	}
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	if d.peerIndex(p) >= 0 {
		return errPeerExists
	}
	d.peers = append(d.peers, p)
	if d.life != nil {
		d.dial(d.life, p)
	}
	return nil
}

func (d *Daemon) removePeer(endpoint string) error {
	p, err := parseEndpoint(endpoint)
	if err != nil {
		return err
	}
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	i := d.peerIndex(p)
	if i < 0 {
		return errNoPeer
	}
	if d.peers[i].stop != nil {
		d.peers[i].stop()
	}
	d.unlink(d.peers[i].link) // at once: what arrives after the answer is too late
	d.peers = slices.Delete(d.peers, i, i+1)
	return nil
}

func (d *Daemon) peerIndex(p *peer) int {
	return slices.IndexFunc(d.peers, func(q *peer) bool { return q.proto == p.proto && q.addr == p.addr })
}

// dial keeps a link with a peer until it is removed or the daemon stops. Only
// tcp is spoken; other endpoints stay in connecting.
func (d *Daemon) dial(l *life, p *peer) {
	var ctx context.Context
	ctx, p.stop = context.WithCancel(l.ctx)
	if p.proto != "tcp" {
		return
	}
	l.running.Go(func() {
		for ctx.Err() == nil {
			if conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.addr); err == nil {
				d.link(ctx, conn, p)
			}
			select {
			case <-ctx.Done():
			case <-time.After(redial):
			}
		}
	})
}

func (d *Daemon) acceptLinks(l *life) {
	for {
		conn, err := l.listener.Accept()
		if err != nil {
			return
		}
		d.network.mu.Lock()
		if d.life == l {
			l.running.Go(func() { d.link(l.ctx, conn, nil) })
		} else {
			conn.Close()
		}
		d.network.mu.Unlock()
	}
}

// link is one connection with another process.
type link struct {
	key    string       // of the daemon at the other end
	prefix netip.Prefix // its network

	mu      sync.Mutex
	waiting []packet
	ready   chan struct{} // holds a value when something may wait
}

// send never blocks: what calls it has the network's mutex.
func (l *link) send(p packet) {
	l.mu.Lock()
	l.waiting = append(l.waiting, p)
	l.mu.Unlock()
	select {
	case l.ready <- struct{}{}:
	default:
	}
}

// link carries packets over a connection until it breaks.
func (d *Daemon) link(ctx context.Context, conn net.Conn, p *peer) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	defer conn.Close()
	// Buffered, and flushed when nothing waits: gob writes in small pieces.
	out := bufio.NewWriter(conn)
	enc, dec := gob.NewEncoder(out), gob.NewDecoder(conn)
	var first packet
	if enc.Encode(packet{Kind: hello, Src: d.address, SrcKey: d.key}) != nil || out.Flush() != nil || dec.Decode(&first) != nil || first.Kind != hello {
		return
	}
	l := &link{key: first.SrcKey, prefix: network64(first.Src), ready: make(chan struct{}, 1)}
	d.linked(l, p, true)
	defer d.linked(l, p, false)
	var writer sync.WaitGroup
	defer writer.Wait()
	defer cancel()
	writer.Go(func() {
		defer conn.Close()
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.ready:
			}
			l.mu.Lock()
			list := l.waiting
			l.waiting = nil
			l.mu.Unlock()
			for _, p := range list {
				if enc.Encode(p) != nil {
					return
				}
			}
			if out.Flush() != nil {
				return
			}
		}
	})
	for {
		var in packet
		if dec.Decode(&in) != nil {
			return
		}
		d.network.mu.Lock()
		if d.running() && slices.Contains(d.links, l) && network64(in.Dst) == d.prefix {
			d.network.arrive(d, in)
		}
		d.network.mu.Unlock()
	}
}

// linked notes that a link is up, and sends what waited for it; or that it is
// down, and lets wait what was on it and not acknowledged.
func (d *Daemon) linked(l *link, p *peer, up bool) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	defer d.network.retransmit()
	if up {
		d.links = append(d.links, l)
		if p != nil {
			p.link = l
		}
		return
	}
	if p != nil {
		p.link = nil
	}
	d.unlink(l)
	for _, o := range d.outbox {
		if o.state == stateSending && !o.acked && network64(o.packet.Dst) == l.prefix {
			o.state = statePending
		}
	}
}

func (d *Daemon) unlink(l *link) {
	d.links = slices.DeleteFunc(d.links, func(other *link) bool { return other == l })
}
