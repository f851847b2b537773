package myceliumtest

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"net/netip"
	"slices"
	"time"
)

const (
	// sendWindow is how long a daemon tries to send. After as much again it
	// forgets the message.
	sendWindow = 300 * time.Second
	// chunkSize is how many bytes of a message go into one packet.
	chunkSize = 1300
	// maxTopic bounds a topic, in bytes.
	maxTopic = 255
)

// inbound is a message that waits to be read, as the API shows it.
type inbound struct {
	ID      string     `json:"id"`
	SrcIP   netip.Addr `json:"srcIp"`
	SrcPK   string     `json:"srcPk"`
	DstIP   netip.Addr `json:"dstIp"`
	DstPK   string     `json:"dstPk"`
	Topic   []byte     `json:"topic,omitempty"`
	Payload []byte     `json:"payload"`

	twice bool // comes again when it was popped
}

// state is how far an outbound message got.
type state string

const (
	statePending  state = "pending"  // the receiver has not answered
	stateSending  state = "sending"  // it has, and not acknowledged the whole
	stateReceived state = "received" // it has
	stateRead     state = "read"     // and somebody there looked at it
	stateAborted  state = "aborted"  // the time for sending is over
)

// outbound is a message in the outbox.
type outbound struct {
	packet  packet
	state   state
	acked   bool // of a message in sending: whether its chunks arrived
	created time.Time
}

// status is what the API tells of an outbound message. State is a word, or an
// object with the word "sending".
type status struct {
	Dst      netip.Addr `json:"dst"`
	State    any        `json:"state"`
	Created  int64      `json:"created"`
	Deadline int64      `json:"deadline"`
	MsgLen   int        `json:"msgLen"`
}

// outgoing is a message that a client wants sent.
type outgoing struct {
	dst     netip.Addr
	topic   []byte
	payload []byte
}

// push queues a message and returns its id; with wait, also where its reply
// will come.
func (d *Daemon) push(m outgoing, wait bool) (string, chan inbound) {
	var raw [8]byte
	rand.Read(raw[:]) // never fails
	id := hex.EncodeToString(raw[:])
	n := d.network
	n.mu.Lock()
	defer n.mu.Unlock()
	var reply chan inbound
	if wait {
		reply = make(chan inbound, 1)
		d.awaited[id] = reply
	}
	d.queue(packet{Kind: message, ID: id, Src: d.address, Dst: m.dst, SrcKey: d.key, Topic: m.topic, Payload: m.payload})
	return id, reply
}

// reply queues a message with the id of the one it answers, and no topic.
func (d *Daemon) reply(id string, m outgoing) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	d.queue(packet{Kind: message, ID: id, Src: d.address, Dst: m.dst, SrcKey: d.key, Reply: true, Payload: m.payload})
}

// forgo ends the waiting for a reply: it goes to the inbox from now on.
func (d *Daemon) forgo(id string) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	delete(d.awaited, id)
}

func (d *Daemon) queue(p packet) {
	o := &outbound{packet: p, state: statePending, created: d.network.now()}
	d.outbox[p.ID] = o
	d.transmit(o)
}

func (d *Daemon) transmit(o *outbound) {
	state := o.state
	o.state = stateSending // before it goes: the acknowledgement may come at once
	if !d.network.carry(d, o.packet) {
		o.state = state
	}
}

// unsent lists what no packet of has reached its receiver, oldest first.
func (d *Daemon) unsent() []*outbound {
	var list []*outbound
	for id := range d.outbox {
		if o := d.outbound(id); o != nil && o.state == statePending {
			list = append(list, o)
		}
	}
	slices.SortFunc(list, func(a, b *outbound) int { return a.created.Compare(b.created) })
	return list
}

// outbound is a message in the outbox as it is by now; nil when it is forgotten.
func (d *Daemon) outbound(id string) *outbound {
	o, age := d.outbox[id], time.Duration(0)
	if o == nil {
		return nil
	}
	age = d.network.now().Sub(o.created)
	if age >= 2*sendWindow {
		delete(d.outbox, id)
		return nil
	}
	if age >= sendWindow && (o.state == statePending || o.state == stateSending) {
		o.state = stateAborted
	}
	return o
}

// status tells of an outbound message; nil when there is none.
func (d *Daemon) status(id string) *status {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	o := d.outbound(id)
	if o == nil {
		return nil
	}
	s := &status{Dst: o.packet.Dst, State: o.state, Created: o.created.Unix(),
		Deadline: o.created.Add(sendWindow).Unix(), MsgLen: len(o.packet.Payload)}
	if o.state == stateSending {
		chunks := map[string]int{"pending": 0, "sent": 0, "acked": 0}
		word := "sent"
		if o.acked {
			word = "acked"
		}
		chunks[word] = (len(o.packet.Payload) + chunkSize - 1) / chunkSize
		s.State = map[string]any{string(stateSending): chunks}
	}
	return s
}

// handle takes a packet that came for this daemon.
func (d *Daemon) handle(p packet) {
	switch o := d.outbound(p.ID); {
	case p.Kind == message:
		d.receive(p)
	case p.Kind == refused && o != nil && o.state == stateSending:
		o.state = statePending // as if nobody were there
	case p.Kind == arrived && o != nil:
		o.acked = true
	case p.Kind == received && o != nil && (o.state == stateSending || o.state == statePending):
		o.state = stateReceived
	case p.Kind == read && o != nil && o.state == stateReceived:
		o.state = stateRead
	}
}

func (d *Daemon) receive(p packet) {
	if !p.Reply && !d.topics.allow(p.Topic, p.Src) {
		d.answer(p, refused)
		return
	}
	if slices.ContainsFunc(d.inbox, func(m inbound) bool { return m.ID == p.ID }) {
		return // and no acknowledgement: the sender's daemon will abort
	}
	n, ack := d.network, received
	if n.befalls(n.faults.LoseAck) {
		ack = arrived
	}
	d.answer(p, ack)
	if n.befalls(n.faults.Lose) {
		return
	}
	m := inbound{ID: p.ID, SrcIP: p.Src, SrcPK: p.SrcKey, DstIP: p.Dst, DstPK: d.key, Topic: p.Topic, Payload: p.Payload}
	if waiting := d.awaited[p.ID]; waiting != nil {
		delete(d.awaited, p.ID)
		waiting <- m
		return
	}
	if socket := d.topics.socket(p.Topic); socket != "" && !p.Reply {
		d.life.running.Go(func() { d.forward(d.life, socket, m) })
		return
	}
	m.twice = n.befalls(n.faults.Double)
	d.keep(m)
}

// answer tells the sender of a message what became of it.
func (d *Daemon) answer(p packet, kind packetKind) {
	d.network.carry(d, packet{Kind: kind, ID: p.ID, Src: d.address, Dst: p.Src})
}

// keep puts a message into the inbox and wakes those who wait.
func (d *Daemon) keep(m inbound) {
	at := len(d.inbox)
	if d.network.befalls(d.network.faults.Reorder) {
		at = 0
	}
	d.inbox = slices.Insert(d.inbox, at, m)
	close(d.arrived)
	d.arrived = make(chan struct{})
}

// next waits for a message of a topic (nil: any) and pops it, or only shows it.
// It reports false when the time is over. The caller has the daemon's lock.
func (d *Daemon) next(ctx context.Context, topic []byte, filtered, peek bool, wait time.Duration) (inbound, bool) {
	over := time.NewTimer(wait)
	defer over.Stop()
	for {
		m, ok, arrived := d.take(topic, filtered, peek)
		if ok {
			return m, true
		}
		select {
		case <-arrived:
		case <-over.C:
			return inbound{}, false
		case <-ctx.Done():
			return inbound{}, false
		}
	}
}

func (d *Daemon) take(topic []byte, filtered, peek bool) (inbound, bool, chan struct{}) {
	d.network.mu.Lock()
	defer d.network.mu.Unlock()
	i := slices.IndexFunc(d.inbox, func(m inbound) bool { return !filtered || bytes.Equal(m.Topic, topic) })
	if i < 0 {
		return inbound{}, false, d.arrived
	}
	m := d.inbox[i]
	switch {
	case peek:
	case m.twice:
		d.inbox = append(slices.Delete(d.inbox, i, i+1), m)
		d.inbox[len(d.inbox)-1].twice = false
	default:
		d.inbox = slices.Delete(d.inbox, i, i+1)
	}
	d.answer(packet{ID: m.ID, Src: m.SrcIP}, read)
	return m, true, nil
}
