package resp

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ramet-run/ramet/api"
	"github.com/ramet-run/ramet/board"
	"github.com/ramet-run/ramet/domain"
	"github.com/ramet-run/ramet/identity"
	"github.com/ramet-run/ramet/internal/budget"
)

// This file has the channels: messages from client to client of this node and
// context, for wake-ups. What is to be kept goes into a list.

var channelCommands = []command{
	{name: "publish", arity: 3, writes: true, run: publish},
	{name: "subscribe", arity: -2, inSub: true, conn: func(c *client, args []string) error { return subscribe(c, args, false) }},
	{name: "psubscribe", arity: -2, inSub: true, conn: func(c *client, args []string) error { return subscribe(c, args, true) }},
	{name: "unsubscribe", arity: -1, inSub: true, conn: func(c *client, args []string) error { return unsubscribe(c, args, false) }},
	{name: "punsubscribe", arity: -1, inSub: true, conn: func(c *client, args []string) error { return unsubscribe(c, args, true) }},
	{name: "pubsub", arity: -2, conn: pubsub},
}

// keyspace begins the channels on which the changes of a key are told:
// __keyspace@7__:job:12:2001. What is told is always the same word.
const (
	keyspace    = "__keyspace@"
	keyspaceSay = "changed"
)

// channel is a channel of a context.
type channel struct {
	space board.Space
	name  string
}

// hub knows who has subscribed to what.
type hub struct {
	door *Door
	// watched is how many have subscribed to changes of keys.
	watched atomic.Int64

	mu       sync.Mutex
	exact    map[channel]map[*subscriber]struct{}
	patterns map[board.Space]map[string]map[*subscriber]struct{}
}

func newHub(d *Door) *hub {
	return &hub{door: d, exact: map[channel]map[*subscriber]struct{}{}, patterns: map[board.Space]map[string]map[*subscriber]struct{}{}}
}

// subscriber is a client that has subscribed. A goroutine of its own sends what
// there is for it.
type subscriber struct {
	c     *client
	who   identity.Proof
	space board.Space
	// session ends when the right to hear anything of the space is lost.
	session *identity.Session
	unlook  func() bool // stops that its end is looked at

	// Of the client's goroutine:
	exact, patterns map[string]struct{}
	held            int // of them, those that need the desk's watch
	names           budget.Hold

	mu      sync.Mutex
	three   bool
	queue   []byte
	counted budget.Hold   // of it
	signal  chan struct{} // capacity 1: there is something
	ended   chan struct{}
}

// maxBehind bounds in bytes what waits to be sent to one subscriber. One that
// does not keep up is cut off, as Redis does.
const maxBehind = 4 << 20

// active reports whether the client has any subscription.
func (s *subscriber) active() bool { return s != nil && len(s.exact)+len(s.patterns) > 0 }

// offer queues a message.
func (s *subscriber) offer(kind string, parts ...string) {
	s.mu.Lock()
	a := answer{b: s.queue, three: s.three}
	a.push(1 + len(parts))
	a.bulk(kind)
	for _, p := range parts {
		a.bulk(p)
	}
	s.queue = a.b
	behind := len(s.queue) > maxBehind || !s.hold(len(s.queue))
	if behind {
		s.queue = nil
		s.hold(0)
	}
	s.mu.Unlock()
	if behind {
		s.c.conn.Close()
		return
	}
	select {
	case s.signal <- struct{}{}:
	default: // it is awake already
	}
}

// hold has n bytes of the queue counted, if there is room for them.
func (s *subscriber) hold(n int) bool {
	if n <= smallBuffer {
		n = 0
	}
	return s.counted.Resize(int64(n)) == nil
}

// send sends what is queued until the client goes.
func (s *subscriber) send() {
	for {
		select {
		case <-s.signal:
		case <-s.ended:
			return
		}
		s.mu.Lock()
		b := s.queue
		s.queue = nil
		s.hold(0)
		s.mu.Unlock()
		if s.c.write(b) != nil {
			s.c.conn.Close()
			return
		}
	}
}

// deliver tells everybody who listens on a channel, and returns how many. only
// says who may hear it.
func (h *hub) deliver(ch channel, message string, only func(*subscriber) bool) (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.exact[ch] {
		if only(s) {
			s.offer("message", ch.name, message)
			n++
		}
	}
	for pattern, list := range h.patterns[ch.space] {
		if !glob(pattern, ch.name) {
			continue
		}
		for s := range list {
			if only(s) {
				s.offer("pmessage", pattern, ch.name, message)
				n++
			}
		}
	}
	return n
}

// changed tells those who want to know that a key has.
func (h *hub) changed(space board.Space, key string) {
	if h.watched.Load() == 0 || key == "" {
		return
	}
	name := keyspace + strconv.FormatUint(uint64(space), 10) + "__:" + key
	r := rowOf(space, key)
	h.deliver(channel{space, name}, keyspaceSay, func(s *subscriber) bool { return h.hears(s, r.right(reads, key, s.who.Actor).verb, r.group) })
}

// hears reports whether a subscriber still has a right in its context, on what is
// of a group.
func (h *hub) hears(s *subscriber, verb identity.Verb, group string) bool {
	if s.session.Err() != nil {
		return false
	}
	if s.space == 0 {
		return s.who.Operates(identity.Inspect, group)
	}
	t, err := h.door.cfg.Access.CheckIn(h.door.ctx, s.ask())
	return err == nil && s.who.Permits(t, verb, false, group)
}

// ask is the question whether a subscriber may hear channels of its space.
func (s *subscriber) ask() identity.Ask {
	return identity.Ask{Actor: s.who.Actor, Verb: hearing(s.space), Tenant: domain.TenantID(s.space), Object: "channel", Scope: s.who.Scope,
		Group: api.GroupChannel}
}

// add lets a subscriber hear a channel or pattern.
func (h *hub) add(s *subscriber, name string, pattern bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !pattern {
		ch := channel{s.space, name}
		if h.exact[ch] == nil {
			h.exact[ch] = map[*subscriber]struct{}{}
		}
		h.exact[ch][s] = struct{}{}
		return
	}
	if h.patterns[s.space] == nil {
		h.patterns[s.space] = map[string]map[*subscriber]struct{}{}
	}
	if h.patterns[s.space][name] == nil {
		h.patterns[s.space][name] = map[*subscriber]struct{}{}
	}
	h.patterns[s.space][name][s] = struct{}{}
}

// remove takes that back.
func (h *hub) remove(s *subscriber, name string, pattern bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !pattern {
		ch := channel{s.space, name}
		if delete(h.exact[ch], s); len(h.exact[ch]) == 0 {
			delete(h.exact, ch)
		}
		return
	}
	if delete(h.patterns[s.space][name], s); len(h.patterns[s.space][name]) == 0 {
		delete(h.patterns[s.space], name)
	}
}

// begin notes for whom a subscriber listens, and where; it is looked after as
// long as the client has said nothing else.
func (s *subscriber) begin(c *client) {
	if s.session != nil && s.space == c.space && s.who == c.who {
		return
	}
	s.end()
	c.door.hub.mu.Lock() // it may be hearing something now
	defer c.door.hub.mu.Unlock()
	s.space, s.who = c.space, c.who
	var ctx context.Context
	ctx, s.session = c.door.cfg.Tokens.Open(c.door.ctx, c.who)
	s.unlook = context.AfterFunc(ctx, c.look)
	s.session.Hang(s.ask())
}

// end closes the session.
func (s *subscriber) end() {
	if s.session != nil {
		s.unlook()
		s.session.Close()
	}
}

// leave ends a subscriber.
func (h *hub) leave(s *subscriber) {
	s.end()
	for name := range s.exact {
		s.drop(name, false)
	}
	for name := range s.patterns {
		s.drop(name, true)
	}
	s.mu.Lock()
	s.queue = nil
	s.hold(0)
	s.mu.Unlock()
	close(s.ended)
}

// list are the channels of a space that somebody listens on.
func (h *hub) list(space board.Space, pattern string) []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []string{}
	for ch := range h.exact {
		if ch.space == space && glob(pattern, ch.name) {
			out = append(out, ch.name)
		}
	}
	return out
}

func publish(x *call) error {
	if strings.HasPrefix(x.args[1], keyspace) {
		return failure("NOPERM channels that begin with " + keyspace + " are told by the node alone")
	}
	if err := x.c.may(x.s.now, x.s.space(), identity.Write, "channel", api.GroupChannel); err != nil {
		return err
	}
	// Told when the commit that it belongs to is done; who listens now is
	// counted now.
	ch := channel{x.s.space(), x.args[1]}
	x.s.letters = append(x.s.letters, letterTo{ch, x.args[2]})
	x.a.number(x.c.door.hub.count(ch))
	return nil
}

// letterTo is a message to be told.
type letterTo struct {
	to   channel
	text string
}

// count is how many listen on a channel.
func (h *hub) count(ch channel) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := len(h.exact[ch])
	for pattern, list := range h.patterns[ch.space] {
		if glob(pattern, ch.name) {
			n += len(list)
		}
	}
	return n
}

// tell delivers what was published.
func (h *hub) tell(letters []letterTo) {
	for _, l := range letters {
		h.deliver(l.to, l.text, func(s *subscriber) bool { return h.hears(s, hearing(s.space), api.GroupChannel) })
	}
}

// of are the names that a subscriber has, of one of the two kinds.
func (s *subscriber) of(pattern bool) map[string]struct{} {
	if pattern {
		return s.patterns
	}
	return s.exact
}

// aboutKeys reports whether a channel or pattern is about changes of keys.
func aboutKeys(name string) bool { return strings.HasPrefix(name, "__key") }

func subscribe(c *client, args []string, pattern bool) error {
	if err := c.mayHear(); err != nil {
		return err
	}
	if c.sub != nil && c.sub.space != c.space && c.sub.active() {
		return failure("ERR subscriptions are of one database; unsubscribe first, or use another connection")
	}
	if c.sub == nil {
		c.sub = &subscriber{c: c, exact: map[string]struct{}{}, patterns: map[string]struct{}{}, signal: make(chan struct{}, 1), ended: make(chan struct{}),
			counted: c.bytes(), names: budget.Hold{Pool: c.seat.Share().Subscriptions, Who: c.who.Actor}}
		c.door.wg.Go(c.sub.send)
	}
	s := c.sub
	s.begin(c)
	s.mu.Lock()
	s.three = c.out.three
	s.mu.Unlock()
	if c.flush() != nil {
		c.quit = true
		return nil
	}
	// Held until it is confirmed: no message comes before that.
	c.writing.Lock()
	err := s.join(args[1:], pattern)
	c.writing.Unlock()
	return err
}

// join adds subscriptions and confirms them.
func (s *subscriber) join(names []string, pattern bool) error {
	word := "subscribe"
	if pattern {
		word = "psubscribe"
	}
	c := s.c
	for _, name := range names {
		if len(name) > maxName {
			return failure("ERR a channel's name has " + strconv.Itoa(len(name)) + " bytes, the limit is " + strconv.Itoa(maxName))
		}
		if _, twice := s.of(pattern)[name]; !twice {
			if len(s.exact)+len(s.patterns) >= maxChannels {
				return failure("ERR more subscriptions than one client may have")
			}
			if err := s.names.Resize(int64(len(s.exact) + len(s.patterns) + 1)); err != nil {
				return err
			}
			if aboutKeys(name) {
				if err := c.desk.hold(); err != nil {
					return err
				}
				s.held++
				c.door.hub.watched.Add(1)
			}
			s.of(pattern)[name] = struct{}{}
			c.door.hub.add(s, name, pattern)
		}
		c.out.push(3)
		c.out.bulk(word)
		c.out.bulk(name)
		c.out.number(len(s.exact) + len(s.patterns))
	}
	_, err := c.conn.Write(c.out.b)
	c.out.b = c.out.b[:0]
	if err != nil {
		c.quit = true
	}
	return nil
}

// drop ends one subscription.
func (s *subscriber) drop(name string, pattern bool) {
	s.c.door.hub.remove(s, name, pattern)
	delete(s.of(pattern), name)
	_ = s.names.Resize(int64(len(s.exact) + len(s.patterns))) // less is never refused
	if aboutKeys(name) {
		s.held--
		s.c.door.hub.watched.Add(-1)
		s.c.door.desk(s.space).release()
	}
}

func unsubscribe(c *client, args []string, pattern bool) error {
	word := "unsubscribe"
	if pattern {
		word = "punsubscribe"
	}
	names := args[1:]
	if len(names) == 0 && c.sub != nil {
		for name := range c.sub.of(pattern) {
			names = append(names, name)
		}
	}
	confirm := func(name string, there bool) {
		left := 0
		if c.sub != nil {
			left = len(c.sub.exact) + len(c.sub.patterns)
		}
		c.out.push(3)
		c.out.bulk(word)
		c.out.bulkOr(name, there)
		c.out.number(left)
	}
	if len(names) == 0 {
		confirm("", false)
	}
	for _, name := range names {
		if c.sub != nil {
			if _, there := c.sub.of(pattern)[name]; there {
				c.sub.drop(name, pattern)
			}
		}
		confirm(name, true)
	}
	return nil
}

// mayHear asks for the right to listen on channels of the space.
func (c *client) mayHear() error {
	return c.may(time.Now(), c.space, hearing(c.space), "channel", api.GroupChannel)
}

// hearing is the verb that channels of a space take.
func hearing(space board.Space) identity.Verb {
	if space == 0 {
		return identity.Inspect
	}
	return identity.Read
}

func pubsub(c *client, args []string) error {
	if err := c.mayHear(); err != nil {
		return err
	}
	switch strings.ToUpper(args[1]) {
	case "CHANNELS":
		pattern := "*"
		if len(args) > 2 {
			pattern = args[2]
		}
		c.out.bulks(c.door.hub.list(c.space, pattern))
	case "NUMSUB":
		c.out.array(2 * len(args[2:]))
		for _, name := range args[2:] {
			c.out.bulk(name)
			c.door.hub.mu.Lock()
			n := len(c.door.hub.exact[channel{c.space, name}])
			c.door.hub.mu.Unlock()
			c.out.number(n)
		}
	case "NUMPAT":
		c.door.hub.mu.Lock()
		n := len(c.door.hub.patterns[c.space])
		c.door.hub.mu.Unlock()
		c.out.number(n)
	default:
		return errSubcommand(args[1], "PUBSUB")
	}
	return nil
}
