package natsstream

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/stream"
)

const (
	// askTime is how long a request for messages stands.
	askTime = 30 * time.Second
	// heartbeat is how often the server says that it does.
	heartbeat = 2 * time.Second
	// silence is after what time without a word it is taken for lost.
	silence = 5 * heartbeat / 2
	// maxAskBytes bounds what one request brings.
	maxAskBytes = 8 << 20
)

// pull asks a consumer for messages, one request at a time. It is used by one
// goroutine at a time.
//
// The client library's own consumers are not used: they hide what a server says
// of a request that ended, and give up order or speed for it.
type pull struct {
	l       *Log
	subject string // where to ask
	group   string // see reader; "": none
	inbox   string
	sub     *nats.Subscription
	arrived chan *nats.Msg
	next    *nats.Msg // taken from arrived by await

	asks  int             // requests so far
	reply string          // of the one that stands; "": none
	batch int             // what it asked for
	got   int             // what it has brought
	life  context.Context // the connection that it was sent over
	bare  bool            // the next asks for one message of any size
}

func (l *Log) newPull(name domain.StreamName, durable, group string) (*pull, error) {
	p := &pull{
		l: l, subject: "$JS.API.CONSUMER.MSG.NEXT." + string(name) + "." + durable, group: group,
		inbox: l.wire.Conn.NewInbox(),
		// Room for what a request brings, and one before that was taken for lost.
		arrived: make(chan *nats.Msg, 3*stream.MaxFetch),
		life:    l.wire.Life(),
	}
	var err error
	if p.sub, err = l.wire.Conn.ChanSubscribe(p.inbox+".*", p.arrived); err != nil {
		return nil, err
	}
	return p, nil
}

// close has the server bring no more.
func (p *pull) close() {
	if p != nil {
		_ = p.sub.Unsubscribe()
	}
}

// end takes the request back. What the server had sent before it heard of that
// is there for look; nothing comes after it.
func (p *pull) end() {
	// Drain, not Unsubscribe: what is on its way to us would be dropped, and come
	// again only when its time is over.
	// The library may say more than once that it is closed: a connection that
	// breaks, and the drain that finds it broken.
	ended := make(chan struct{})
	tell := sync.OnceFunc(func() { close(ended) })
	p.sub.SetClosedHandler(func(string) { tell() })
	if p.sub.Drain() != nil {
		return
	}
	select {
	case <-ended:
	case <-p.life.Done():
	case <-time.After(silence):
	}
}

// giveBack ends the request, and has what it brought and nobody took come again
// at once, for another.
func (p *pull) giveBack() {
	if p == nil {
		return
	}
	p.end()
	for m := p.look(); m != nil; m = p.look() {
		if w, _ := p.read(m); w == wordMessage {
			_ = m.Respond([]byte("-NAK"))
		}
	}
}

// ask sends a request, unless one stands. once has it end when all that is there
// has come.
func (p *pull) ask(n int, once bool) error {
	if p.reply != "" {
		return nil
	}
	r := struct {
		Batch     int           `json:"batch"`
		MaxBytes  int           `json:"max_bytes,omitzero"`
		NoWait    bool          `json:"no_wait,omitzero"`
		Expires   time.Duration `json:"expires"`
		Heartbeat time.Duration `json:"idle_heartbeat"`
		Group     string        `json:"group,omitzero"`
	}{n, maxAskBytes, once, askTime, heartbeat, p.group}
	if p.bare {
		r.Batch, r.MaxBytes, p.bare = 1, 0, false
	}
	data, err := json.Marshal(r)
	if err != nil {
		return err
	}
	p.asks++
	reply := p.inbox + "." + strconv.Itoa(p.asks)
	p.life = p.l.wire.Life()
	if err := p.l.wire.Conn.PublishRequest(p.subject, reply, data); err != nil {
		return err
	}
	p.reply, p.batch, p.got = reply, r.Batch, 0
	return nil
}

// What await may say.
var (
	errSilent = errors.New("the server is silent")
	errBroken = errors.New("the connection broke")
)

// await waits until something has come, for look.
//
// Errors: [errClosed], ctx's own, [errSilent], [errBroken].
func (p *pull) await(ctx context.Context, gone <-chan struct{}) error {
	quiet := time.NewTimer(silence)
	defer quiet.Stop()
	select {
	case p.next = <-p.arrived:
		return nil
	case <-gone:
		return errClosed
	case <-p.l.gone:
		return errClosed
	case <-ctx.Done():
		return ctx.Err()
	case <-p.life.Done():
		p.reply = ""
		return errBroken
	case <-quiet.C:
		p.reply = ""
		return errSilent
	}
}

// look returns what has come, nil for nothing.
func (p *pull) look() (m *nats.Msg) {
	if m, p.next = p.next, nil; m != nil {
		return m
	}
	select {
	case m = <-p.arrived:
	default:
	}
	return m
}

// word is what an arrival says.
type word int

const (
	wordMessage word = iota // a message came
	wordNothing             // nothing to act on
	wordEnded               // the request has ended well
	wordMoved               // the server cannot serve it now
	wordLost                // this consumer is not ours any more, or not there
)

// read sorts out what has arrived. last is how many messages the server has
// sent, where it says so.
func (p *pull) read(m *nats.Msg) (w word, last uint64) {
	// What the server itself says comes on the inbox; a message bears the
	// subject it was stored under, and who published it may set any header.
	if !strings.HasPrefix(m.Subject, p.inbox) {
		if p.got++; p.got >= p.batch {
			p.reply = ""
		}
		return wordMessage, 0
	}
	status, text := m.Header.Get("Status"), m.Header.Get("Description")
	if status == "100" {
		last, _ = strconv.ParseUint(m.Header.Get("Nats-Last-Consumer"), 10, 64)
		return wordNothing, last
	}
	if status == "409" && text == "Consumer Deleted" {
		return wordLost, 0
	}
	if m.Subject != p.reply {
		return wordNothing, 0 // of a request that was given up
	}
	// With replicas, messages may come after the word that there are no more.
	if rest, err := strconv.Atoi(m.Header.Get("Nats-Pending-Messages")); err == nil && p.got < p.batch-rest {
		p.batch -= rest
		return wordNothing, 0
	}
	p.reply = ""
	switch {
	case status == "404", status == "408":
		return wordEnded, 0
	case status == "409" && strings.Contains(text, "MaxBytes"):
		p.bare = p.got == 0 // or the next message alone is too much, again and again
		return wordEnded, 0
	case status == "409", status == "429":
		return wordMoved, 0
	}
	return wordLost, 0 // 400: another's group; 503: nobody is there
}
